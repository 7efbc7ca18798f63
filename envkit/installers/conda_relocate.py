"""A conda prefix that is made at one place and used at another, and that stops being a conda environment."""

from __future__ import annotations

import json
import os
import re
import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_META = "conda-meta"


def relocate(prefix: Path, final: Path) -> None:
    """Write ``final`` into the files that name ``prefix``, as conda does when it installs a package.

    Text files get the other path; in binary files it is filled up with zeros to the length that was there. The
    packages' records tell which files these are.
    https://docs.conda.io/projects/conda-build/en/stable/resources/make-relocatable.html

    Args:
        prefix: where the packages were installed; its path is no shorter than that of ``final``.
        final: where the folder will be.
    """
    old, new = os.fsencode(prefix), os.fsencode(final)
    for record in sorted((prefix / _META).glob("*.json")):
        for entry in json.loads(record.read_text(encoding="utf-8"))["paths_data"]["paths"]:
            if entry.get("prefix_placeholder"):
                path = prefix / entry["_path"]
                data, mode = path.read_bytes(), path.stat().st_mode
                path.unlink()  # what else shares these bytes keeps them
                path.write_bytes(_replaced(data, old, new, is_text=entry.get("file_mode") == "text"))
                path.chmod(mode)


def _replaced(data: bytes, old: bytes, new: bytes, *, is_text: bool) -> bytes:
    if is_text:
        return data.replace(old, new)

    def shorter(match: re.Match[bytes]) -> bytes:
        return match[0].replace(old, new).ljust(len(match[0]), b"\0")

    return re.sub(re.escape(old) + rb"[^\0]*", shorter, data)


def leave_conda(prefix: Path, notes: Path) -> None:
    """Make a prefix a plain folder that shares no file with a package cache.

    Args:
        prefix: the prefix.
        notes: a folder in it that takes the packages' records, for people who look.
    """
    (prefix / _META).rename(notes / _META)
    for path in prefix.rglob("*"):
        if path.is_file() and not path.is_symlink() and path.stat().st_nlink > 1:
            copy = path.with_name(f".{path.name}.copy")
            shutil.copy2(path, copy)
            copy.replace(path)
