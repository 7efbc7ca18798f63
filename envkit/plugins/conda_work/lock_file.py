"""Reading a lock of envkit for conda: which packages, from which channel, with which hash (docs/spec-and-lock.md)."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Any

SCHEMA = 1
_HEAD = ("schema", "spec", "installer", "platforms")
_PART = r"[A-Za-z0-9_][A-Za-z0-9._+!~-]*"
_TEXT = {
    "name": re.compile(_PART),
    "version": re.compile(_PART),
    "build": re.compile(_PART),
    "subdir": re.compile(r"noarch|[a-z0-9]+-[a-z0-9_]+"),
    "sha256": re.compile(r"[0-9a-f]{64}"),
    "channel": re.compile(r"(?:https?://|file:///)\S+|[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*"),
}
_OUTSIDE = re.compile(r"^(?:[/\\]|[A-Za-z]:)|(?:^|[/\\])\.\.(?:[/\\]|$)")
_ENDS = (".conda", ".tar.bz2")
_COPIED = ("size", "build_number", "timestamp")
_LISTS = ("depends", "constrains", "track_features")


class LockProblemError(Exception):
    """conda cannot make an environment from this file. The text says why, and what to do."""


@dataclass(frozen=True)
class CondaLock:
    """A lock with installer conda.

    Attributes:
        path: as the user named it.
        platforms: the entries of each platform, as they stand in the file.
    """

    path: str
    platforms: dict[str, list[Any]]

    def packages(self, platform: str) -> list[dict[str, Any]]:
        """The records of one platform, checked; ``channel`` is the lock's word for it, ``fn`` the file.

        Raises:
            LockProblemError: an entry is no record of a conda package, or there is none for that platform.
        """
        entries = self.platforms.get(platform)
        if not entries:
            known = ", ".join(self.platforms) or "none"
            raise LockProblemError(f"{self.path} holds no packages for {platform}. It holds: {known}.")
        records = [self._record(entry, number) for number, entry in enumerate(entries, 1)]
        names = [record["name"] for record in records]
        for name in names:
            if names.count(name) > 1:
                raise LockProblemError(f"{self.path}: {name} is locked twice for {platform}.")
        return records

    def _record(self, entry: object, number: int) -> dict[str, Any]:
        if not isinstance(entry, dict):
            raise self._problem(number, "it is no mapping")
        record: dict[str, Any] = {}
        for key, pattern in _TEXT.items():
            value = entry.get(key)
            if not isinstance(value, str) or pattern.fullmatch(value) is None or ".." in value:
                raise self._problem(number, f"its {key} is {value!r}")
            record[key] = str(value)
        stem = "-".join(record[key] for key in ("name", "version", "build"))
        if entry.get("file") not in [stem + end for end in _ENDS]:
            raise self._problem(number, f"its file is {entry.get('file')!r} and not {stem}.conda")
        record["fn"] = str(entry["file"])
        record |= {key: int(entry[key]) for key in _COPIED if isinstance(entry.get(key), int)}
        record.setdefault("build_number", 0)
        record |= {key: [str(item) for item in entry.get(key) or ()] for key in _LISTS}
        for key in ("md5", "noarch", "license", "python_site_packages_path"):
            if isinstance(entry.get(key), str):
                record[key] = str(entry[key])
        if _OUTSIDE.search(record.get("python_site_packages_path", "")):
            raise self._problem(number, "it wants packages of Python outside of the environment")
        return record

    def _problem(self, number: int, what: str) -> LockProblemError:
        return LockProblemError(
            f"{self.path}: package {number} is no record of a conda package: {what}.\n"
            "Make the lock again with `envkit lock`."
        )


def looks_like_lock(text: str) -> bool:
    """Whether a file's text is a lock of envkit, of either installer; cheap, since conda asks it of every file."""
    return all(re.search(rf"^{key}:", text, re.MULTILINE) for key in _HEAD)


def read_lock(data: object, path: str) -> CondaLock:
    """A lock from what a YAML reader made of its text.

    Raises:
        LockProblemError: conda cannot install it.
    """
    if not isinstance(data, dict) or not isinstance(data.get("platforms"), dict):
        raise LockProblemError(f"{path} is no lock of envkit.")
    schema, installer = data.get("schema"), data.get("installer")
    if schema != SCHEMA:
        raise LockProblemError(f"{path} has schema {schema}, this plugin reads {SCHEMA}. Update conda-envkit.")
    if installer == "pip":
        raise LockProblemError(
            f"{path} is a lock for the installer pip: conda would run pip without the hashes in it.\n"
            f"Use envkit: `envkit restore {shlex.quote(path)}`."
        )
    if installer != "conda":
        raise LockProblemError(f"{path}: the installer is {installer!r}, neither conda nor pip.")
    platforms = {}
    for name, platform in data["platforms"].items():
        parts = [platform.get(key) or [] for key in ("packages", "base")] if isinstance(platform, dict) else []
        if not all(isinstance(part, list) for part in parts):
            raise LockProblemError(f"{path}: the packages for {name} are no list.")
        platforms[str(name)] = [entry for part in parts for entry in part]
    return CondaLock(path, platforms)
