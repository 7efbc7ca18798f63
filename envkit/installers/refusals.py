"""Files that keep one installer out of a conda prefix that belongs to the other: pip and uv, or conda, read them.

pip and uv refuse where ``EXTERNALLY-MANAGED`` lies in the folder of the standard library (PEP 668); conda refuses where
``conda-meta/frozen`` lies (CEP 22). Both show the text in there. What mamba, pixi and py-rattler do is not held up by
either, and is found by ``installers/mixing.py``.

Sources: https://packaging.python.org/en/latest/specifications/externally-managed-environments/
https://github.com/conda/ceps/blob/main/cep-0022.md
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MARKER = "EXTERNALLY-MANAGED"
FROZEN = "conda-meta/frozen"
_MADE_BY = "# Made by envkit"
_OWNER = "envkit made this environment"
"""How our text begins; a file without it is somebody else's."""
_LIMIT_BYTES = 1 << 16

_FOR_PIP = """\
{owner}, from conda packages alone: pip and uv would write over files
that conda has recorded, and no lock could bring that back.

To add a package (from its channels):
    envkit add {word} PACKAGE
To work on your own project in it:
    envkit add {word} -e .
For another version of what is in there, make another environment:
    envkit create SPEC

`envkit verify {word}` reports what gets in anyway, as with --break-system-packages.
"""
_FOR_CONDA = """\
{owner} with pip: of conda it has Python and what that needs, and nothing else.
conda would write over files of pip's, and no lock could bring that back.

To add a package (from the package index):
    envkit add {word} PACKAGE
For another Python, or packages from conda's channels, make another environment:
    envkit create SPEC

`envkit verify {word}` reports what gets in anyway, as with --override-frozen.
"""


def refusals(prefix: Path, installer: str, word: str) -> dict[Path, bytes]:
    """The files that keep out whoever is not ``installer``, and what they hold.

    Args:
        prefix: a conda prefix, with Python in it.
        installer: "conda" or "pip": whose environment it is.
        word: what the user types for it.
    """
    if installer == "pip":
        message = _FOR_CONDA.format(owner=_OWNER, word=word)
        return {prefix / FROZEN: (json.dumps({"message": message}, ensure_ascii=False) + "\n").encode()}
    lines = _FOR_PIP.format(owner=_OWNER, word=word).splitlines()
    text = "\n".join(
        [f"{_MADE_BY}; `envkit hooks install` writes it again.", "[externally-managed]", "Error=" + lines[0]]
    )
    text += "".join(f"\n {line}" for line in lines[1:]) + "\n"  # a line that begins with a blank continues
    return {folder / MARKER: text.encode() for folder in stdlib_folders(prefix)}


def stdlib_folders(prefix: Path) -> tuple[Path, ...]:
    """The folders of a prefix that hold a standard library: one, and more where Python's minor version changed.

    conda-forge's Python has the link ``lib/python3.1`` beside its folder, for programs that cut the version short.
    """
    if os.name == "nt":
        found = [prefix / "Lib"]
    else:
        found = sorted(folder for folder in prefix.glob("lib/python3.*") if not folder.is_symlink())
    return tuple(folder for folder in found if (folder / "os.py").is_file())


def own_refusals(prefix: Path) -> Iterator[Path]:
    """The files of this kind in ``prefix`` that are envkit's, also in a folder that Python has left."""
    places = [*prefix.glob(f"lib/python3.*/{MARKER}"), prefix / "Lib" / MARKER, prefix / FROZEN]
    return (path for path in places if not path.parent.is_symlink() and is_own(path))


def is_own(path: Path) -> bool:
    """Whether such a file is one that envkit has written."""
    text = read_text(path)
    if text is None:
        return False
    if path.name == MARKER:
        return text.startswith(_MADE_BY)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return False
    message = content.get("message") if isinstance(content, dict) else None
    return isinstance(message, str) and message.startswith(_OWNER)


def read_text(path: Path) -> str | None:
    """What a small file holds; None where there is none, or something else in its place."""
    try:
        if not path.is_file() or path.stat().st_size > _LIMIT_BYTES:
            return None
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
