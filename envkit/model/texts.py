"""Characters that no text in envkit's files may hold, and how a size is written."""

from __future__ import annotations

import re

_HIDING = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def hiding_character(text: str) -> str | None:
    """The first character in ``text`` that hides what it says, or None.

    These are controls, line ends, signs that turn the direction of writing, and halves of characters.
    """
    found = _HIDING.search(text)
    return found.group() if found is not None else None


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
