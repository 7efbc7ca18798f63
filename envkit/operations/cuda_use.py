"""Switch one window, a shell that runs already, to a toolkit: by code that the user lets it evaluate."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

from envkit import fs
from envkit.activation import check_path
from envkit.activation.hooks import window_code
from envkit.activation.quoting import quote_xonsh
from envkit.activation.render import render
from envkit.activation.shells import SHELLS
from envkit.activation.slots import PREFIX_VARIABLES
from envkit.errors import UsageError
from envkit.paths import cache_dir
from envkit.resources import hooks_dir

if TYPE_CHECKING:
    from envkit.model.host_compiler import HostCompiler
    from envkit.model.progress import Progress
    from envkit.model.toolkit import Toolkit

_EXTENSIONS = {
    "sh": ("sh", "bash", "zsh", "dash", "ksh"),
    "fish": ("fish",),
    "csh": ("tcsh", "csh"),
    "xsh": ("xonsh",),
    "ps1": ("powershell", "pwsh"),
    "bat": ("cmd",),
}
_EVALUATE = {"sh", "fish"}
"""Shells that evaluate any text; tcsh, xonsh, PowerShell and cmd get the line that runs a file with it."""


def use_toolkit(asked: str, shell_name: str, progress: Progress) -> bytes:
    """The code that switches a window to a toolkit, or with "none" back to what was before.

    What it sets and how it is undone is what the hooks of environments do, with a slot of state of its own.

    Args:
        asked: a release, a folder, or "none".
        shell_name: what its users call it.
        progress: told where no gcc here is one that the toolkit takes.

    Raises:
        NotFoundError: there is no such toolkit on this machine.
        UsageError: its folder's name, or that of envkit's data folder, is one that the shell cannot be told; or the
            toolkit of an environment is in force.
    """
    _check_no_environment(asked)
    extension = next(extension for extension, names in _EXTENSIONS.items() if shell_name in names)
    hooks = "sh" if extension == "xsh" else extension  # xonsh reads the code of bash
    shell = next(shell for shell in SHELLS if shell.extension == hooks)
    toolkit, compiler = (None, None) if asked == "none" else _chosen(asked, progress)
    code = window_code(shell, toolkit, compiler)
    if extension in _EVALUATE:
        return code
    folder = cache_dir() / "window"
    file = folder / f"use-{hashlib.sha256(code).hexdigest()[:12]}.{shell.extension}"
    check_path(str(file))
    folder.mkdir(parents=True, exist_ok=True)
    fs.write_bytes(file, code)
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
