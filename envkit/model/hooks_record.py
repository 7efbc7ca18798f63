"""What envkit notes in a prefix that it did not make, so that its hooks can be taken out without a trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envkit.errors import UPDATE, InvalidFileError
from envkit.model.environment import recorded_toolkit
from envkit.model.jsontext import JsonObject

if TYPE_CHECKING:
    from envkit.model.toolkit import Toolkit

SCHEMA = 1
HOOKS_RECORD = ".envkit/hooks.json"
"""Where the record lies, in its prefix."""
FOLDERS = ("etc", "etc/conda", "etc/conda/activate.d", "etc/conda/deactivate.d")
"""The folders of hooks, each before those that are in it."""


@dataclass(frozen=True, slots=True)
class HooksRecord:
    """The hooks of a prefix that envkit did not make.

    Attributes:
        toolkit: what activation switches to.
        folders: those of ``FOLDERS`` that were made for the hooks.
        has_cleanup: whether the prefix had the hook of ``envkit hooks clean-all``, in whose place these are.
    """

    toolkit: Toolkit
    folders: tuple[str, ...]
    has_cleanup: bool = False

    def to_json(self) -> dict[str, Any]:
        """The content of ``.envkit/hooks.json``."""
        return {
            "schema": SCHEMA,
            "toolkit": self.toolkit.to_json() | {"has_nvcc": self.toolkit.has_nvcc},
            "folders": list(self.folders),
            "has_cleanup": self.has_cleanup,
        }


def parse_hooks_record(text: str, source: str) -> HooksRecord:
    """Read the record of hooks.

    Args:
        text: the file's content.
        source: the file as messages name it.

    Raises:
        InvalidFileError: it is none, or one of a newer envkit.
    """
    try:
        record = JsonObject.parse(text)
        schema = record.schema()
        if schema > SCHEMA:
            raise InvalidFileError(
                source, f"the record has schema {schema}, this envkit reads up to {SCHEMA}.", hint=UPDATE
            )
        return _hooks_record(record)
    except ValueError as error:
        raise InvalidFileError(
            source,
            "the record of the hooks cannot be read.",
            why=f"{type(error).__name__}: {error}",
            hint="`envkit hooks remove DIR` takes the hooks out all the same; `envkit hooks install DIR --toolkit V` "
            "writes them and the record again.",
        ) from error


def _hooks_record(record: JsonObject) -> HooksRecord:
    folders = record.texts("folders")
    if not set(folders) <= set(FOLDERS):  # they are going to be removed
        raise ValueError(f"folders cannot be {ascii(folders)[:100]}")
    return HooksRecord(recorded_toolkit(record.inner("toolkit")), folders, record.flag("has_cleanup", default=False))
