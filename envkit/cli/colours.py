"""Colours on a terminal, none where ``NO_COLOR`` is set (https://no-color.org); click keeps them out of files."""

from __future__ import annotations

import os

import click


def paint(text: str, colour: str, *, bold: bool = False) -> str:
    """``text`` in a colour of the terminal."""
    if os.environ.get("NO_COLOR"):
        return text
    return click.style(text, fg=colour, bold=bold or None)
