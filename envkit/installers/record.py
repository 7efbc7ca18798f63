"""RECORD: the files of an installed package, as its installer wrote them down.

https://packaging.python.org/en/latest/specifications/recording-installed-packages/
"""

from __future__ import annotations

import csv
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NO_RECORD = (ValueError, csv.Error)
"""What reading raises when a file is no RECORD."""
_LIMIT_BYTES = 64 << 20
"""torch's is 2 MB."""
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def record_rows(record: Path) -> Iterator[tuple[str, str, str]]:
    """Path, hash and size of each entry, as they stand there; both may be empty.

    Raises:
        OSError: the file is missing or cannot be read.
        ValueError, csv.Error: it is no RECORD.
    """
    with open(record, encoding="utf-8", errors="surrogateescape", newline="", opener=open_regular) as file:
        if os.fstat(file.fileno()).st_size > _LIMIT_BYTES:
            raise ValueError(f"it is larger than {_LIMIT_BYTES >> 20} MB")
        for row in csv.reader(file):
            if row and row[0]:
                path, digest, size = (*row, "", "")[:3]
                yield path, digest, size


def open_regular(path: str, _flags: int = 0) -> int:
    """Open a regular file, and nothing else: a pipe would block, a link may lead anywhere.

    Raises:
        OSError: it is missing, or none.
    """
    handle = os.open(path, _FLAGS)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise OSError(0, "it is no regular file", path)
