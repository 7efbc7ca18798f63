"""Folders for the files that a program is given and that nobody needs afterwards."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from envkit import fs, paths

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """An empty folder while the block runs, in envkit's cache; where that cannot be written, among temporary files.

    What a killed envkit has left there, the next one removes.
    """
    parent = paths.cache_dir() / "tmp"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        fs.sweep_temporaries(parent)
        folder = Path(tempfile.mkdtemp(prefix=fs.temporary_start(), dir=parent))
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="envkit-"))
    try:
        yield folder
    finally:
        fs.remove_tree(folder)
