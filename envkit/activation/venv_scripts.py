"""Make a virtual environment's own activation scripts run the hooks in its ``etc/conda``.

The scripts of ``python -m venv``, virtualenv and uv differ, but all have the same two places for ours: the start of the
function ``deactivate`` and the end of the script. Its text lies in ``hooks/venv``, between marker lines.
"""

from __future__ import annotations

import re
import stat
from typing import TYPE_CHECKING

from envkit import fs
from envkit.activation.shells import SHELLS
from envkit.errors import InvalidFileError, NotFoundError
from envkit.resources import hooks_dir

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.activation.shells import Shell

_BLOCK = re.compile(
    rb"^[ ]*# >>> envkit (activate|deactivate) hooks >>>\n.*?^[ ]*# <<< envkit \1 hooks <<<\n", re.DOTALL | re.MULTILINE
)
_MARKER = b"# >>> envkit "
_STARTS = re.compile(rb"^deactivate nondestructive[ \t]*$", re.MULTILINE)


def attach_hooks(prefix: Path) -> tuple[Path, ...]:
    """Let every activation script in ``prefix`` run the hooks; the same again changes nothing.

    Returns:
        The scripts that now run them.

    Raises:
        NotFoundError: there is no activation script for any shell that envkit knows.
        InvalidFileError: a script looks like none that envkit knows; none has been changed then.
        OSError: a script could not be read or written.
    """
    scripts = _scripts(prefix)
    if not scripts:
        raise NotFoundError(
            f"{prefix} has no activation script.",
            why="A virtual environment has one in its `bin` (on Windows `Scripts`) folder.",
            hint="Make the environment again, for instance with `envkit create --replace`.",
        )
    wanted = [(path, _attached(path, shell)) for path, shell in scripts]
    for path, text in wanted:
        _replace(path, text)
    return tuple(path for path, _ in wanted)


def detach_hooks(prefix: Path) -> tuple[Path, ...]:
    """Take out what ``attach_hooks`` has put in; give the scripts that had it."""
    changed = []
    for path, _ in _scripts(prefix):
        if _replace(path, _BLOCK.sub(b"", path.read_bytes())):
            changed.append(path)
    return tuple(changed)


def _scripts(prefix: Path) -> list[tuple[Path, Shell]]:
    places = [(prefix / folder / shell.script, shell) for folder in ("bin", "Scripts") for shell in SHELLS]
    return [(path, shell) for path, shell in places if path.is_file()]


def _attached(path: Path, shell: Shell) -> bytes:
    text = _BLOCK.sub(b"", path.read_bytes())
    places = list(re.finditer(rb"^" + shell.deactivate, text, re.MULTILINE))
    if len(places) != 1 or not _STARTS.search(text, places[0].end()) or _MARKER in text:
        raise InvalidFileError(
            str(path),
            "envkit does not know this kind of activation script.",
            why="It expects one function `deactivate` and a line `deactivate nondestructive` after it, as "
            "python -m venv, virtualenv and uv write them.",
            hint="Make the environment again with one of these, or source the files in etc/conda/activate.d yourself.",
        )
    at = places[0].end()
    if not text.endswith(b"\n"):
        text += b"\n"
    folder = hooks_dir("venv")
    deactivate = (folder / f"deactivate.{shell.extension}").read_bytes()
    activate = (folder / f"activate.{shell.extension}").read_bytes()
    return text[:at] + deactivate + text[at:] + activate


def _replace(path: Path, text: bytes) -> bool:
    if path.read_bytes() == text:
        return False
    fs.write_bytes(path, text, mode=stat.S_IMODE(path.stat().st_mode))
    return True
