"""PyTorch releases: what goes with each, and which builds of it were published."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envkit.compat.tables import MACHINES, bounds_table, releases_table, version_key

if TYPE_CHECKING:
    from collections.abc import Mapping


_MACS = {"osx-64": "macos_x86_64", "osx-arm64": "macos_arm64"}
"""The table's names of the platforms that have CPU builds alone."""


@dataclass(frozen=True, slots=True)
class Build:
    """A build of torch that was published for a platform.

    Attributes:
        label: "cu113" or "cpu", as in ``1.12.1+cu113``.
        cuda: "11.3", or None for a CPU build.
        known: how well it is known that there is one.
    """

    label: str
    cuda: str | None
    known: str


@dataclass(frozen=True, slots=True)
class Release:
    """One release of torch.

    Attributes:
        torch: "1.12.1".
        torchvision: the one of the set.
        torchaudio: likewise; None where there is none.
        pair_known: how well the set is known.
        released: "2022-08-05", or None.
        row: the row of ``pytorch_releases.yaml``; not to be changed.
    """

    torch: str
    torchvision: str
    torchaudio: str | None
    pair_known: str
    released: str | None
    row: Mapping[str, Any]

    @property
    def minor(self) -> str:
        """The first two numbers: "1.12" of 1.12.1."""
        return self.torch.rpartition(".")[0]

    @property
    def pythons_known(self) -> str:
        """How well the Python versions are known."""
        return str(self.row["python"]["status"])

    def builds(self, platform: str) -> tuple[Build, ...]:
        """The builds for a platform ("linux-64"), CPU first, then by CUDA; empty where none was published."""
        rows = self.row["builds"].get(MACHINES.get(platform, ""), {})
        found = [Build(label, build_cuda(label), row["status"]) for label, row in rows.items()]
        return tuple(sorted(found, key=lambda build: version_key(build.cuda or "0")))

    def build(self, label: str, platform: str) -> Build | None:
        """The build "cu113" for a platform, or None."""
        return next((build for build in self.builds(platform) if build.label == label), None)

    def pythons(self, platform: str) -> tuple[str, ...]:
        """The versions of Python that there are wheels for, ascending, without free-threaded ones."""
        found = self.row["python"].get(MACHINES.get(platform) or _MACS.get(platform, ""), ())
        return tuple(sorted((version for version in found if not version.endswith("t")), key=version_key))

    def numpy_bound(self, platform: str) -> str | None:
        """The version specifier that numpy must keep to, "<2", or None."""
        system = "windows" if platform == "win-64" else "linux"
        bound = self.row["numpy"].get(system)
        return None if bound is None else str(bound)

    def bounds(self, installer: str) -> dict[str, str]:
        """Version specifiers that other packages must keep to, by their names: ``{"setuptools": "<70"}``."""
        return {
            row["package"]: row["specifier"]
            for row in bounds_table()
            if installer in row["installers"] and version_key(self.torch) <= version_key(row["until"])
        }

    def index(self, label: str) -> str:
        """The address of the index that carries a build, without knowing whether PyPI does as well."""
        return f"https://download.pytorch.org/whl/{label}"


@functools.cache
def releases() -> tuple[Release, ...]:
    """All releases whose set is known, newest first; one that was only read off an index is left out."""
    found = [
        Release(
            row["torch"],
            row["torchvision"],
            row.get("torchaudio"),
            row["pair_status"],
            row.get("released"),
            row,
        )
        for row in releases_table()
        if row["torchvision"] is not None
    ]
    return tuple(sorted(found, key=lambda release: version_key(release.torch), reverse=True))


def release_of(torch: str) -> Release | None:
    """The release of a version, with or without a build label ("1.12.1+cu113"), or None."""
    return next((release for release in releases() if release.torch == torch.partition("+")[0]), None)


def newest_of(minor: str) -> Release | None:
    """The newest release of "1.12", or None."""
    return next((release for release in releases() if release.minor == minor), None)


def build_cuda(label: str) -> str | None:
    """The CUDA of a label: "11.3" of "cu113"; None for "cpu"."""
    if label == "cpu":
        return None
    digits = label.removeprefix("cu")
    return f"{digits[:-1]}.{digits[-1]}"
