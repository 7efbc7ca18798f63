"""Putting right what was changed in uv's cache, whose files environments share by hard links.

uv unpacks a wheel into ``archive-v0/ID/`` once and links its files into each environment. It never looks at their
bytes again, not with ``--require-hashes``, and for a wheel of a folder not with ``--refresh`` (tried with uv 0.13.9; uv
#10896, #15700). The wheel itself it does not keep.
"""

from __future__ import annotations

import contextlib
import filecmp
import glob
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


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
        OSError: a file could not be replaced.
    """
    healed = 0
    for name in dist_infos:
        for good in _archives(fresh, name):
            for archive in _archives(cache, name):
                record = Path(name) / "RECORD"
                differing = [file for file in _files(good) if not _is_same(good / file, archive / file)]
                if record not in differing or differing == [record]:
                    for file in differing:
                        _put(good / file, archive / file)
                    healed += len(differing)
    return healed


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


def _put(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=".envkit-", dir=target.parent)
    os.close(handle)
    try:
        shutil.copy2(source, temporary)
        os.replace(temporary, target)  # noqa: PTH105 - a string from mkstemp
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
