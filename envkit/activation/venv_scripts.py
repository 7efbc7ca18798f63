"""Make a virtual environment's own activation scripts run the hooks in its ``etc/conda``.

The scripts of ``python -m venv``, virtualenv and uv differ, but all have the same two places for ours: the start of
what ``deactivate`` does and the end of the script. Its text lies in ``hooks/venv``, between marks.

In tcsh ``deactivate`` is an alias: of one line of commands, which can only source a file (of ours, in ``.envkit``), or,
as virtualenv 21 writes it, of a file beside the script.
"""

from __future__ import annotations

import contextlib
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
_IN_ALIAS = re.compile(rb": envkit hooks; .*?: end of envkit hooks; ")
_MARKS = (b"# >>> envkit ", b": envkit hooks;")
_STARTS = re.compile(rb"^deactivate nondestructive[ \t]*$", re.MULTILINE)
_ALIAS_OF_FILE = re.compile(rb"^alias deactivate 'source \"\$deactivate_script:q\"'[ \t]*$", re.MULTILINE)
_CSH_FILE = "deactivate.csh"


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
    wanted: dict[Path, bytes] = {}
    for path, shell in scripts:
        wanted |= _attached_to_csh(path, prefix) if shell.extension == "csh" else {path: _attached(path, shell)}
    for path, text in wanted.items():
        path.parent.mkdir(exist_ok=True)
        _replace(path, text)
    return tuple(path for path, _ in scripts)


def detach_hooks(prefix: Path) -> tuple[Path, ...]:
    """Take out what ``attach_hooks`` has put in; give the scripts that had it."""
    beside = [path.with_name(_CSH_FILE) for path, shell in _scripts(prefix) if shell.extension == "csh"]
    scripts = [path for path, _ in _scripts(prefix)]
    changed = [
        path
        for path in (*scripts, *(path for path in beside if path.is_file()))
        if _replace(path, _without_ours(path.read_bytes()))
    ]
    own = prefix / ".envkit" / _CSH_FILE
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        own.unlink()
        with contextlib.suppress(OSError):  # not empty: it holds more of envkit's
            own.parent.rmdir()
    return tuple(path for path in changed if path in scripts)


def _scripts(prefix: Path) -> list[tuple[Path, Shell]]:
    places = [(prefix / folder / shell.script, shell) for folder in ("bin", "Scripts") for shell in SHELLS]
    return [(path, shell) for path, shell in places if path.is_file()]


def _attached(path: Path, shell: Shell) -> bytes:
    text = _original(path)
    at = _start_of_deactivate(path, text, shell)
    return text[:at] + _part(f"deactivate.{shell.extension}") + text[at:] + _part(f"activate.{shell.extension}")


def _attached_to_csh(path: Path, prefix: Path) -> dict[Path, bytes]:
    text, block = _original(path), _part("deactivate.csh")
    files = {prefix / ".envkit" / _CSH_FILE: block}
    beside = path.with_name(_CSH_FILE)
    if beside.is_file() and len(_ALIAS_OF_FILE.findall(text)) == 1:
        files[beside] = block + _original(beside)
    else:
        (shell,) = (shell for shell in SHELLS if shell.extension == "csh")
        at = _start_of_deactivate(path, text, shell)
        text = text[:at] + _part("alias.csh").rstrip(b"\n") + text[at:]
    return files | {path: text + _part("activate.csh")}


def _start_of_deactivate(path: Path, text: bytes, shell: Shell) -> int:
    places = list(re.finditer(rb"^" + shell.deactivate, text, re.MULTILINE))
    if len(places) != 1 or not _STARTS.search(text, places[0].end()) or any(mark in text for mark in _MARKS):
        raise InvalidFileError(
            str(path),
            "envkit does not know this kind of activation script.",
            why="It expects one function `deactivate` and a line `deactivate nondestructive` after it, as "
            "python -m venv, virtualenv and uv write them.",
            hint="Make the environment again with one of these, or source the files in etc/conda/activate.d yourself.",
        )
    return places[0].end()


def _part(name: str) -> bytes:
    return (hooks_dir("venv") / name).read_bytes()


def _original(path: Path) -> bytes:
    text = _without_ours(path.read_bytes())
    return text if text.endswith(b"\n") else text + b"\n"


def _without_ours(text: bytes) -> bytes:
    return _IN_ALIAS.sub(b"", _BLOCK.sub(b"", text))


def _replace(path: Path, text: bytes) -> bool:
    try:
        if path.read_bytes() == text:
            return False
        mode = stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        mode = 0o644
    fs.write_bytes(path, text, mode=mode)
    return True
