"""Results and errors as text for people or as one JSON object for programs, both from the same values."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any, Protocol

import click

from envkit.cli.colours import paint
from envkit.cli.main import COMMANDS
from envkit.cli.progress import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from envkit.errors import EnvkitError

SCHEMA = 1
_SUBCOMMANDS = {
    "snapshot": {"take", "list", "show", "export"},
    "hooks": {"install", "remove", "show", "clean-all"},
    "cuda": {"list", "add", "use", "check", "plan", "install", "remove", "cudnn"},
}
_EMPTY: dict[str, dict[str, Any]] = {
    "create": {"environment": None, "created": False, "verify": None, "snapshot": None, "seconds": None},
    "restore": {"environment": None, "created": False, "verify": None, "snapshot": None, "seconds": None},
    "add": {"environment": None, "lock": None, "changes": []},
    "list": {"environments": []},
    "info": {"environment": None, "packages": [], "snapshots": []},
    "remove": {"removed": None},
    "lock": {"lock": None, "changes": []},
    "verify": {"environment": None, "level": None, "layers": [], "verified": False, "snapshot": None},
    "doctor": {"facts": None, "findings": []},
    "snapshot take": {"snapshot": None},
    "snapshot list": {"snapshots": []},
    "snapshot show": {"snapshot": None},
    "snapshot export": {"files": []},
    "export": {"format": None, "platform": None, "file": None, "text": None, "lost": []},
    "hooks install": {"environment": None, "prefix": None, "hooks": []},
    "hooks remove": {"environment": None, "prefix": None, "hooks": []},
    "hooks show": {"environment": None, "prefix": None, "hooks": []},
    "hooks clean-all": {"prefixes": [], "skipped": []},
    "cuda check": {"toolkit": None, "steps": []},
    "cuda plan": {"release": None, "version": None, "system": None, "driver": None, "notes": [], "routes": []},
    "cuda cudnn": {
        "toolkit": None,
        "version": None,
        "files": [],
        "kept": [],
        "plan": [],
        "done": False,
        "changed": False,
    },
    "kernel": {"environment": None, "kernel": None},
    "gpu": {
        "status": "error",
        "error_kind": None,
        "message": None,
        "driver_version": None,
        "cuda_version": None,
        "gpus": [],
        "library_version": None,
        "module_version": None,
        "found_at": None,
    },
    "specs": {"specs": []},
    "preflight": {
        "spec": None,
        "fits": None,
        "checks": [],
        "routes": [],
        "machine": None,
        "driver_plan": None,
        "notes": [],
    },
    "matrix": {"rows": [], "html": None},
    "cuda list": {"toolkits": [], "notes": []},
    "cuda add": {"toolkit": None, "added": False},
    "cuda install": {
        "toolkit": None,
        "installed": False,
        "source": None,
        "libraries": [],
        "steps": [],
        "seconds": None,
    },
    "cuda remove": {"removed": None, "forgotten": None},
}
"""The fields of each command when it failed before they were known."""
_PRINT_CODE = {"run", "shell", "env", "completion", "cuda use"}
"""Commands without ``--json``: what they print is for a shell, which would run an object, or another program's."""


class Result(Protocol):
    """What an operation returns."""

    def to_json(self) -> dict[str, Any]:
        """The command's own fields."""


def words_of(arguments: Iterable[str]) -> str:
    """The command as typed, without options and arguments: "snapshot take"."""
    words = [word for word in arguments if not word.startswith("-")]
    if not words or words[0] not in COMMANDS:
        return ""
    if len(words) > 1 and words[1] in _SUBCOMMANDS.get(words[0], ()):
        return f"{words[0]} {words[1]}"
    return words[0]


def emit(result: Result, lines: Callable[[], Iterable[str]], *, as_json: bool, lines_tell_why: bool = False) -> int:
    """Show a result, on stdout and nowhere else; gives the exit status that it means.

    A failure that a result carries (``error``) is shown on stderr and in the JSON object; on stderr in one line where
    ``lines`` tell the reason and what to do.
    """
    error: EnvkitError | None = getattr(result, "error", None)
    try:
        if as_json:
            _print_json(_command_words(), result.to_json(), error)
        else:
            for line in lines():
                click.echo(line)
            sys.stdout.flush()
    except BrokenPipeError:  # the reader has gone, as with `envkit list | head -1`: what was done is done
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if error is not None and not as_json:
        _show_text(error, is_short=lines_tell_why)
    return 0 if error is None else int(error.exit_code)


def show_error(error: EnvkitError, arguments: list[str]) -> None:
    """Show an error that ended a command."""
    command = words_of(arguments)
    options = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if "--json" in options and command not in _PRINT_CODE:
        _print_json(command, _EMPTY.get(command, {}), error)
    else:
        _show_text(error)


def _command_words() -> str:
    context = click.get_current_context()
    return " ".join(context.command_path.split()[1:])


def _print_json(command: str, fields: dict[str, Any], error: EnvkitError | None) -> None:
    told = None
    if error is not None:
        told = {
            "type": error.kind,
            "message": error.message,
            "why": error.why,
            "hint": error.hint,
            "exit_code": int(error.exit_code),
        }
    value = {"schema": SCHEMA, "command": command, "ok": error is None, "error": told, **fields}
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=not is_utf8) + "\n")
    sys.stdout.flush()


def _show_text(error: EnvkitError, *, is_short: bool = False) -> None:
    say(f"{paint('Error:', 'red', bold=True)} {error.message}")
    if is_short:
        return
    if error.why:
        say("\n".join(f"  {line}" for line in error.why.splitlines()))
    if error.hint:
        say(f"{paint('Hint:', 'green')} {error.hint}")


def table(header: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Lines of a plain table, each column as wide as its widest cell."""
    cells = [header, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
