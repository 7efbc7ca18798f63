"""conda packages as locks hold them: which file of which channel, with its hash, and what it depends on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envkit.model.addresses import checked_index_address
from envkit.model.fields import Fields
from envkit.model.yamltext import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from envkit.model.yamltext import Path, YamlDocument

_KEYS = {
    "name",
    "version",
    "build",
    "channel",
    "subdir",
    "file",
    "sha256",
    "size",
    "md5",
    "build_number",
    "depends",
    "constrains",
    "noarch",
    "timestamp",
    "track_features",
    "python_site_packages_path",
    "license",
    "requested",
}
_SHA256_DIGITS = 64
_MD5_DIGITS = 32
_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?", re.ASCII)
_VERSION = re.compile(r"[A-Za-z0-9._+!~-]+", re.ASCII)
_BUILD = re.compile(r"[A-Za-z0-9._+-]+", re.ASCII)
_SUBDIR = re.compile(r"noarch|[a-z0-9]+-[a-z0-9_]+", re.ASCII)
_CHANNEL = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*", re.ASCII)
_ARCHIVES = (".conda", ".tar.bz2")


@dataclass(frozen=True, slots=True)
class CondaRecord:
    """One package of a conda channel; the fields are those of a channel's index.

    Source: https://docs.conda.io/projects/conda-build/en/stable/resources/package-spec.html#info-index-json

    Attributes:
        name, version, build: what ``conda list`` shows.
        channel: as a spec names it: "conda-forge", or an address without credentials, subdir and slash at the end.
        subdir: "linux-64", "noarch".
        file: the archive's name.
        sha256: 64 hexadecimal digits, of the archive.
        size: of the archive in bytes, or None where it is not known.
        md5: of the archive; conda's own explicit lists name it.
        build_number: decides between builds of one version.
        depends, constrains: MatchSpecs.
        noarch: "python", "generic" or None.
        timestamp: when it was built, milliseconds since 1970, or None.
        track_features: features that keep a package from being chosen by itself.
        python_site_packages_path: of a Python package, where its site-packages are, if it says so (CEP 17).
        license: as the package states it.
        requested: the MatchSpec that asked for it, or None where it is a dependency.
    """

    name: str
    version: str
    build: str
    channel: str
    subdir: str
    file: str
    sha256: str
    size: int | None = None
    md5: str | None = None
    build_number: int = 0
    depends: tuple[str, ...] = ()
    constrains: tuple[str, ...] = ()
    noarch: str | None = None
    timestamp: int | None = None
    track_features: tuple[str, ...] = ()
    python_site_packages_path: str | None = None
    license: str | None = None
    requested: str | None = None

    @property
    def identity(self) -> list[str]:
        """What decides which bytes are installed."""
        return [self.channel, self.subdir, self.file, self.sha256]

    def to_dict(self) -> dict[str, Any]:
        """The record as it stands in a lock; what is empty is left out."""
        entry: dict[str, Any] = {
            "name": self.name,
            "version": self.version,
            "build": self.build,
            "channel": self.channel,
            "subdir": self.subdir,
            "file": self.file,
            "sha256": self.sha256,
            "size": self.size,
            "md5": self.md5,
            "build_number": self.build_number or None,
            "depends": list(self.depends),
            "constrains": list(self.constrains) or None,
            "noarch": self.noarch,
            "timestamp": self.timestamp,
            "track_features": list(self.track_features) or None,
            "python_site_packages_path": self.python_site_packages_path,
            "license": self.license,
            "requested": self.requested,
        }
        return {key: value for key, value in entry.items() if value is not None}

    @classmethod
    def from_dict(cls, entry: Mapping[str, Any]) -> CondaRecord:
        """The record of such a mapping, as py-rattler's side gives it; files are read by ``conda_record``."""
        values = {key: value for key, value in entry.items() if key in _KEYS}
        for key in ("depends", "constrains", "track_features"):
            values[key] = tuple(values.get(key) or ())
        values["build_number"] = values.get("build_number") or 0
        return cls(**values)


def conda_record(document: YamlDocument, path: Path) -> CondaRecord:
    """The record at ``path`` of a lock; its parts go into addresses and paths, so each is checked.

    Raises:
        InvalidFileError: a part is missing or no such thing, or the file is another package's.
    """
    fields = Fields(document, path, _KEYS)
    record = CondaRecord(
        name=_matching(fields, "name", _NAME, "name of a conda package"),
        version=_matching(fields, "version", _VERSION, "version of a conda package"),
        build=_matching(fields, "build", _BUILD, "build of a conda package"),
        channel=channel(fields, "channel"),
        subdir=_matching(fields, "subdir", _SUBDIR, "subdir of a channel"),
        file=fields.text("file"),
        sha256=_digits(fields, "sha256", _SHA256_DIGITS),
        size=fields.optional_integer("size"),
        md5=_digits(fields, "md5", _MD5_DIGITS) if fields.optional_text("md5") is not None else None,
        build_number=fields.optional_integer("build_number") or 0,
        depends=fields.texts("depends"),
        constrains=fields.texts("constrains"),
        noarch=fields.optional_text("noarch"),
        timestamp=fields.optional_integer("timestamp"),
        track_features=fields.texts("track_features"),
        python_site_packages_path=fields.optional_text("python_site_packages_path"),
        license=_license(fields),
        requested=fields.optional_text("requested"),
    )
    if record.file not in {f"{record.name}-{record.version}-{record.build}{end}" for end in _ARCHIVES}:
        raise fields.error(
            "file",
            f"file: {record.file!r} is not {record.name}-{record.version}-{record.build}.conda or .tar.bz2.",
            why="A lock says exactly which file gives a package.",
            hint="Make the lock again with `envkit lock`.",
        )
    if record.noarch not in {None, "python", "generic"}:
        raise fields.error("noarch", f"noarch: {record.noarch!r} is neither python nor generic.")
    place = record.python_site_packages_path
    if place is not None and (place.startswith(("/", "\\")) or ".." in place or ":" in place):
        raise fields.error("python_site_packages_path", f"python_site_packages_path: {place!r} leads out of a prefix.")
    return record


def channel(fields: Fields, key: str) -> str:
    """The channel under ``key``: a name as in ``conda-forge`` or ``nvidia/label/cuda-11.3.0``, or an address.

    Raises:
        InvalidFileError: it is neither, or holds credentials.
    """
    return channel_text(fields, key, fields.text(key), (*fields.path, key))


def channels(fields: Fields) -> tuple[str, ...]:
    """The channels under ``channels``, by priority; none where the key is absent.

    Raises:
        InvalidFileError: one is no channel, or is named twice.
    """
    names = fields.texts("channels")
    for index, name in enumerate(names):
        if name in names[:index]:
            raise fields.document.error((*fields.path, "channels", index), f"channels: {name} is named twice.")
    return tuple(
        channel_text(fields, "channels", name, (*fields.path, "channels", index)) for index, name in enumerate(names)
    )


def channel_text(fields: Fields, key: str, text: str, path: Path) -> str:
    """A channel's name or address, ``text``, which stands at ``path``.

    Raises:
        InvalidFileError: it is neither, or holds credentials.
    """
    if "://" in text:
        return checked_index_address(fields.document, path, key, text).rstrip("/")
    if _CHANNEL.fullmatch(text) is None or ".." in text:
        raise fields.document.error(
            path,
            f"{key}: {text!r} is no channel.",
            hint="Write a name as in conda-forge, or an address as in https://HOST/PATH.",
        )
    return text


def _matching(fields: Fields, key: str, pattern: re.Pattern[str], what: str) -> str:
    text = fields.text(key)
    if pattern.fullmatch(text) is None or ".." in text:
        raise fields.error(key, f"{key}: {text!r} is no {what}.")
    return text


def _digits(fields: Fields, key: str, count: int) -> str:
    text = fields.text(key)
    if len(text) != count or set(text) - set("0123456789abcdef"):
        raise fields.error(key, f"{key}: {text!r} is not {count} hexadecimal digits in lower case.")
    return text


def _license(fields: Fields) -> str | None:
    """Free text; some packages leave it empty."""
    value = plain(fields.document.at((*fields.path, "license"))) if "license" in fields else None
    return value if isinstance(value, str) and value.strip() else None
