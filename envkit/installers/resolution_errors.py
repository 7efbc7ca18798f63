"""What it means when uv finds no answer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from envkit import process
from envkit.errors import DownloadError, InvalidFileError
from envkit.model.addresses import redacted

if TYPE_CHECKING:
    from envkit.errors import EnvkitError
    from envkit.model.spec import Spec

_NO_WHEEL = re.compile(
    r"([\w.-]+?)(?:[=<>!~]=?[^\s,]+)? (?:has|have) no (?:usable )?wheels|Wheels are required for `([^`]+)`"
)
_HOST = re.compile(r"(?:Failed to fetch|error sending request for url|Could not connect)\W+\(?`?\w+://([^/\s`)]+)")
_REFUSED = re.compile(r"An index(?: URL)? \(\w+://([^/\s)]+).*(401 Unauthorized|403 Forbidden)")
_UNREACHABLE = re.compile(r"Failed to fetch|Request failed|error sending request|Failed to read `--find-links`")


class ResolutionError(InvalidFileError):
    """No set of packages satisfies the spec."""


def uv_failure(done: process.CompletedProgram, spec: Spec, platform: str) -> EnvkitError:
    """The error that says why ``uv pip compile`` failed."""
    said = redacted(done.stderr.strip().removeprefix("error: "))
    if _UNREACHABLE.search(said):
        found = _HOST.search(said)
        host = found.group(1) if found is not None else "the package index"
        return DownloadError(
            f"Could not reach {host} to resolve {spec.name}.",
            why=said,
            hint="Check the network, proxy and certificates; for a mirror set index-url in pip's configuration.",
        )
    refused = _REFUSED.search(said)
    if refused is not None:
        return DownloadError(
            f"{refused.group(1)} refused access to its packages ({refused.group(2)}).",
            why=said,
            hint="Put your user name and password for it into netrc, or correct index-url in pip's configuration.",
        )
    if done.returncode != 1:
        return process.failure(done)
    without = _NO_WHEEL.search(said)
    if without is not None:
        return no_wheel_error(without.group(1) or without.group(2), spec, platform, why=said)
    return ResolutionError(
        spec.path,
        f"the packages cannot be had together for {platform} with Python {spec.python}.",
        why=said,
        hint=_label_hint(spec, said) or "Change the versions in the spec so that they fit each other.",
    )


def no_wheel_error(package: str, spec: Spec, platform: str, *, why: str | None = None) -> ResolutionError:
    """The error about a package that would have to be built."""
    name = canonicalize_name(package.split(maxsplit=1)[0])
    return ResolutionError(
        spec.path,
        f"{package} has no wheel for {platform} with Python {spec.python}.",
        why=why or "envkit takes wheels only: what is built differs from machine to machine.",
        hint=f"Ask for another version of it, or allow to build it: sdist: [{name}].",
    )


def _label_hint(spec: Spec, said: str) -> str | None:
    """What to do about a version such as 1.11.0+cu113 that was not found, and for which the spec names no index."""
    for text in spec.packages:
        requirement = Requirement(text)
        labels = [pin.version.partition("+")[2] for pin in requirement.specifier]
        label = next((label for label in labels if label), None)
        name = re.escape(requirement.name)
        is_blamed = re.search(rf"no version of {name}\b|\b{name} was not found", said) is not None
        if label is not None and is_blamed and spec.source_of(requirement.name) is None:
            return (
                f"{requirement} has a local label: PyTorch's own index has it, no default index does. Name that index: "
                f"sources: [{{url: https://download.pytorch.org/whl/{label}, packages: [{requirement.name}]}}]."
            )
    return None
