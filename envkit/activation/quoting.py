"""Text that a shell reads back as exactly one word, character by character."""

from __future__ import annotations

import os
import re

from envkit.errors import UsageError

_SPECIAL_TO_CSH = re.compile(r"([^A-Za-z0-9/._\x80-\U0010ffff-])")
_QUOTES_OF_POWERSHELL = re.compile("(['\u2018\u2019\u201a\u201b])")
_BYTE = re.compile("[\udc80-\udcff]")
"""What Python makes of a byte of a file's name that is no part of any letter."""
_FORBIDDEN = {"\n": "a line break", "\r": "a line break", "\0": "a NUL character"}


def check_path(path: str, *, separator: str = os.pathsep) -> str:
    """Give ``path`` back when a search path and a hook can hold it.

    Raises:
        UsageError: it holds the PATH separator, a line break or NUL, or is no text.
    """
    if not path.isascii() and _BYTE.search(path):
        raise UsageError(
            f"Cannot use the folder {path!a}: its name is not UTF-8.",
            why="Hooks and records are text, which cannot express such a name.",
            hint="Rename the folder; letters of any language are fine in UTF-8.",
        )
    for character, name in {**_FORBIDDEN, separator: f"the PATH separator `{separator}`"}.items():
        if character in path:
            raise UsageError(
                f"Cannot use the folder {path!r}: its name holds {name}.",
                why="PATH and the activation scripts of the shells cannot express such a name.",
                hint="Choose or rename to a folder without it; spaces, quotes and letters of any language are fine.",
            )
    return path


def quote_posix(text: str) -> str:
    r"""Quote for sh, bash, dash and zsh: single quotes, an apostrophe as ``'\''`` (right under zsh's rc_quotes too)."""
    return "'" + text.replace("'", "'\\''") + "'"


def quote_fish(text: str) -> str:
    """Quote for fish, whose single quotes know two escapes: backslash and apostrophe."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def quote_csh(text: str) -> str:
    """Quote for tcsh: a backslash before every character of ASCII that might mean something.

    Its single quotes neither hide ``!`` nor, under ``backslash_quote``, a backslash; and ``set histchars`` can make a
    history character of any other.
    """
    return _SPECIAL_TO_CSH.sub(r"\\\1", text) or "''"


def quote_powershell(text: str) -> str:
    """Quote for PowerShell, in single quotes: nothing in them means anything but a quote, which is doubled.

    The typographic quotes count as quotes there too:
    https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_quoting_rules
    """
    return "'" + _QUOTES_OF_POWERSHELL.sub(r"\1\1", text) + "'"


def quote_bat(text: str) -> str:
    """Quote for batch files of cmd without delayed expansion: in double quotes the percent sign alone has a meaning.

    A double quote cannot be expressed there, and no name on Windows has one. A bar stands for it, which no name has
    either: such a folder is not found then.
    """
    return '"' + text.replace("%", "%%").replace('"', "|") + '"'


def quote_xonsh(text: str) -> str:
    """Quote for a command of xonsh, as a value of Python: in xonsh's own quotes ``$NAME`` would be replaced."""
    return f"@({text!r})"
