"""What somebody wants of torch: a version, a build, a Python; and what there is instead where there is none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from envkit.compat.releases import build_cuda, releases
from envkit.compat.tables import MACHINES, version_key
from envkit.errors import NotFoundError, UsageError
from envkit.operations.spec_index import spec_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from envkit.compat.releases import Build, Release

CPU = "cpu"


@dataclass(frozen=True, slots=True)
class WantedBuild:
    """What is looked for; None is any.

    Attributes:
        torch: a release or the first numbers of one: "1.12.1", "1.12", "2".
        cuda: build CUDA, "11.3", or "cpu".
        python: "3.9".
    """

    torch: str | None = None
    cuda: str | None = None
    python: str | None = None

    def has_release(self, release: Release) -> bool:
        """Whether a release is one of those that are looked for."""
        return self.torch is None or f"{release.torch}.".startswith(f"{self.torch}.")

    def has_build(self, build: Build) -> bool:
        """Whether a build is."""
        return self.cuda in {None, build.cuda or CPU}

    def __str__(self) -> str:
        torch = "torch" if self.torch is None else f"torch {self.torch}"
        python = "" if self.python is None else f" with Python {self.python}"
        return f"{torch}{'' if self.cuda is None else f' {_for(self.cuda)}'}{python}"


def wanted_build(torch: str | None, cuda: str | None, python: str | None) -> WantedBuild:
    """Read what the user wrote: ``1.12.1+cu113``, ``11.3``, ``11.3.1``, ``cu113``, ``cpu``, ``3.9``.

    Raises:
        UsageError: it is no version, or the two builds contradict each other.
    """
    release, _, label = (torch or "").strip().removesuffix(".*").partition("+")
    if torch is not None and re.fullmatch(r"\d+(\.\d+){0,2}", release, re.ASCII) is None:
        raise UsageError(f"{torch!r} is no version of torch.", hint="Write it as in 1.12.1, 1.12 or 1.12.1+cu113.")
    build = _build(cuda) if cuda is not None else None
    named = _build(label) if label else None
    if None not in {build, named} and build != named:
        raise UsageError(f"torch {torch} is not built for CUDA {cuda}.", hint="Leave one of the two out.")
    if python is not None and re.fullmatch(r"\d+\.\d+(\.\d+)?", python, re.ASCII) is None:
        raise UsageError(f"{python!r} is no version of Python.", hint="Write it as in 3.9.")
    minor = None if python is None else ".".join(python.split(".")[:2])
    return WantedBuild(release or None, build or named, minor)


def _build(text: str) -> str:
    written = text.strip().lower()
    if written == CPU:
        return CPU
    found = re.fullmatch(r"cu(\d{2,3})", written, re.ASCII)
    if found is not None:
        return str(build_cuda(written))
    found = re.fullmatch(r"(\d+\.\d+)(\.\d+)?", written, re.ASCII)
    if found is None:
        raise UsageError(f"{text!r} is no version of CUDA.", hint="Write it as in 11.3 or cu113, or cpu.")
    return found[1]


def no_such_build(wanted: WantedBuild, platforms: Iterable[str] = tuple(MACHINES)) -> NotFoundError:
    """Why there is no such build, and which are near; to be asked only where there is none."""
    found = _Known(tuple(platforms))
    every = releases()
    those = [release for release in every if wanted.has_release(release)]
    if not those:
        why = f"The tables have torch {every[-1].torch} to {every[0].torch}."
        near = near_ones(str(wanted.torch), {release.torch for release in every})
        return NotFoundError(f"There is no torch {wanted.torch}.", why=why, hint=f"Near: {_and(near)}.")
    builds = {build for release in every for build in found.builds(release)}
    if wanted.cuda is not None and wanted.cuda not in builds:
        near = near_ones(wanted.cuda, builds)
        hint = f"Near: {_and(near)}." if near else None
        return NotFoundError(
            f"No torch was built for CUDA {wanted.cuda}.", why=f"There are builds for {_list(builds)}.", hint=hint
        )
    pythons = {python for release in every for python in found.pythons(release)}
    if wanted.python is not None and wanted.python not in pythons:
        why = f"The tables have files for Python {_range(pythons)}."
        return NotFoundError(f"There is no torch for Python {wanted.python}.", why=why)
    return NotFoundError(f"There is no {wanted}.", why=found.why_not(wanted, those), hint=found.others(wanted) or None)


@dataclass(frozen=True, slots=True)
class _Known:
    """The tables, for certain platforms."""

    platforms: tuple[str, ...]

    def builds(self, release: Release) -> set[str]:
        return {build.cuda or CPU for platform in self.platforms for build in release.builds(platform)}

    def pythons(self, release: Release) -> set[str]:
        return {python for platform in self.platforms for python in release.pythons(platform)}

    def why_not(self, wanted: WantedBuild, those: list[Release]) -> str:
        """What the newest of the releases that are looked for has instead."""
        release = next((item for item in those if wanted.cuda in self.builds(item)), those[0])
        builds, pythons = self.builds(release), self.pythons(release)
        if not builds:
            return f"torch {release.torch} was not published for {_and(self.platforms)}."
        told = []
        if wanted.cuda is not None and wanted.cuda not in builds:
            told.append(f"torch {release.torch} was built for {_list(builds)}.")
        if wanted.python is not None and wanted.python not in pythons:
            told.append(f"torch {release.torch} has files for Python {_range(pythons)}.")
        return " ".join(told)

    def others(self, wanted: WantedBuild) -> str:
        """Where to go from there: other builds of that release, other releases with that build or Python."""
        told = []
        if wanted.cuda is not None:
            told.append(self._releases(f"Built {_for(wanted.cuda)}", lambda item: wanted.cuda in self.builds(item)))
        if wanted.python is not None:
            told.append(self._releases(f"Python {wanted.python}", lambda item: wanted.python in self.pythons(item)))
        release = next((item for item in releases() if wanted.has_release(item) and self.builds(item)), None)
        if wanted.torch is not None and release is not None:
            told.append(self._nearest(wanted, release))
        return " ".join(text for text in told if text)

    def _nearest(self, wanted: WantedBuild, release: Release) -> str:
        builds = self.builds(release)
        if wanted.cuda in {None, CPU, *builds}:
            return ""
        near = []
        for build in near_ones(str(wanted.cuda), builds - {CPU}):
            name = spec_named(release.torch, build)
            near.append(f"CUDA {build}{f' ({name})' if name else ''}")
        return f"Nearest for torch {release.torch}: {_and(near)}." if near else ""

    @staticmethod
    def _releases(what: str, has: Callable[[Release], bool]) -> str:
        found = [release.torch for release in reversed(releases()) if has(release)]
        return f"{what}: {_range(found)}." if found else ""


def near_ones(version: str, known: Iterable[str]) -> list[str]:
    """The next older and the next newer of the versions that there are."""
    key = version_key(version)
    versions = sorted((item for item in known if item != CPU), key=version_key)
    older = [item for item in versions if version_key(item) < key]
    newer = [item for item in versions if version_key(item) > key]
    return [*older[-1:], *newer[:1]]


def _for(cuda: str) -> str:
    return "for the CPU" if cuda == CPU else f"for CUDA {cuda}"


def _list(builds: Iterable[str]) -> str:
    versions = sorted((item for item in builds if item != CPU), key=version_key)
    cpu = ["the CPU"] if CPU in builds else []
    return ", and for ".join([f"CUDA {_and(versions)}", *cpu]) if versions else "the CPU alone"


def _range(versions: Iterable[str]) -> str:
    found = sorted(versions, key=version_key)
    return found[0] if len(found) == 1 else f"{found[0]} to {found[-1]}"


def _and(items: Iterable[str]) -> str:
    *others, last = list(items)
    return f"{', '.join(others)} and {last}" if others else last
