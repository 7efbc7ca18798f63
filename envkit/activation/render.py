"""Fill the placeholders of hook templates.

A template is a working file of its shell but for ``@NAME@``: an *identifier* is part of a variable's name and checked;
a *value* stands alone, outside quotes, and becomes text quoted for that shell (several values: several words).
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_PLACEHOLDER = re.compile(rb"@([A-Z_]+)@")
_IDENTIFIER = re.compile(r"[A-Z_]+")


def render(
    template: bytes,
    *,
    identifiers: Mapping[str, str],
    values: Mapping[str, Sequence[str]],
    quote: Callable[[str], str],
) -> bytes:
    """The template with every placeholder filled in one pass, so that a value may itself look like a placeholder.

    Raises:
        ValueError: an identifier is none, or the template has a placeholder without a value.
    """
    filled: dict[bytes, bytes] = {}
    for name, identifier in identifiers.items():
        if not _IDENTIFIER.fullmatch(identifier):
            raise ValueError(f"{identifier!r} is no identifier")
        filled[name.encode()] = identifier.encode()
    for name, words in values.items():
        filled[name.encode()] = b" ".join(os.fsencode(quote(word)) for word in words)

    def _fill(match: re.Match[bytes]) -> bytes:
        if match[1] not in filled:
            raise ValueError(f"the template has an unknown placeholder {match[0].decode()}")
        return filled[match[1]]

    return _PLACEHOLDER.sub(_fill, template)
