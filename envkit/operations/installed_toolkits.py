"""The toolkits that envkit has installed: where they lie, and what their records say."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from envkit import paths
from envkit.errors import InvalidFileError
from envkit.model.toolkit_record import RECORD, ToolkitRecord, parse_toolkit_record

if TYPE_CHECKING:
    from pathlib import Path

_PREFIX = "cuda-"


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


def installed_toolkits() -> dict[Path, ToolkitRecord]:
    """The records of all installed toolkits, by folder; damaged ones are left out, links too."""
    found = {}
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(paths.toolkits_dir()) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
                with suppress(InvalidFileError):
                    record = read_toolkit_record(paths.toolkits_dir() / entry.name)
                    if record is not None:
                        found[paths.toolkits_dir() / entry.name] = record
    return found
