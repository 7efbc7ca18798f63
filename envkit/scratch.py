"""Folders for the files that a program is given and that nobody needs afterwards."""

from __future__ import annotations

import contextlib
import platform
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from envkit import fs, paths
from envkit.owner import Owner

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """An empty folder while the block runs, in envkit's cache; where that cannot be written, among temporary files.

    A killed envkit leaves its folder behind, and the name tells the next one that: it removes it.
    """
    parent = paths.cache_dir() / "tmp"
    here = Owner.here()
    start = f"{_word(here.host)}-{here.pid}-{here.started or 0}-"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=start, dir=parent))
        _sweep(parent)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="envkit-"))
    try:
        yield folder
    finally:
        fs.remove_tree(folder)


def _sweep(parent: Path) -> None:
    for folder in parent.iterdir():
        host, pid, started, _ = ["", "", "", *folder.name.rsplit("-", 3)][-4:]
        if host != _word(platform.node()) or not pid.isdecimal() or not started.isdecimal():
            continue
        if Owner(platform.node(), int(pid), int(started) or None).liveness() == "dead":
            with contextlib.suppress(OSError):
                fs.remove_tree(folder)


def _word(host: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]", "_", host)
