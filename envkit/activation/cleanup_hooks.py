"""Hooks for conda prefixes that switch no toolkit: they take out of PATH what a switch of conda's has brought back.

On Windows no hook is needed: conda itself removes what stands between a prefix's own entries. PowerShell is on other
systems too; cmd is not.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from envkit import fs
from envkit.activation.render import render
from envkit.activation.shells import SHELLS
from envkit.resources import hooks_dir

if TYPE_CHECKING:
    from pathlib import Path

CLEANUP_NAME = "envkit-cleanup"
_MADE_BY = (b"# Made by envkit", b"\xef\xbb\xbf# Made by envkit")
"""How a hook begins; those of PowerShell with a mark of their encoding."""


def install_cleanup_hooks(prefix: Path) -> bool:
    """Write ``<prefix>/etc/conda/activate.d/envkit-cleanup.*``; gives whether anything was changed.

    Raises:
        FileExistsError: a file of that name is not envkit's; nothing was written.
        OSError: a file could not be written.
    """
    wanted = _files(prefix)
    there = {path: path.read_bytes() for path in wanted if path.exists()}
    for path, text in there.items():
        if not text.startswith(_MADE_BY):
            raise FileExistsError(f"{path} is not envkit's")
    changed = [path for path, text in wanted.items() if there.get(path) != text]
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        fs.write_bytes(path, wanted[path])
    return bool(changed)


def remove_cleanup_hooks(prefix: Path) -> bool:
    """Remove them, and the folders that this leaves empty; gives whether there were any.

    Raises:
        OSError: a file could not be removed.
    """
    removed = False
    for path in _files(prefix):
        if path.is_file() and path.read_bytes().startswith(_MADE_BY):
            path.unlink()
            removed = True
    if removed:
        for folder in (prefix / "etc/conda/activate.d", prefix / "etc/conda", prefix / "etc"):
            with contextlib.suppress(OSError):  # not empty
                folder.rmdir()
    return removed


def _files(prefix: Path) -> dict[Path, bytes]:
    files = {}
    for shell in (shell for shell in SHELLS if shell.extension != "bat"):
        template = (hooks_dir("cleanup") / f"activate.{shell.extension}").read_bytes()
        path = prefix / "etc" / "conda" / "activate.d" / f"{CLEANUP_NAME}.{shell.extension}"
        files[path] = render(template, identifiers={"SLOT": "CONDA"}, values={}, quote=shell.quote)
    return files
