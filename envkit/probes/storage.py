"""How much room there is at a place, and whether files can be written and run there; nothing is written."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from envkit.probes.mounts import Mount, mount_of, read_mounts

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Storage:
    """The file system at a place that need not exist yet.

    Attributes:
        folder: the place, or the nearest folder above it that is there.
        free_bytes: what this user may still write, quotas aside.
        free_files: how many files this user may still make; None: the file system has no fixed number.
        device: tells file systems apart, together with ``mount``.
        mount: on Linux.
        is_folder: whether ``folder`` is one; a file may be in the way.
        is_writable: whether this user may write into it.
        is_read_only: whether the file system is mounted so.
        is_noexec: whether nothing in it can be run.
    """

    folder: Path
    free_bytes: int
    free_files: int | None
    device: int
    mount: Mount | None
    is_folder: bool
    is_writable: bool
    is_read_only: bool
    is_noexec: bool

    def shares_files_with(self, other: Storage) -> bool:
        """Whether hard links from one to the other are possible: not between two mounts, even of one device."""
        points = {None if storage.mount is None else storage.mount.point for storage in (self, other)}
        return self.device == other.device and len(points) == 1


def storage_at(path: Path) -> Storage:
    """The file system at ``path``.

    Raises:
        OSError: nothing of the path can be looked at.
    """
    folder = nearest(path)
    flags, free_files = 0, None
    if hasattr(os, "statvfs"):
        status = os.statvfs(folder)
        flags, free_files = status.f_flag, status.f_favail if status.f_files else None
    return Storage(
        folder=folder,
        free_bytes=shutil.disk_usage(folder).free,
        free_files=free_files,
        device=folder.stat().st_dev,
        mount=mount_of(folder, read_mounts()),
        is_folder=folder.is_dir(),
        is_writable=os.access(folder, os.W_OK | os.X_OK),
        is_read_only=bool(flags & getattr(os, "ST_RDONLY", 0)),
        is_noexec=bool(flags & getattr(os, "ST_NOEXEC", 0)),
    )


def nearest(path: Path) -> Path:
    """``path``, or the nearest folder (or file) above it that is there."""
    folder = path.absolute()
    while not os.path.exists(folder) and folder != folder.parent:  # noqa: PTH110 - no error in a closed folder
        folder = folder.parent
    return folder
