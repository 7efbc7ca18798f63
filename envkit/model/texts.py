"""Characters that no text in envkit's files may hold."""

from __future__ import annotations

import re

_HIDING = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def hiding_character(text: str) -> str | None:
    """The first character in ``text`` that hides what it says, or None.

    These are controls, line ends, signs that turn the direction of writing, and halves of characters.
    """
    found = _HIDING.search(text)
    return found.group() if found is not None else None
