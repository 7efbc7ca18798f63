"""Switch one window, a shell that runs already, to a toolkit: by code that the user lets it evaluate."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from envkit import fs
from envkit.activation import check_path
from envkit.activation.hooks import window_code
from envkit.activation.quoting import quote_xonsh
from envkit.activation.render import render
from envkit.activation.shells import SHELLS
from envkit.operations.host_compiler import choose_host_compiler
from envkit.operations.toolkits import toolkit_for
from envkit.paths import cache_dir
from envkit.resources import hooks_dir

if TYPE_CHECKING:
    from envkit.model.progress import Progress

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
        UsageError: its folder's name, or that of envkit's data folder, is one that the shell cannot be told.
    """
    extension = next(extension for extension, names in _EXTENSIONS.items() if shell_name in names)
    hooks = "sh" if extension == "xsh" else extension  # xonsh reads the code of bash
    shell = next(shell for shell in SHELLS if shell.extension == hooks)
    toolkit = toolkit_for(None, asked)
    choice = choose_host_compiler(toolkit.path, toolkit, wanted=True) if toolkit is not None else None
    if choice is not None and choice.problem is not None:
        progress.note(f"{choice.problem} To compile, install gcc-{choice.newest} and g++-{choice.newest}.")
    code = window_code(shell, toolkit, None if choice is None else choice.compiler)
    if extension in _EVALUATE:
        return code
    folder = cache_dir() / "window"
    file = folder / f"use-{hashlib.sha256(code).hexdigest()[:12]}.{shell.extension}"
    check_path(str(file))
    fs.make_folder(folder)
    fs.write_bytes(file, code)
    quote = quote_xonsh if extension == "xsh" else shell.quote
    line = (hooks_dir("window") / f"use.{extension}").read_bytes()
    return render(line, identifiers={}, values={"FILE": (str(file),)}, quote=quote)
