"""Typed reading of the JSON files that envkit writes and somebody may have changed."""

from __future__ import annotations

import json
from typing import Any

from envkit.model.texts import hiding_character


class JsonObject:
    """A JSON object; each getter takes the key and checks the type, and raises ValueError.

    Attributes:
        values: what it holds.
    """

    def __init__(self, values: object) -> None:
        if not isinstance(values, dict):
            raise ValueError("no JSON object")  # noqa: TRY004 - as for all that json refuses
        self.values: dict[str, Any] = values

    @classmethod
    def parse(cls, text: str) -> JsonObject:
        """Read a JSON text that is an object."""
        try:
            return cls(json.loads(text))
        except RecursionError:
            raise ValueError("nested too deeply") from None

    def schema(self) -> int:
        """The number under ``schema``."""
        value = self.values.get("schema")
        if not isinstance(value, int) or isinstance(value, bool):
            raise _wrong("schema", value)
        return value

    def text(self, key: str) -> str:
        """A text, perhaps empty."""
        value = self.values.get(key)
        if not isinstance(value, str) or hiding_character(value) is not None:
            raise _wrong(key, value)
        return value

    def optional_text(self, key: str) -> str | None:
        """The same, or None where the key is absent or null."""
        return None if self.values.get(key) is None else self.text(key)

    def file_name(self, key: str) -> str:
        """A text that becomes part of a path: no path itself."""
        return checked_file_name(self.text(key))

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        value = self.values.get(key)
        if not isinstance(value, list):
            raise _wrong(key, value)
        return tuple(JsonObject({key: item}).text(key) for item in value)

    def flag(self, key: str, *, default: bool | None = None) -> bool:
        """True or false."""
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            raise _wrong(key, value)
        return value

    def inner(self, key: str) -> JsonObject:
        """An object in this one."""
        try:
            return JsonObject(self.values.get(key))
        except ValueError:
            raise _wrong(key, self.values.get(key)) from None


def checked_file_name(text: str) -> str:
    """``text`` itself, when it can name a file in a folder and nothing outside of it; else ValueError."""
    if text in {"", ".", ".."} or "/" in text or "\\" in text:
        raise ValueError(f"{text!a} is no name of a file")
    return text


def _wrong(key: str, value: object) -> ValueError:
    return ValueError(f"{key} cannot be {ascii(value)[:100]}")
