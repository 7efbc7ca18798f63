"""What envkit asks of py-rattler: to solve, to install, to find records.

py-rattler is never imported here. Each call starts a child process (``worker.py``) that ends with the call: py-rattler can
crash when an interpreter ends, and a process that is killed writes no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from envkit.installers.condarc import CondaSettings
    from envkit.model.progress import Progress

Record = dict[str, Any]
"""A conda record as it stands in a lock: name, version, build, channel, subdir, file, sha256, ..."""


@dataclass(frozen=True, slots=True)
class InstallReport:
    """What an installation left out.

    Attributes:
        unlinked_scripts: names of packages whose pre-link or post-link script was not run.
    """

    unlinked_scripts: tuple[str, ...] = ()


def solve(
    channels: Sequence[str],
    specs: Sequence[str],
    *,
    platform: str,
    virtual_packages: Sequence[tuple[str, str, str]],
    settings: CondaSettings,
    offline: bool,
    timeout_s: float,
    progress: Progress,
    constraints: Sequence[str] = (),
    locked: Sequence[Mapping[str, Any]] = (),
) -> tuple[Record, ...]:
    """The packages that satisfy ``specs``, from these channels alone, by strict channel priority.

    Args:
        channels: names or URLs as the spec has them, the most important first.
        specs: MatchSpecs.
        platform: ``linux-64``; ``noarch`` is always looked at as well.
        virtual_packages: name (``__cuda``), version and build of each.
        settings: of ``.condarc``.
        offline: whether only what lies in the caches may be used.
        timeout_s: limit for the whole call; a server that stands still ends it earlier, by ``settings.read_timeout_s``.
        progress: who is told.
        constraints: MatchSpecs that hold for packages which other ones bring in.
        locked: records to keep to where that is possible.

    Raises:
        UnsatisfiableError: no set of packages satisfies them.
        UsageError: a spec is no MatchSpec.
        DownloadError: a channel does not exist, does not answer, or sends something else.
        InvalidFileError: ``.condarc`` forbids a channel.
        StorageError: a cache cannot be written.
    """
    raise NotImplementedError


def install(
    records: Sequence[Mapping[str, Any]],
    prefix: Path,
    *,
    settings: CondaSettings,
    platform: str,
    offline: bool,
    timeout_s: float,
    progress: Progress,
    cache_dir: Path | None = None,
    folders: Sequence[Path] = (),
    add: bool = False,
) -> InstallReport:
    """Put packages into a prefix, each checked by its sha256; what else is in there is removed.

    Args:
        records: of all packages, or with ``add`` of the new ones. ``requested`` goes to ``requested_specs``.
        prefix: the folder; it is made when it is not there.
        settings: of ``.condarc``.
        platform: ``linux-64``.
        offline: whether only caches and folders may be used.
        timeout_s: limit for the whole call; a server that stands still ends it earlier, by ``settings.read_timeout_s``.
        progress: who is told.
        cache_dir: package cache, by default py-rattler's own (``RATTLER_CACHE_DIR``).
        folders: with package files that are used instead of downloads, by name and sha256; conda's own package folders
            are looked at as well.
        add: whether packages that are there and not among the records stay.

    Raises:
        DownloadError: a package cannot be had, or is another one than the lock says.
        StorageError: the disk is full or cannot be written.
    """
    raise NotImplementedError


def find_records(
    wanted: Sequence[str | tuple[str, str, str]],
    *,
    settings: CondaSettings,
    platform: str,
    offline: bool,
    timeout_s: float,
    progress: Progress,
) -> tuple[Record, ...]:
    """Complete records of packages that are named by URL, ``URL#md5`` or ``URL#sha256:...``, or by (channel, subdir, file).

    They come from the channels' repodata; of a package that is not in there (any more), from the file itself.

    Raises:
        DownloadError: a package cannot be had, or has another hash.
        UsageError: a URL does not name a conda package.
    """
    raise NotImplementedError
