"""The folders that the user has added by ``envkit cuda add``."""

from __future__ import annotations

import os
from pathlib import Path

from envkit.errors import InvalidFileError, StorageError
from envkit.paths import toolkits_dir

SCHEMA = 1
_MEND = "Delete the file, and add your toolkits again: `envkit cuda add DIR`."


def added_file() -> Path:
    """The list: ``{schema: 1, toolkits: [absolute folders]}``."""
    return toolkits_dir() / "added.yaml"


def read_added() -> tuple[Path, ...]:
    """The folders in the list, whether or not they are there; no file is an empty list.

    Raises:
        InvalidFileError: it is damaged; says what to do.
        StorageError: it must not be read.
    """
    file = added_file()
    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, UnicodeDecodeError) as error:
        damaged = InvalidFileError(str(file), f"the list of toolkits cannot be read: {error}.", hint=_MEND)
        storage = StorageError.from_os_error(error) if isinstance(error, OSError) else None
        raise storage or damaged from error
    try:
        return _parsed(text, str(file))
    except InvalidFileError as error:
        error.hint = error.hint or _MEND
        raise


def _parsed(text: str, source: str) -> tuple[Path, ...]:
    from envkit.model.fields import Fields  # noqa: PLC0415 - most users have added none, and start-up counts
    from envkit.model.yamltext import parse_yaml  # noqa: PLC0415

    fields = Fields(parse_yaml(text, source), (), {"schema", "toolkits"})
    fields.schema(SCHEMA)
    folders = fields.texts("toolkits")
    for folder in folders:
        if not os.path.isabs(folder):  # noqa: PTH117 - text
            raise fields.error("toolkits", f"toolkits: {folder!r} is no absolute path.")
    return tuple(map(Path, dict.fromkeys(folders)))
