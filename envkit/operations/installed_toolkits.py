"""The toolkits that envkit has installed: where they lie, and what their records say."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING

from envkit import fs, paths
from envkit.errors import InvalidFileError
from envkit.model.cudnn_manifest import FOLDER
from envkit.model.toolkit import RECORD
from envkit.model.toolkit_record import ToolkitRecord, parse_toolkit_record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_PREFIX = "cuda-"
_LIST = f"{FOLDER}/files.json"
"""What envkit has put into an installed toolkit: paths in it, with slashes."""


def toolkit_folder(version: str) -> Path:
    """Where the toolkit of that full version belongs."""
    return paths.toolkits_dir() / f"{_PREFIX}{version}"


def read_toolkit_record(folder: Path) -> ToolkitRecord | None:
    """The record of the toolkit in ``folder``, or None where envkit has installed none there.

    Raises:
        InvalidFileError: the record is damaged.
    """
    try:
        text = (folder / RECORD).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError as error:
        raise InvalidFileError(str(folder / RECORD), "the record is no text.") from error
    return parse_toolkit_record(text, str(folder / RECORD))


def has_toolkit_record(folder: Path) -> bool:
    """Whether envkit has installed the toolkit in ``folder``: it has a record, be it damaged."""
    return (folder / RECORD).is_file()


def installed_folders() -> tuple[Path, ...]:
    """The folders of all installed toolkits, by name; links are none."""
    folder = paths.toolkits_dir()
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        found = [folder / name for name in sorted(names) if name.startswith(_PREFIX)]
        return tuple(item for item in found if has_toolkit_record(item))
    return ()


def version_of(folder: Path) -> str:
    """The full version of the toolkit in one of ``installed_folders``."""
    return folder.name.removeprefix(_PREFIX)


def installed_toolkits() -> tuple[ToolkitRecord, ...]:
    """The records of all installed toolkits; damaged ones are left out."""
    found = []
    for folder in installed_folders():
        with suppress(InvalidFileError):
            found.append(read_toolkit_record(folder))
    return tuple(record for record in found if record is not None)


def list_files(toolkit: Path) -> None:
    """Note which files are in a toolkit that has just been made, so that others can be told from them later."""
    fs.write_text(toolkit / _LIST, json.dumps(sorted(_files(toolkit)), indent=0) + "\n")


def own_files_in(toolkit: Path) -> tuple[str, ...] | None:
    """The user's own files in an installed toolkit, a cuDNN that was put there too; None: there is no list to tell by.

    Python's own ``__pycache__`` is not among them.
    """
    try:
        listed = json.loads((toolkit / _LIST).read_text(encoding="utf-8"))
        known = set(listed)
    except (OSError, ValueError, TypeError):  # a damaged list tells nothing
        return None
    return tuple(sorted(name for name in _files(toolkit) if name not in known and "__pycache__" not in name.split("/")))


def _files(toolkit: Path) -> Iterator[str]:
    """All files and links below a toolkit but envkit's own notes."""
    for folder, folders, files in os.walk(toolkit):
        inside = os.path.relpath(folder, toolkit)
        if inside == ".":
            folders[:] = [name for name in folders if name != FOLDER]
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]  # noqa: PTH114,PTH118 - speed
        for name in (*files, *links):
            yield os.path.normpath(os.path.join(inside, name)).replace(os.sep, "/")  # noqa: PTH118 - likewise
