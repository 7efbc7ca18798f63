"""Hashes that a source states for files whose hash the lock does not know."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from envkit.errors import DownloadError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from envkit.installers.indexes import PipConfig
    from envkit.model.locked import LockedPackage
    from envkit.model.progress import Progress


def stated_hashes(
    packages: Iterable[LockedPackage], config: PipConfig, *, offline: bool, progress: Progress
) -> tuple[LockedPackage, ...]:
    """The packages, those without a hash with the one that their https source states for the file.

    Raises:
        DownloadError: the source is out of reach, does not have the file, or states no hash.
    """
    packages = tuple(packages)
    settled = []
    for package in packages:
        if package.sha256 is not None or package.source is None:
            settled.append(package)
            continue
        together = [item.file for item in packages if item.source == package.source]
        digest = _stated(package, package.source, ", ".join(together), config, offline=offline)
        progress.note(f"No hash of {package.file} is known; the one that {package.source} states was taken.")
        settled.append(replace(package, sha256=digest, known="single"))
    return tuple(settled)


def _stated(package: LockedPackage, source: str, together: str, config: PipConfig, *, offline: bool) -> str:
    """The stated hash of one file; ``together`` names all files that would come from this source."""
    advice = (
        "Check the network and proxy, or get the files elsewhere, from a mirror for instance, put them into a "
        "folder and run again with --wheelhouse DIR."
    )
    if offline:
        raise DownloadError(
            f"Offline, and {package.file} is not on this disk.",
            why="The lock knows no hash of it, so it cannot be found in uv's cache either.",
            hint=advice,
        )
    from envkit.installers.pages import PageReader  # noqa: PLC0415 - rarely needed, and start-up counts

    try:
        files = PageReader(config).files(source, package.name)
    except DownloadError as error:
        why = f"{error.message} {error.why or ''}".strip()
        raise DownloadError(f"Could not get {together} from {source}.", why=why, hint=advice) from error
    found = next((item for item in files or () if item.name == package.file), None)
    if found is None:
        raise DownloadError(f"{source} does not have {package.file}.", hint=advice)
    if found.sha256 is None:
        raise DownloadError(
            f"{source} states no sha256 for {package.file}, and the lock knows none.",
            why="A file that nothing vouches for is not installed.",
            hint=f"{advice} Its own hash is taken then.",
        )
    return found.sha256
