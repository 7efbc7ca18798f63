"""What people read of the CUDA toolkits on their machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.cli.render import table
from envkit.model.texts import hiding_character

if TYPE_CHECKING:
    from envkit.model.toolkit import Cudnn, Toolkit
    from envkit.operations.toolkit_list import ListedToolkit, ToolkitList
    from envkit.operations.toolkits import AddedToolkit

_NONE = (
    "No CUDA toolkit was found. `envkit cuda install V` installs one without root; "
    "`envkit cuda add DIR` tells envkit of one."
)


def toolkit_lines(result: ToolkitList) -> list[str]:
    """The table of toolkits, and below it what is odd."""
    rows = [
        (
            item.toolkit.version or "?",
            _state(item),
            _cudnn(item.toolkit.cudnn),
            item.toolkit.found_via,
            str(item.toolkit.path),
        )
        for item in result.toolkits
    ]
    lines = table(("VERSION", "STATE", "CUDNN", "FOUND VIA", "PATH"), rows) if rows else [_NONE]
    return [_shown(line) for line in (*lines, *(f"Note ({note.found_via}): {note.message}" for note in result.notes))]


def added_lines(result: AddedToolkit) -> list[str]:
    """What was added."""
    toolkit = result.toolkit
    word = "Added" if result.is_new else "Already in the list:"
    partial = f", a partial one: {toolkit.lacks()}" if not toolkit.is_complete else ""
    return [f"{word} CUDA {toolkit.version or '?'} in {toolkit.path}{partial}."]


def _state(item: ListedToolkit) -> str:
    toolkit: Toolkit = item.toolkit
    words = [word for word, holds in (("active", item.is_active), ("default", item.is_default)) if holds]
    if not toolkit.is_complete:
        words.append(f"partial: {toolkit.lacks()}")
    if not toolkit.is_shared:
        words.append("of an environment")
    return ", ".join(words)


def _cudnn(cudnn: Cudnn | None) -> str:
    if cudnn is None:
        return ""
    version = cudnn.version or "?"
    return f"{version} (no {', '.join(cudnn.missing)})" if cudnn.missing else version


def _shown(line: str) -> str:
    """A line without characters that would hide what it says: a folder may have any name."""
    return "".join(ascii(letter)[1:-1] if hiding_character(letter) else letter for letter in line)
