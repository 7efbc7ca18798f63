"""Whether a release of torch has a build for a platform, and wheels for a Python."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from envkit.compat.releases import releases
from envkit.compat.tables import MACHINES, MAY_REFUSE, build_label, version_key
from envkit.model.fit import FitCheck

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from envkit.compat.releases import Release

VERSIONS = "https://pytorch.org/get-started/previous-versions/"
"""Which builds of a release were published."""
_TAGS = "the tags of the wheels on PyPI"
_SHORT_PYTHON = 2
_PARTS_OF_WHEEL = 5


def check_platform(name: str, platforms: Collection[str], platform: str) -> FitCheck:
    """Whether a spec or lock is made for a platform."""
    needed = ", ".join(sorted(platforms))
    if platform in platforms:
        return FitCheck("platform", "ok", platform, needed)
    why = f"{name} is not made for {platform}."
    hint = f"If such builds exist, copy the spec, name {platform} under its platforms and lock it with `envkit lock`."
    return FitCheck("platform", "fail", platform, needed, why, hint, "the spec", "confirmed")


def check_build(release: Release | None, torch: str, cuda: str | None, platform: str) -> FitCheck:
    """Whether a build was published, before anybody looks for it in an index.

    Args:
        release: of that torch; None where the table has none.
        torch: as the user wrote it.
        cuda: build CUDA, or None for a CPU build.
        platform: conda's name.
    """
    label = build_label(cuda)
    if release is None:
        newest = releases()[0].torch
        why = f"torch {torch} is not in envkit's table, which ends with {newest}."
        return FitCheck("build", "unknown", f"torch {torch} {label}", None, why, source=VERSIONS, known="unknown")
    wanted = f"torch {release.torch} {label} for {platform}"
    builds = release.builds(platform)
    found = next((build for build in builds if build.label == label), None)
    if found is None and cuda is None and not builds and release.pythons(platform):
        return FitCheck("build", "ok", wanted, None, source=_TAGS, known=release.pythons_known)
    if found is not None:
        return _published(wanted, found.known)
    there = ", ".join(build.label for build in builds) or ("cpu" if release.pythons(platform) else "none")
    known = "confirmed" if platform not in MACHINES else _weakest([build.known for build in builds])
    may_refuse = known in MAY_REFUSE
    return FitCheck(
        "build",
        "fail" if may_refuse else "warn",
        f"builds for {platform}: {there}",
        wanted,
        f"There is no {label} build of torch {release.torch} for {platform}"
        + (": CUDA builds are made for Linux and Windows." if platform not in MACHINES else "."),
        "An index answers such a wish with `no matching distribution`: that is no fault of the network.",
        VERSIONS,
        known,
        is_doubtful=not may_refuse,
    )


def _published(wanted: str, known: str) -> FitCheck:
    if known in MAY_REFUSE:
        return FitCheck("build", "ok", wanted, None, source=VERSIONS, known=known)
    why = "That this build was published is not confirmed."
    return FitCheck("build", "warn", wanted, None, why, "Its index tells.", VERSIONS, known, is_doubtful=True)


def _weakest(words: Sequence[str]) -> str:
    """How well it is known that there is no other build: as well as the least known of those there are."""
    return next((word for word in words if word not in MAY_REFUSE), "single" if "single" in words else "confirmed")


def check_python(release: Release, python: str, platform: str) -> list[FitCheck]:
    """Whether there are wheels for a Python; no check for a platform of which nothing is known.

    Args:
        release: of torch.
        python: "3.9" or "3.9.18".
        platform: conda's name.
    """
    pythons = release.pythons(platform)
    if not pythons:
        return []
    minor = ".".join(python.split(".")[:_SHORT_PYTHON])
    needed, known = _range(pythons), release.pythons_known
    if minor in pythons:
        return [FitCheck("python", "ok", minor, needed, source=_TAGS, known=known)]
    may_refuse = known in MAY_REFUSE
    why = (
        f"torch {release.torch} has wheels for Python {needed} on {platform}, none for {minor}. "
        "pip then finds no matching distribution: it is the Python, not the network."
    )
    return [
        FitCheck(
            "python",
            "fail" if may_refuse else "warn",
            minor,
            needed,
            why,
            f"Take Python {pythons[-1]}{_other_release(minor, platform)}.",
            _TAGS,
            known,
            is_doubtful=not may_refuse,
        )
    ]


def is_wheel_for(file: str, python: str) -> bool:
    """Whether the name of a wheel says that it is for a Python: cp39 is for 3.9 alone, py3 for each."""
    parts = file.removesuffix(".whl").split("-")
    tags = parts[-3].split(".") if len(parts) >= _PARTS_OF_WHEEL else []
    return "py3" in tags or "cp" + "".join(python.split(".")[:_SHORT_PYTHON]) in tags


def _range(pythons: Sequence[str]) -> str:
    """All of them, as "3.7 to 3.10" where none between is missing."""
    numbers = [version_key(version) for version in pythons]
    is_whole = all(after == (*before[:-1], before[-1] + 1) for before, after in pairwise(numbers))
    return f"{pythons[0]} to {pythons[-1]}" if is_whole and len(pythons) > 1 else ", ".join(pythons)


def _other_release(minor: str, platform: str) -> str:
    """The releases that have wheels for a Python, or nothing to say."""
    found = [release.torch for release in releases() if minor in release.pythons(platform)]
    return f", or torch {found[-1]} to {found[0]} with Python {minor}" if found else ""
