"""What NVIDIA's installers of the CUDA toolkit are called and which package repository has which release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envkit.compat.tables import installers_table, toolkit_row, version_key
from envkit.compat.toolkit_channels import channel_toolkit, channel_toolkits, newest_channel_toolkit
from envkit.compat.toolkit_wheels import wheel_toolkits
from envkit.model.toolkit import means

if TYPE_CHECKING:
    from collections.abc import Iterable

_KNOWN = ("confirmed", "single", "derived", "unconfirmed", "unknown")
"""How well facts are known, best first."""


@dataclass(frozen=True, slots=True)
class Installer:
    """A run file for Linux, or an installer for Windows.

    Attributes:
        version: of the toolkit, in full.
        url: where it lies.
        sha256: None where not known.
        known: how well its name is known.
        source: an address.
    """

    version: str
    url: str
    sha256: str | None
    known: str
    source: str | None

    @property
    def file(self) -> str:
        """The file's name; the oldest ones were published without an extension."""
        return self.url.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Repository:
    """A package repository of NVIDIA's.

    Attributes:
        name: the folder under ``repos``, "ubuntu2004".
        kind: apt, dnf, dnf5, yum or zypper.
        first: the oldest release in it, or None where not known.
        newer_than: a release that came out before the system did, the newest such one that is sure; or None.
        releases: those known to be in it.
        known: how well.
        source: an address.
    """

    name: str
    kind: str
    first: str | None
    newer_than: str | None
    releases: tuple[str, ...]
    known: str
    source: str | None

    def has(self, release: str) -> bool | None:
        """Whether a release is in it; None: not known."""
        if release in self.releases:
            return True
        if self.first is not None and version_key(release) < version_key(self.first):
            return False
        return False if self.is_newer_than(release) else None

    def is_newer_than(self, release: str) -> bool:
        """Whether the system surely came out after a release, so that NVIDIA never added it."""
        return self.newer_than is not None and version_key(release) <= version_key(self.newer_than)


@dataclass(frozen=True, slots=True)
class SystemGcc:
    """The gcc of a system.

    Attributes:
        default: major version of the one that is called gcc.
        others: those that its package lists surely have by name, gcc-10 with g++-10.
        known: how well the default is known.
    """

    default: int
    others: tuple[int, ...]
    known: str


def system_gcc(name: str) -> SystemGcc | None:
    """The gcc of the system that a repository is for; None where it is not known."""
    row = next((row for row in installers_table()["compilers"] if row["name"] == name), None)
    return None if row is None else SystemGcc(row["gcc"], tuple(row["other_gcc"]), row["status"])


def base_url() -> str:
    """The address below which everything lies."""
    return str(installers_table()["base"])


def archive_url() -> str:
    """The page that lists all releases."""
    return str(installers_table()["archive"])


def repositories() -> dict[str, Repository]:
    """All package repositories that the table knows."""
    return {
        row["name"]: Repository(
            row["name"],
            row["kind"],
            row["first"],
            row.get("newer_than"),
            tuple(row["releases"]),
            row["status"],
            source_url(row["src"]),
        )
        for row in installers_table()["repositories"]
    }


def versions_of(release: str) -> tuple[str, ...]:
    """The full versions of a release that the tables know, oldest first: 11.3.0 and 11.3.1."""
    row = toolkit_row(release)
    told = {part.split()[0] for update in (row or {"updates": []})["updates"] for part in update["update"].split(" / ")}
    everything = (*(row["version"] for row in _installers()), *wheel_toolkits(), *channel_toolkits())
    told |= {version for version in everything if means(release, version)}
    return tuple(sorted(told, key=version_key))


def newest_installer(asked: str, kind: str) -> Installer | None:
    """The newest installer of a release or of a full version; None where none is known.

    Args:
        asked: "11.3" or "11.3.1".
        kind: linux (x86_64), sbsa (aarch64) or windows.
    """
    rows = [row for row in _installers() if kind in row and means(asked, row["version"])]
    if not rows:
        return None
    row = max(rows, key=lambda row: version_key(row["version"]))
    found = row[kind]
    path = found["path"]
    url = path if path.startswith("https://") else base_url() + path
    return Installer(row["version"], url, found.get("sha256"), found["status"], source_url(found["src"]))


def windows_components(release: str) -> tuple[tuple[str, ...], str, str | None] | None:
    """The components of a Windows installer that make a toolkit, how well they are known, and from where.

    Only what is named is installed: https://docs.nvidia.com/cuda/cuda-installation-guide-microsoft-windows/
    """
    row = next((row for row in installers_table()["windows_components"] if release in row["releases"]), None)
    if row is None:
        return None
    return tuple(f"{name}_{release}" for name in row["components"]), row["status"], source_url(row["src"])


@dataclass(frozen=True, slots=True)
class CondaPackage:
    """The package that is a toolkit, for conda.

    Attributes:
        version: of the toolkit, in full.
        channels: all that may be asked, the most important first.
        name: the package's.
        known: how well it is known.
        source: an address.
    """

    version: str
    channels: tuple[str, ...]
    name: str
    known: str
    source: str | None


def newest_conda_package(asked: str) -> CondaPackage | None:
    """That of the newest toolkit which ``asked`` means, a release or a full version; None where none is known."""
    version = newest_channel_toolkit(asked)
    if version is None:
        return None
    row = installers_table()["conda"]
    channels = channel_toolkit(version).channels
    return CondaPackage(version, channels, row["package"], row["status"], source_url(row["src"]))


def least_known(words: Iterable[str]) -> str:
    """The weakest of several words for how well a fact is known."""
    return max(words, key=_KNOWN.index)


def source_url(ids: list[str]) -> str | None:
    """The first address among the sources of a row."""
    sources = installers_table()["sources"]
    return next((sources[name]["url"] for name in ids if sources[name]["url"]), None)


def _installers() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = installers_table()["installers"]
    return rows
