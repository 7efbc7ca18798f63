"""Reading TOML, which Python's own library does from 3.11 on."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    from tomllib import TOMLDecodeError, loads
else:
    from tomli import TOMLDecodeError, loads

__all__ = ["TOMLDecodeError", "parse_toml"]


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text.

    Raises:
        TOMLDecodeError: broken TOML.
    """
    tables: dict[str, Any] = loads(text)
    return tables
