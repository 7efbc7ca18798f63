"""Text that a shell reads back as exactly one word, character by character."""

from __future__ import annotations

import re

_SPECIAL_TO_CSH = re.compile(r"([\x00-,:-@\[-^`{-\x7f])")
"""What is no letter, digit, dash, dot, slash, underscore, in ASCII; the opposite set takes long to compile."""
_QUOTES_OF_POWERSHELL = re.compile("(['\u2018\u2019\u201a\u201b])")


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
