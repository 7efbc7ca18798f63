"""Characters that no text in envkit's files and no path in a hook may hold, and how a size is written."""

from __future__ import annotations

import os
import re

from envkit.errors import UsageError

_HIDING = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_BYTE = re.compile("[\udc80-\udcff]")
"""What Python makes of a byte of a file's name that is no part of any letter."""
_FORBIDDEN = {"\n": "a line break", "\r": "a line break", "\0": "a NUL character"}


def hiding_character(text: str) -> str | None:
    """The first character in ``text`` that hides what it says, or None.

    These are controls, line ends, signs that turn the direction of writing, and halves of characters.
    """
    found = _HIDING.search(text)
    return found.group() if found is not None else None


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


def size_text(size_bytes: int | None) -> str:
    """``1.8 GB``; "unknown size" for None."""
    if size_bytes is None:
        return "unknown size"
    value = float(size_bytes)
    for unit in ("B", "kB", "MB"):
        if value < 1000:  # noqa: PLR2004 - decimal units, as indexes show them
            return f"{value:.0f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
