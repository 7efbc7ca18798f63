"""Switch one window, a shell that runs already, to a toolkit: by a line that the user lets it evaluate."""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import TYPE_CHECKING

from envkit import fs
from envkit.activation.hooks import window_code
from envkit.activation.quoting import quote_xonsh
from envkit.activation.render import render
from envkit.activation.shells import SHELLS
from envkit.activation.slots import PREFIX_VARIABLES
from envkit.activation.user_shell import WINDOW_SHELLS, user_shell, window_line
from envkit.errors import UsageError
from envkit.model.texts import check_path
from envkit.paths import cache_dir
from envkit.resources import hooks_dir

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.host_compiler import HostCompiler
    from envkit.model.progress import Progress
    from envkit.model.toolkit import Toolkit

_KEPT = 50
"""Files of the cache; there is one for each toolkit and kind of shell."""


def use_toolkit(asked: str, shell_name: str | None, progress: Progress, *, is_shown: bool = False) -> bytes:
    """The line that switches a window to a toolkit, or with "none" back to what was before: it runs a file.

    What that sets and how it is undone is what the hooks of environments do, with a slot of state of its own. It is one
    line in every shell, since some cannot evaluate more, and others join what is not quoted.

    Args:
        asked: a release, a folder, or "none".
        shell_name: what its users call it; None: the user's own.
        progress: told where no gcc here is one that the toolkit takes.
        is_shown: whether the user sees the line, instead of his shell that is to evaluate it; then that is told.

    Raises:
        NotFoundError: there is no such toolkit on this machine.
        UsageError: its folder's name, or that of envkit's data folder, is one that the shell cannot be told; or which
            shell it is cannot be told; or the toolkit of an environment is in force.
        OSError: the file cannot be written.
    """
    shell_name = shell_name or _own_shell(asked)
    _check_no_environment(asked)
    extension = WINDOW_SHELLS[shell_name]
    hooks = "sh" if extension == "xsh" else extension  # xonsh reads the code of bash
    shell = next(shell for shell in SHELLS if shell.extension == hooks)
    toolkit, compiler = (None, None) if asked == "none" else _chosen(asked, progress)
    code = window_code(shell, toolkit, compiler)
    file = cache_dir() / "window" / f"use-{hashlib.sha256(code).hexdigest()[:12]}.{shell.extension}"
    check_path(str(file))
    _keep(file, code)
    if is_shown:
        progress.note(f"Nothing is switched yet. Type: {window_line(asked, shell_name)}")
    quote = quote_xonsh if extension == "xsh" else shell.quote
    line = (hooks_dir("window") / f"use.{extension}").read_bytes()
    return render(line, identifiers={}, values={"FILE": (str(file),)}, quote=quote)


def _check_no_environment(asked: str) -> None:
    """Refuse where an environment has switched this window: each of the two slots would save what the other has set.

    Left in any order but one, a variable would come back to a toolkit that is not in force any more.

    Raises:
        UsageError: the toolkit of an environment is in force; for "none", over that of the window.
    """
    active = [variable for slot, variable in PREFIX_VARIABLES.items() if f"_ENVKIT_{slot}_TOOLKIT" in os.environ]
    is_over_nothing = asked == "none" and "_ENVKIT_WINDOW_TOOLKIT" not in os.environ
    if not active or is_over_nothing:
        return
    prefix = next((os.environ[name] for name in active if os.environ.get(name)), None)
    place = f"The environment {prefix}" if prefix is not None else "An environment"
    change = "" if asked == "none" else f" To change its toolkit: `envkit hooks install ENV --toolkit {asked}`."
    raise UsageError(
        f"{place} has switched this window to its toolkit; nothing was changed.",
        why="The window's own toolkit can be changed only while no environment's is in force.",
        hint=f"Leave the environment first (`deactivate` or `conda deactivate`), then run this again.{change}",
    )


def _chosen(asked: str, progress: Progress) -> tuple[Toolkit | None, HostCompiler | None]:
    # start-up counts, and the way back needs neither
    from envkit.operations.host_compiler import choose_host_compiler  # noqa: PLC0415
    from envkit.operations.toolkits import toolkit_for  # noqa: PLC0415

    toolkit = toolkit_for(None, asked)
    choice = choose_host_compiler(toolkit.path, toolkit, wanted=True) if toolkit is not None else None
    if choice is not None and choice.problem is not None:
        progress.note(f"{choice.problem} To compile, install gcc-{choice.newest} and g++-{choice.newest}.")
    return toolkit, None if choice is None else choice.compiler


def _own_shell(asked: str) -> str:
    name = user_shell(WINDOW_SHELLS)
    if name is None:
        raise UsageError(
            "Which shell is it that is to switch?",
            why=f"SHELL is {os.environ['SHELL']}, which is none that envkit knows."
            if os.environ.get("SHELL")
            else "SHELL is not set.",
            hint=f"Name it with --shell; in bash: {window_line(asked, 'bash')}",
        )
    return name


def _keep(file: Path, code: bytes) -> None:
    """Write a file that is named after its content, so that windows do not disturb each other, and drop old ones."""
    with contextlib.suppress(OSError):
        if file.read_bytes() == code:
            os.utime(file)
            return
    fs.make_folder(file.parent)
    fs.write_bytes(file, code)
    with contextlib.suppress(OSError):  # another envkit has dropped them
        files = sorted(file.parent.glob("use-*"), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in files[_KEPT:]:
            old.unlink()
