"""Make a virtual environment's own activation scripts run the hooks in its ``etc/conda``.

The scripts of ``python -m venv``, virtualenv and uv differ, but all have the same two places for ours: the start of
what ``deactivate`` does and the end of the script. Its text lies in ``hooks/venv``, between marks.

In tcsh ``deactivate`` is an alias: of one line of commands, which can only source a file (of ours, in ``.envkit``), or,
as virtualenv 21 writes it, of a file beside the script. In cmd it is ``deactivate.bat`` beside ``activate.bat``.
PowerShell's script from python.org ends with a signature: ours goes in front of it, and the signature fits again when
ours is taken out.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from envkit import fs
from envkit.activation.hooks import HookState
from envkit.activation.shells import SHELLS
from envkit.errors import InvalidFileError, NotFoundError
from envkit.resources import hooks_dir

if TYPE_CHECKING:
    from envkit.activation.shells import Shell

_WITH_BREAK = b" (and the line break before)"
"""In the mark of a block behind a script that does not end with a line break: taking it out takes that out too."""
_BLOCK = re.compile(
    rb"(?:\r?\n(?=[^\n]*" + re.escape(_WITH_BREAK) + rb" >>>\r?\n))?"
    rb"^[ ]*(?:#|@rem) >>> envkit (activate|deactivate) hooks(?:" + re.escape(_WITH_BREAK) + rb")? >>>\r?\n"
    rb".*?^[ ]*(?:#|@rem) <<< envkit \1 hooks <<<\r?\n",
    re.DOTALL | re.MULTILINE,
)
_IN_ALIAS = re.compile(rb": envkit hooks; .*?: end of envkit hooks; ")
_MARKS = (b"# >>> envkit ", b"@rem >>> envkit ", b": envkit hooks;")
_STARTS = re.compile(rb"^deactivate -?nondestructive[ \t]*\r?$", re.MULTILINE)
_ALIAS_OF_FILE = re.compile(rb"^alias deactivate 'source \"\$deactivate_script:q\"'[ \t]*$", re.MULTILINE)
_CSH_FILE = "deactivate.csh"
_SETS_IN_CMD = re.compile(rb"""\bset "?VIRTUAL_ENV=""")
_ENDS_IN_CMD = re.compile(rb"^@?exit /b(?: 0)?[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
"""Behind that line virtualenv 21.15 has a subroutine."""
_SIGNATURE = re.compile(rb"^# SIG # Begin signature block", re.MULTILINE)
_BESIDE = {"csh": _CSH_FILE, "bat": "deactivate.bat"}
"""Files of the environment that are its ``deactivate``, by the extension of the hooks."""
_OF_WINDOWS = {"ps1", "bat"}


def attach_hooks(prefix: Path) -> tuple[Path, ...]:
    """Let every activation script in ``prefix`` run the hooks; the same again changes nothing.

    A script of PowerShell or cmd that looks like none that envkit knows is left alone where it is not Windows.

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
            hint="Make it again: an environment of envkit's with `envkit create --replace`, any other as it was made, "
            "with `python -m venv`, uv or virtualenv.",
        )
    wanted: dict[Path, bytes] = {}
    for path, shell in scripts:
        wanted |= _wanted(path, shell, prefix)
    for path, text in wanted.items():
        path.parent.mkdir(exist_ok=True)
        _replace(path, text)
    return tuple(path for path, _ in scripts if path in wanted)


def attachment_states(prefix: Path) -> tuple[HookState, ...]:
    """For each activation script whether it runs the hooks: ``missing`` where nothing of ours is in it."""
    states = []
    for path, shell in _scripts(prefix):
        state: Literal["current", "stale", "missing"] = "stale"
        with contextlib.suppress(InvalidFileError, FileNotFoundError):
            wanted = _wanted(path, shell, prefix)
            if not wanted:  # one that is left alone
                continue
            state = "current" if all(file.read_bytes() == text for file, text in wanted.items()) else "stale"
        if not any(mark in path.read_bytes() for mark in _MARKS):
            state = "missing"
        states.append(HookState(shell.name, path, state))
    return tuple(states)


def detach_hooks(prefix: Path) -> tuple[Path, ...]:
    """Take out what ``attach_hooks`` has put in; give the scripts that had it."""
    beside = [
        path.with_name(_BESIDE[shell.extension]) for path, shell in _scripts(prefix) if shell.extension in _BESIDE
    ]
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
    found = []
    for folder in (prefix / "bin", prefix / "Scripts"):
        try:
            names = sorted(os.listdir(folder))  # noqa: PTH208 - names
        except OSError:
            continue
        # python -m venv calls PowerShell's Activate.ps1
        pairs = [
            (name, shell) for shell in SHELLS for name in names if name in {shell.script, shell.script.capitalize()}
        ]
        found += [(folder / name, shell) for name, shell in pairs if (folder / name).is_file()]
    return found


def _wanted(path: Path, shell: Shell, prefix: Path) -> dict[Path, bytes]:
    """The files that make one script run the hooks, and what is to be in them."""
    try:
        if shell.extension == "csh":
            return _attached_to_csh(path, prefix)
        return _attached_to_bat(path) if shell.extension == "bat" else {path: _attached(path, shell)}
    except InvalidFileError:
        if os.name == "nt" or shell.extension not in _OF_WINDOWS:
            raise
        return {}


def _attached(path: Path, shell: Shell) -> bytes:
    text = _original(path)
    at = _start_of_deactivate(path, text, shell)
    text = text[:at] + _part(f"deactivate.{shell.extension}", text) + text[at:]
    signature = _SIGNATURE.search(text) if shell.extension == "ps1" else None
    end = len(text) if signature is None else signature.start()
    return _followed(text[:end], _part(f"activate.{shell.extension}", text)) + text[end:]


def _attached_to_bat(path: Path) -> dict[Path, bytes]:
    beside = path.with_name(_BESIDE["bat"])
    text = _original(path)
    if not beside.is_file() or not _SETS_IN_CMD.search(text) or any(mark in text for mark in _MARKS):
        raise InvalidFileError(
            str(path),
            "envkit does not know this kind of activation script.",
            why="It expects a line that sets VIRTUAL_ENV, and a file deactivate.bat beside it.",
            hint="Make the environment again, or call the files in etc\\conda\\activate.d yourself.",
        )
    left = _original(beside)
    block, end = _part("activate.bat", text), _ENDS_IN_CMD.search(text)
    attached = _followed(text, block) if end is None else text[: end.start()] + block + text[end.start() :]
    return {path: attached, beside: _part("deactivate.bat", left) + left}


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
    return files | {path: _followed(text, _part("activate.csh"))}


def _followed(text: bytes, block: bytes) -> bytes:
    if text.endswith(b"\n"):
        return text + block
    line_break = b"\r\n" if b"\r\n" in text else b"\n"
    return text + line_break + block.replace(b" hooks >>>", b" hooks" + _WITH_BREAK + b" >>>", 1)


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


def _part(name: str, beside: bytes = b"") -> bytes:
    """A text of ours, with line ends as in the text that it goes into."""
    text = (hooks_dir("venv") / name).read_bytes()
    return text.replace(b"\n", b"\r\n") if b"\r\n" in beside else text


def _original(path: Path) -> bytes:
    return _without_ours(path.read_bytes())


def _without_ours(text: bytes) -> bytes:
    return _IN_ALIAS.sub(b"", _BLOCK.sub(b"", text))


def _replace(path: Path, text: bytes) -> bool:
    target = Path(os.path.realpath(path))  # a link stays one
    try:
        if target.read_bytes() == text:
            return False
        before = target.stat()
    except FileNotFoundError:
        fs.write_bytes(target, text)
        return True
    fs.write_bytes(target, text, mode=stat.S_IMODE(before.st_mode))
    if hasattr(os, "chown") and target.stat().st_gid != before.st_gid:
        with contextlib.suppress(OSError):  # a group that this user is not in any more
            os.chown(target, -1, before.st_gid)
    return True
