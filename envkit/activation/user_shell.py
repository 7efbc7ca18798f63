"""Which shell a user has, and what is typed in it to switch the window to a toolkit."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from envkit.activation.quoting import quote_xonsh
from envkit.activation.shells import SHELLS

if TYPE_CHECKING:
    from collections.abc import Collection

WINDOW_SHELLS = {
    "sh": "sh",
    "bash": "sh",
    "zsh": "sh",
    "dash": "sh",
    "ksh": "sh",
    "fish": "fish",
    "tcsh": "csh",
    "csh": "csh",
    "xonsh": "xsh",
    "powershell": "ps1",
    "pwsh": "ps1",
    "cmd": "bat",
}
"""The shells of ``envkit cuda use``, and what their files end with."""
_LINES = {
    "sh": 'eval "$(envkit cuda use {} --shell {})"',
    "fish": "envkit cuda use {} --shell {} | source",
    "csh": 'eval "`envkit cuda use {} --shell {}`"',
    "xsh": "execx($(envkit cuda use {} --shell {}))",
    "ps1": "envkit cuda use {} --shell {} | Invoke-Expression",
    "bat": "for /f \"delims=\" %L in ('envkit cuda use {} --shell {}') do @%L",
}
_PLAIN = re.compile(r"[\w./:-]+")


def user_shell(known: Collection[str]) -> str | None:
    """The shell in ``$SHELL``, where it is a known one; else PowerShell on Windows, and elsewhere None."""
    name = Path(os.environ.get("SHELL", "")).name.removesuffix(".exe")
    if name in known:
        return name
    return "powershell" if os.name == "nt" else None


def window_line(toolkit: str, shell: str) -> str:
    """What to type in a window of a shell of ``WINDOW_SHELLS`` to switch it to a toolkit, a release or a folder."""
    extension = WINDOW_SHELLS[shell]
    quote = quote_xonsh if extension == "xsh" else next(row.quote for row in SHELLS if row.extension == extension)
    return _LINES[extension].format(toolkit if _PLAIN.fullmatch(toolkit) else quote(toolkit), shell)
