"""Whether a folder can be the prefix of an environment, by its name and by what is in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from envkit.errors import ExistsError, UsageError
from envkit.model.texts import check_path

if TYPE_CHECKING:
    from pathlib import Path

_ROOM_FOR_PREFIX = 255
"""https://docs.conda.io/projects/conda-build/en/stable/resources/make-relocatable.html"""


def check_place(prefix: Path) -> None:
    """Refuse a folder that activation scripts cannot name, or that holds something else.

    Raises:
        UsageError: the name holds the PATH separator, a line break or NUL.
        ExistsError: there is something that is no environment.
    """
    check_path(str(prefix))
    if any(ord(letter) < ord(" ") or 0xD800 <= ord(letter) < 0xE000 or letter == "\x7f" for letter in str(prefix)):  # noqa: PLR2004
        raise UsageError(
            f"Cannot use the folder {str(prefix)!r}: its name holds a control character or is not UTF-8.",
            hint="Choose another name; spaces, quotes and letters of any language are fine.",
        )
    if os.path.lexists(prefix):
        from envkit.operations import environments  # noqa: PLC0415 - start-up of preflight counts

        if environments.read_environment(prefix) is not None:
            return
    if prefix.is_symlink() or (prefix.exists() and (not prefix.is_dir() or any(prefix.iterdir()))):
        raise ExistsError(
            f"{prefix} holds something that is no environment of envkit.",
            why="envkit never replaces what it did not make, not even with --replace.",
            hint="Choose another place with --prefix DIR or --name N, or move that folder away.",
        )


def check_conda_prefix(prefix: Path) -> None:
    """Refuse a folder that packages of conda cannot work in.

    They hold the path of their prefix. Programs have as much room for it as conda-build leaves them. Scripts whose
    first line would be too long or have a blank are started by py-rattler by a line of the shell, with the path in
    double quotes.

    Raises:
        UsageError: so.
    """
    length = len(os.fsencode(prefix))
    if length > _ROOM_FOR_PREFIX:
        raise UsageError(
            f"The path of a conda environment has at most {_ROOM_FOR_PREFIX} bytes; this one has {length}: {prefix}.",
            why="Programs of conda packages hold the path, and have no room for a longer one.",
            hint="Choose a shorter one with --prefix DIR.",
        )
    if os.name == "posix" and (set(str(prefix)) & set('"$`\\') or "'''" in str(prefix)):
        raise UsageError(
            f"Cannot make a conda environment at {prefix}: scripts of its packages would not start there.",
            why='A line of the shell starts them, which reads ", $, ` and \\ in a path otherwise.',
            hint="Choose another place with --prefix DIR; blanks and letters of any language are fine.",
        )
