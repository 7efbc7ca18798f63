"""The packages of a spec: requirements for pip, MatchSpecs for conda."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from envkit.model.fields import Fields
    from envkit.model.spec import Spec
    from envkit.model.yamltext import YamlDocument

_MATCH_SPEC = re.compile(r"(?:[A-Za-z0-9._/-]+::)?(?P<name>[A-Za-z0-9_][A-Za-z0-9._-]*)(?:\s*$|[\s=<>!~\[])", re.ASCII)


def check_packages(spec: Spec, fields: Fields) -> None:
    """Look at the packages of a spec.

    Raises:
        InvalidFileError: one is no requirement (pip) or MatchSpec (conda), or contradicts the rest of the spec.
    """
    if spec.installer == "conda":
        _check_match_specs(spec, fields)
        return
    for index, text in enumerate(spec.packages):
        path = ("packages", index)
        try:
            requirement = Requirement(text)
        except (InvalidRequirement, RecursionError) as error:
            hint = 'Write it as in torch==1.12.1+cu113 or "numpy<2".'
            if re.search(r"[^=<>!~]=[^=]", text):
                hint = "conda's single '=' does not belong into a spec with installer: pip. " + hint
            raise fields.document.error(path, f"packages: {text!r} is no requirement.", hint=hint) from error
        if requirement.url is not None:
            raise fields.document.error(
                path,
                f"packages: {text!r} names an address.",
                why="A package installed from an address cannot be found on another machine or mirror.",
                hint="Name the index under sources and the package by its version.",
            )
        if canonicalize_name(requirement.name) == "torch":
            _check_label(spec, requirement, path, fields.document)


def _check_match_specs(spec: Spec, fields: Fields) -> None:
    """Look for what is obviously no MatchSpec; py-rattler judges the rest when it is solved."""
    for index, text in enumerate(spec.packages):
        path = ("packages", index)
        found = _MATCH_SPEC.match(text)
        has_label = "+cu" in text or "+cpu" in text
        if found is None or has_label:
            hint = 'Write it as in pytorch=1.12.1 or "numpy<2".'
            if has_label:
                hint = "Labels as +cu113 belong to pip. " + hint
            raise fields.document.error(path, f"packages: {text!r} is no MatchSpec.", hint=hint)
        if found["name"] == "torch":
            raise fields.document.error(
                path, "packages: conda's channels call it pytorch, not torch.", hint="Write pytorch=1.12.1."
            )
        if "::" in text or "channel=" in text:
            raise fields.document.error(
                path,
                f"packages: {text!r} names a channel.",
                hint="Name channels under channels; the first that has a package gives it.",
            )


def _check_label(spec: Spec, requirement: Requirement, path: tuple[str, int], document: YamlDocument) -> None:
    wanted = "cpu" if spec.cuda is None else "cu" + spec.cuda.replace(".", "")
    for pin in requirement.specifier:
        label = pin.version.partition("+")[2]
        if label and label != wanted:
            raise document.error(
                path,
                f"packages: {requirement} is built for {label}, but the spec says cuda: {spec.cuda or 'cpu'}.",
                hint=f"Write torch==...+{wanted}, or change cuda.",
            )
