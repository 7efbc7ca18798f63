"""The ``pip:`` section of an ``environment.yml``: requirements, and options that say where they come from.

conda hands the lines to pip as a requirements file:
https://pip.pypa.io/en/stable/reference/requirements-file-format/#supported-options
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from envkit.model.addresses import checked_index_address
from envkit.model.fields import describe
from envkit.model.spec import Source

if TYPE_CHECKING:
    from envkit.errors import InvalidFileError
    from envkit.model.yamltext import Path, YamlDocument

_TORCH_INDEX = "https://download.pytorch.org/whl"
_OF_TORCH_INDEX = ("torch", "torchvision", "torchaudio")
"""What an index for one CUDA is named for; its label is not always written behind their versions."""
_LABEL = re.compile(r"cu\d{2,3}|cpu", re.ASCII)
_OPTION = re.compile(r"(?P<name>--?[A-Za-z-]+)(?:[= ]\s*(?P<value>\S.*))?", re.ASCII)
_EXTRA, _ONLY, _LINKS = "--extra-index-url", "--index-url", "--find-links"
_NAMES = {_EXTRA: _EXTRA, _ONLY: _ONLY, "-i": _ONLY, _LINKS: _LINKS, "-f": _LINKS}


@dataclass(slots=True)
class PipSection:
    """What a section asks for.

    Attributes:
        requirements: as they stand there, with where each stands.
        sources: indexes for certain packages.
        labels: build labels that versions or indexes name, "cu113" or "cpu".
    """

    requirements: list[tuple[Requirement, Path]] = field(default_factory=list)
    sources: tuple[Source, ...] = ()
    labels: set[str] = field(default_factory=set)

    @property
    def names(self) -> tuple[str, ...]:
        """Canonical names of the packages."""
        return tuple(canonicalize_name(item.name) for item, _ in self.requirements)

    @property
    def packages(self) -> tuple[str, ...]:
        """The requirements, as a spec has them."""
        return tuple(str(item) for item, _ in self.requirements)


def read_pip_section(document: YamlDocument, path: Path) -> PipSection:
    """The section whose list is at ``path``.

    Raises:
        InvalidFileError: a line is neither a requirement nor an option that envkit knows, or it stays open where a
            package comes from.
    """
    lines = document.at(path)
    if not isinstance(lines, list):
        raise document.error(path, f"pip: expected a list, found {describe(lines)}.")
    section = PipSection()
    indexes: list[tuple[str, str, Path]] = []
    for index, line in enumerate(lines):
        where = (*path, index)
        if not isinstance(line, str) or not line.strip():
            raise document.error(where, f"pip: expected a requirement, found {describe(line)}.")
        text = line.strip()
        if text.startswith("-"):
            indexes.append((*_option(document, where, text), where))
        else:
            section.requirements.append((_requirement(document, where, text), where))
    section.labels = {label for item, _ in section.requirements if (label := _label(item)) is not None}
    section.sources = _sources(document, section, indexes)
    section.labels |= _labels_of_indexes(section)
    return section


def _requirement(document: YamlDocument, path: Path, text: str) -> Requirement:
    try:
        found = Requirement(text)
    except (InvalidRequirement, RecursionError) as error:
        if "/" in text or text.startswith((".", "git+")):
            raise _no_index_file(document, path, text) from error
        raise document.error(
            path, f"pip: {text!r} is no requirement.", hint='Write it as in torch==1.12.1+cu113 or "numpy<2".'
        ) from error
    if found.url is not None:
        raise _no_index_file(document, path, text)
    return found


def _no_index_file(document: YamlDocument, path: Path, text: str) -> InvalidFileError:
    return document.error(
        path,
        f"pip: {text!r} names a folder or an address.",
        why="What lies there tomorrow is not known, so it cannot be locked.",
        hint="Name the package and its version; a project's folder is added afterwards: `envkit add ENV -e FOLDER`.",
    )


def _option(document: YamlDocument, path: Path, text: str) -> tuple[str, str]:
    """An option's name and its address."""
    found = _OPTION.fullmatch(text)
    name = _NAMES.get(found["name"]) if found is not None else None
    if found is None or name is None or not found["value"]:
        shown = found["name"] if found is not None else text
        if shown in {"-e", "--editable"}:
            raise _no_index_file(document, path, text)
        raise document.error(
            path,
            f"pip: {shown} is an option that envkit does not take from a file.",
            hint=f"It takes {_EXTRA}, {_ONLY} and {_LINKS} with an address. Write requirements themselves here.",
        )
    return name, checked_index_address(document, path, "pip", found["value"].strip()).rstrip("/")


def _label(requirement: Requirement) -> str | None:
    """The local label that a requirement pins, "cu113"."""
    found = (pin.version.partition("+")[2] for pin in requirement.specifier)
    return next((label for label in found if label), None)


def _label_of(url: str) -> str | None:
    last = urlsplit(url).path.rpartition("/")[2]
    return last if _LABEL.fullmatch(last) else None


def _labels_of_indexes(section: PipSection) -> set[str]:
    """Labels of indexes that give torch itself."""
    return {label for source in section.sources if source.claims("torch") and (label := _label_of(source.url))}


def _sources(document: YamlDocument, section: PipSection, indexes: list[tuple[str, str, Path]]) -> tuple[Source, ...]:
    """Which packages come from which index: pip asks all for each, envkit one."""
    only = [(url, path) for option, url, path in indexes if option == _ONLY]
    if only and len(indexes) > 1:
        raise document.error(
            only[0][1],
            f"pip: {_ONLY} beside other indexes leaves open which package comes from which.",
            why="One package is never looked for in two indexes.",
            hint="Write a spec with sources: docs/spec-and-lock.md.",
        )
    if only:
        return (Source(only[0][0], ("*",)),)
    found: dict[str, tuple[str, ...]] = {}
    for option, url, path in indexes:
        for source, names in _claims(document, section, option, url, path):
            found[source] = tuple(sorted({*found.get(source, ()), *names}))
    sources = tuple(Source(url, names) for url, names in found.items())
    for requirement, path in section.requirements:
        claimed = [source.url for source in sources if source.claims(canonicalize_name(requirement.name))]
        if _label(requirement) is not None and len(claimed) != 1:
            raise _open_label(document, path, requirement, claimed)
    return sources


def _claims(
    document: YamlDocument, section: PipSection, option: str, url: str, path: Path
) -> list[tuple[str, tuple[str, ...]]]:
    """Sources that an option amounts to, each with its packages."""
    labelled = [(canonicalize_name(item.name), label) for item, _ in section.requirements if (label := _label(item))]
    if option == _LINKS:
        if url.endswith("/torch_stable.html") and urlsplit(url).hostname == "download.pytorch.org":
            return [(f"{_TORCH_INDEX}/{label}", (name,)) for name, label in labelled]
        raise document.error(
            path,
            f"pip: {_LINKS} {url} is a page of files, no index.",
            why="A spec says for each package which index it comes from; pages of files have none.",
            hint=f"Use an index, as in {_EXTRA} {_TORCH_INDEX}/cu113.",
        )
    label = _label_of(url)
    names: set[str] = {name for name, own in labelled if label in {own, None}}
    if label is not None:
        torch = {name for name in section.names if name in _OF_TORCH_INDEX}
        names |= torch - {name for name, _ in labelled}
    if not names:
        raise document.error(
            path,
            f"pip: it stays open which packages come from {url}.",
            why="pip asks every index for every package; envkit asks one, so that no stranger's package gets in.",
            hint="Write a spec that names them under sources: docs/spec-and-lock.md.",
        )
    return [(url, tuple(names))]


def _open_label(document: YamlDocument, path: Path, requirement: Requirement, claimed: list[str]) -> InvalidFileError:
    label = _label(requirement)
    if claimed:
        problem = f"pip: {requirement} comes from {' or from '.join(claimed)}: it stays open which."
    else:
        problem = f"pip: no index is named for {requirement}."
    index = f"{_TORCH_INDEX}/{label}" if label and _LABEL.fullmatch(label) else "ADDRESS"
    return document.error(
        path,
        problem,
        why=f"Versions with a label as +{label} are on no default index.",
        hint=f"Put one line before it: {_EXTRA} {index}",
    )
