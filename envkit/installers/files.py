"""Locked files that lie on this disk already: in a wheelhouse or in the user's find-links folders."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING

from envkit import fs, paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from envkit.model.locked import LockedPackage


def local_files(
    packages: Iterable[LockedPackage], folders: Sequence[Path], *, wheelhouse: Path | None
) -> dict[str, Path]:
    """The files of ``packages`` that lie in one of ``folders``, by package name. The first folder wins.

    A file counts when its hash is the locked one. Where none is locked, a file of that name counts only in
    ``wheelhouse``, the folder that the user named for this very call: anybody may have put one into a shared folder of
    find-links, and the source states the hash.
    """
    memo = _HashMemo()
    found: dict[str, Path] = {}
    for package in packages:
        for folder in folders:
            path = folder / package.file
            if package.sha256 is None and folder != wheelhouse:
                continue
            if path.is_file() and package.sha256 in {None, memo.sha256(path)}:
                found[package.name] = path
                break
    memo.save()
    return found


def with_local_hashes(
    packages: Iterable[LockedPackage], files: Mapping[str, Path]
) -> tuple[tuple[LockedPackage, ...], tuple[str, ...]]:
    """Take the hash of a local file where the lock knows none; also gives the names of those packages."""
    memo = _HashMemo()
    settled, taken = [], []
    for package in packages:
        if package.sha256 is None and package.name in files:
            digest = memo.sha256(files[package.name])
            settled.append(replace(package, sha256=digest, known="single"))
            taken.append(package.name)
        else:
            settled.append(package)
    memo.save()
    return tuple(settled), tuple(taken)


class _HashMemo:
    """Hashes by path, size and modification time: a wheel of 2 GB is not read again for each environment."""

    def __init__(self) -> None:
        self._file = paths.cache_dir() / "hashes.json"
        self._changed = False
        self._known: dict[str, list[object]] = {}
        with contextlib.suppress(OSError, ValueError, TypeError):
            self._known = dict(json.loads(self._file.read_text(encoding="utf-8")))

    def sha256(self, path: Path) -> str:
        status = path.stat()
        stamp: list[object] = [status.st_size, status.st_mtime_ns, status.st_ino]
        known = self._known.get(str(path))
        if isinstance(known, list) and known[:-1] == stamp:
            return str(known[-1])
        digest = fs.file_sha256(path)
        self._known[str(path)] = [*stamp, digest]
        self._changed = True
        return digest

    def save(self) -> None:
        if not self._changed:
            return
        with contextlib.suppress(OSError):  # only time is lost
            self._file.parent.mkdir(parents=True, exist_ok=True)
            fs.write_json(self._file, self._known)
        self._changed = False
