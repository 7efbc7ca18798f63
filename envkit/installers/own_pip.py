"""The pip that runs for envkit, unpacked: Python compiles what it takes out of a wheel at every start."""

from __future__ import annotations

import contextlib
import tempfile
import zipfile
from pathlib import Path

from envkit import fs, paths


def unpacked_pip(wheel: Path) -> Path:
    """The package ``pip`` of ``wheel`` in envkit's cache; where that cannot be written, in the wheel.

    A start of pip takes less than half the time then. Its ``.dist-info`` is left out: pip does not take itself for a
    package of the environment, as long as it runs from a wheel or has none
    (https://github.com/pypa/pip/blob/26.0/src/pip/_internal/metadata/importlib/_envs.py).
    """
    folder = paths.cache_dir() / "pip" / wheel.stem
    with zipfile.ZipFile(wheel) as archive:
        members = [item for item in archive.infolist() if item.filename.startswith("pip/") and not item.is_dir()]
        if not _is_whole(folder, members):
            with contextlib.suppress(OSError):  # no room, or another envkit was quicker
                _unpack(archive, members, folder)
    return (folder if _is_whole(folder, members) else wheel) / "pip"


def _unpack(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    fs.sweep_temporaries(folder.parent)
    new = Path(tempfile.mkdtemp(prefix=fs.temporary_start(), dir=folder.parent))
    try:
        archive.extractall(new, members)
        if not _is_whole(folder, members):  # by another envkit meanwhile, whose pip may be running from it
            fs.remove_tree(folder)
            new.rename(folder)
    finally:
        fs.remove_tree(new)


def _is_whole(folder: Path, members: list[zipfile.ZipInfo]) -> bool:
    """Whether all files are there in their size: after a loss of power they may be empty."""
    try:
        return all((folder / item.filename).stat().st_size == item.file_size for item in members)
    except OSError:
        return False
