"""Typed reading of the fields of a YAML mapping, with errors that name file, line, value and the nearest known key."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

from envkit.errors import UPDATE
from envkit.model.texts import hiding_character
from envkit.model.yamltext import RawNumber

if TYPE_CHECKING:
    from collections.abc import Collection

    from envkit.errors import InvalidFileError
    from envkit.model.yamltext import Path, YamlDocument

VERSION = re.compile(r"\d+(\.\d+)+", re.ASCII)
MAXIMUM_TEXT = 4000
"""Characters of one text; no name or address is as long, and Python turns digits into a number up to 4,300 of them."""
MAXIMUM_INTEGER = 2**63 - 1


class Fields:
    """One mapping of a document; each getter takes the key and checks the type."""

    def __init__(self, document: YamlDocument, path: Path, known: Collection[str]) -> None:
        self.document = document
        self.path = path
        value: Any = document.at(path)
        if not isinstance(value, dict):
            raise document.error(path, f"expected a mapping here, found {describe(value)}.")
        self._values = value
        for key in value:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
                hint = f"Did you mean {near[0]!r}?" if near else f"Known keys: {', '.join(sorted(known))}."
                raise self.error(key, f"unknown key {key!r}.", hint=hint)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def error(self, key: str, problem: str, *, why: str | None = None, hint: str | None = None) -> InvalidFileError:
        """An error about the value of ``key``."""
        return self.document.error((*self.path, key), problem, why=why, hint=hint)

    def required(self, key: str) -> Any:  # noqa: ANN401 - any YAML value
        """The value of ``key``, which must be there."""
        if key not in self._values:
            raise self.document.error(self.path, f"the key {key!r} is missing.")
        return self._values[key]

    def text(self, key: str) -> str:
        """A string that is not empty; a YAML number is refused with the reason."""
        return self._text(key, self.required(key), (*self.path, key))

    def optional_text(self, key: str) -> str | None:
        """The same, or None where the key is absent or null."""
        return self.text(key) if self._values.get(key) is not None else None

    def note(self, key: str) -> str | None:
        """Text for people, whose line ends are blanks; None where the key is absent or null."""
        value = self._values.get(key)
        if isinstance(value, str):
            value = " ".join(value.split())
        return self._text(key, value, (*self.path, key)) if value is not None else None

    def version(self, key: str) -> str:
        """A version such as "3.9" or "11.3.1"."""
        value = self.text(key)
        if VERSION.fullmatch(value) is None:
            raise self.error(key, f"{key}: {value!r} is no version.", hint=f'Write it as in {key}: "11.3".')
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; empty where the key is absent."""
        value = self._values.get(key)
        if value is None:
            return ()
        if not isinstance(value, list):
            raise self.error(key, f"{key}: expected a list, found {describe(value)}.", hint=f"Write {key}: [a, b].")
        return tuple(self._text(key, item, (*self.path, key, index)) for index, item in enumerate(value))

    def flag(self, key: str, *, default: bool = False) -> bool:
        """True or false; ``default`` where the key is absent."""
        value = self._values.get(key, default)
        if not isinstance(value, bool):
            raise self.error(key, f"{key}: expected true or false, found {describe(value)}.")
        return value

    def optional_integer(self, key: str) -> int | None:
        """A whole number that is not negative, or None where the key is absent or null."""
        value = self._values.get(key)
        if value is not None and (not is_whole(value)):
            raise self.error(key, f"{key}: expected a whole number, found {describe(value)}.")
        return value

    def items(self, key: str) -> list[tuple[Path, Any]]:
        """Paths and values of a list's elements; empty where the key is absent."""
        value = self._values.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.error(key, f"{key}: expected a list, found {describe(value)}.")
        return [((*self.path, key, index), item) for index, item in enumerate(value)]

    def schema(self, newest: int) -> int:
        """The ``schema`` number, which must be one that this envkit reads."""
        value = self.required("schema")
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self.error("schema", f"schema: expected a number from 1 to {newest}, found {describe(value)}.")
        if value > newest:
            raise self.error(
                "schema",
                f"the file has schema {value}, this envkit reads up to {newest}.",
                why="It was written for a newer envkit.",
                hint=UPDATE,
            )
        return value

    def _text(self, key: str, value: object, path: Path) -> str:
        if is_number(value):
            raise number_error(self.document, path)
        if not isinstance(value, str) or not value.strip():
            raise self.document.error(path, f"{key}: expected text, found {describe(value)}.")
        if len(value) > MAXIMUM_TEXT:
            raise self.document.error(path, f"{key}: the text is longer than {MAXIMUM_TEXT} characters.")
        if hiding := hiding_character(value):
            raise self.document.error(path, f"{key}: the text holds a control character, {hiding!a}.")
        return value


def is_whole(value: object) -> bool:
    """Whether a value is a whole number that is not negative and no larger than any size."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAXIMUM_INTEGER


def is_number(value: object) -> bool:
    """Whether YAML read a value as a number."""
    return isinstance(value, RawNumber) or (isinstance(value, int) and not isinstance(value, bool))


def number_error(document: YamlDocument, path: Path) -> InvalidFileError:
    """The error about a number where a version or name must stand."""
    written = document.written(path)
    key = next((step for step in reversed(path) if isinstance(step, str)), "the value")
    return document.error(
        path,
        f"{key}: {written} is a YAML number; a version or name must be quoted text.",
        why="YAML reads 3.10 as the number 3.1, so a number cannot be told from another version.",
        hint=f'Write {key}: "{written}".' if path[-1] == key else f'Write it in quotes: "{written}".',
    )


def describe(value: object) -> str:
    """What a YAML value is, for messages."""
    if value is None:
        return "nothing"
    if isinstance(value, RawNumber):
        return f"the number {value.text}"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if len(repr(value)) <= 200 else f"{repr(value)[:200]}..."  # noqa: PLR2004 - a line or two


def build_cuda(fields: Fields) -> str | None:
    """The key ``cuda``: a build CUDA, or None for ``cpu``."""
    value = fields.text("cuda")
    if value == "cpu":
        return None
    if re.fullmatch(r"\d+\.\d", value, re.ASCII) is None:
        raise fields.error(
            "cuda", f"cuda: {value!r} is no build CUDA.", hint='Write cuda: "11.3" (major and minor), or cuda: cpu.'
        )
    return value


def toolkit_release(fields: Fields, cuda: str | None) -> str | None:
    """The key ``toolkit``: a release, None for ``none``, and ``cuda`` where it is left out."""
    value = fields.optional_text("toolkit")
    if value is None:
        return cuda
    if value != "none" and VERSION.fullmatch(value) is None:
        raise fields.error("toolkit", f"toolkit: {value!r} is no release.", hint='Write toolkit: "11.3" or none.')
    return None if value == "none" else value
