"""The shells that hooks are written for: one row each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from envkit.activation.quoting import quote_bat, quote_csh, quote_fish, quote_posix, quote_powershell

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Shell:
    """A kind of shell.

    Attributes:
        name: what people call it.
        extension: of its hook files, as conda looks for them.
        script: the name of its activation script in a virtual environment.
        quote: makes one word of any text.
        deactivate: matches the beginning of the script's ``deactivate``, after which our text goes.
    """

    name: str
    extension: str
    script: str
    quote: Callable[[str], str]
    deactivate: bytes


_POWERSHELL = rb"function global:deactivate ?\(\[switch\] ?\$NonDestructive\) ?\{[ \t]*\r?\n"

SHELLS = (
    Shell("POSIX sh, bash, zsh", "sh", "activate", quote_posix, rb"deactivate ?\(\) ?\{[ \t]*\n"),
    Shell("fish", "fish", "activate.fish", quote_fish, rb"function deactivate\b[^\n]*\n"),
    Shell("tcsh", "csh", "activate.csh", quote_csh, rb"alias deactivate '(?=test )"),
    Shell("PowerShell", "ps1", "activate.ps1", quote_powershell, _POWERSHELL),
    Shell("cmd", "bat", "activate.bat", quote_bat, rb""),  # its deactivate is a file beside the script
)
