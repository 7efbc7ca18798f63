"""Text that fits a terminal: paragraphs with a margin, and long cells cut."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap

_WIDTH = 100
"""Where there is no terminal."""
_LEAST = 60
_LEFT_OF_PATH = 12
_GLUE = "\x00"


def terminal_width() -> int:
    """Columns of the terminal that stdout is, or of a page where it is none."""
    if not sys.stdout.isatty():
        return _WIDTH
    return max(shutil.get_terminal_size((_WIDTH, 24)).columns, _LEAST)


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """A paragraph; what stands between backticks is a command and stays on one line."""
    glued = re.sub(r"`[^`]+`", lambda found: found[0].replace(" ", _GLUE), text)
    lines = textwrap.wrap(
        glued,
        width,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_GLUE, " ") for line in lines]


def cut(text: str, width: int) -> str:
    """``text`` in at most ``width`` characters: a long path loses its middle, other text its end."""
    if len(text) <= width:
        return text
    path = max((word for word in text.split() if re.search(r"[/\\]", word)), key=len, default="")
    left = len(path) - (len(text) - width) - 3
    if left >= _LEFT_OF_PATH:
        return text.replace(path, f"{path[: left // 2]}...{path[len(path) - (left - left // 2) :]}", 1)
    return f"{text[: width - 4].rstrip()} ..."
