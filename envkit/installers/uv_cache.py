"""Putting right what was changed in uv's cache, whose files environments share by hard links.

uv unpacks a wheel into ``archive-v0/ID/`` once and links its files into each environment. It never looks at their
bytes again, not with ``--require-hashes``, and for a wheel of a folder not with ``--refresh`` (tried with uv 0.13.9; uv
#10896, #15700). The wheel itself it does not keep.
"""

from __future__ import annotations

import contextlib
import errno
import filecmp
import glob
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envkit import fs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LOCK_TIMEOUT_S = 60.0
_POLL_S = 0.1


def heal_archives(cache: Path, fresh: Path, dist_infos: Iterable[str]) -> int:
    """Give the files of unpacked wheels in ``cache`` the bytes that they have in ``fresh``; how many were changed.

    Only archives of the very same wheel are touched, known by an equal RECORD, or by everything else being equal. Each
    file is replaced in one step by a new one: environments that are linked to the old one keep it, and no uv that is at
    work sees half a file.

    Args:
        cache: uv's cache. When its layout is another one, nothing is found in it, and nothing is done.
        fresh: a cache into which the wheels have just been unpacked.
        dist_infos: names of their dist-info folders.

    Raises:
        OSError: a file could not be replaced, or the cache is being cleaned.
    """
    if not cache.is_dir():
        return 0
    healed = 0
    with _shared_lock(cache):
        fs.sweep_temporaries(cache)
        for name in dist_infos:
            for good in _archives(fresh, name):
                healed += sum(_heal(archive, good, name, cache) for archive in _archives(cache, name))
    return healed


def _heal(archive: Path, good: Path, dist_info: str, cache: Path) -> int:
    record = Path(dist_info) / "RECORD"
    differing = [file for file in _files(good) if not _is_same(good / file, archive / file)]
    if record in differing and differing != [record]:
        return 0
    return sum(_put(good / file, archive, file, cache) for file in differing)


@contextlib.contextmanager
def _shared_lock(cache: Path) -> Iterator[None]:
    """Hold uv's lock of its cache as uv itself does while it installs: only cleaning and pruning have to wait.

    uv 0.13.9 locks ``.lock`` by flock(2), shared for nearly all it does, exclusively for ``uv cache clean`` and
    ``prune``. Where there are no locks, nothing is locked.
    """
    try:
        import fcntl  # noqa: PLC0415 - not on Windows

        handle = os.open(cache / ".lock", os.O_RDONLY | os.O_CLOEXEC)
    except (ImportError, FileNotFoundError):
        yield
        return
    try:
        until = time.monotonic() + _LOCK_TIMEOUT_S
        while not _try_to_lock(handle, fcntl):
            if time.monotonic() > until:
                raise OSError(errno.EBUSY, "it is in use by another program", str(cache))
            time.sleep(_POLL_S)
        yield
    finally:
        os.close(handle)


def _try_to_lock(handle: int, fcntl: Any) -> bool:  # noqa: ANN401 - a module
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES}  # else there are no locks here
    return True


def _archives(cache: Path, dist_info: str) -> Iterator[Path]:
    pattern = os.path.join(glob.escape(str(cache)), "archive-v*", "*", glob.escape(dist_info))  # noqa: PTH118 - a pattern
    for found in glob.iglob(pattern):  # noqa: PTH207 - Path.glob cannot escape
        yield Path(found).parent


def _files(archive: Path) -> Iterator[Path]:
    for folder, _, names in os.walk(archive):
        for name in names:
            yield (Path(folder) / name).relative_to(archive)


def _is_same(one: Path, other: Path) -> bool:
    with contextlib.suppress(OSError):
        return not other.is_symlink() and filecmp.cmp(one, other, shallow=False)
    return False


def _put(source: Path, archive: Path, file: Path, cache: Path) -> bool:
    """Put a file into an archive, unless that has gone: uv takes what is left of one for a whole one.

    It is written outside the archives: whatever lies in one becomes part of every environment that is made from it.
    """
    handle, temporary = tempfile.mkstemp(prefix=fs.temporary_start(), dir=cache)
    os.close(handle)
    try:
        shutil.copy2(source, temporary)
        if not archive.is_dir():
            return False
        (archive / file).parent.mkdir(parents=True, exist_ok=True)
        os.replace(temporary, archive / file)  # noqa: PTH105 - a string from mkstemp
    finally:
        Path(temporary).unlink(missing_ok=True)
    return True
