"""The parts of a lock that decide what is downloaded and refused, checked when the lock is read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

from envkit.model.addresses import index_address
from envkit.model.fields import Fields, describe
from envkit.model.yamltext import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from envkit.model.yamltext import Path, YamlDocument

KNOWN = ("confirmed", "single", "derived", "unconfirmed", "disputed", "unknown")
"""How well a fact may be known."""
_NAME = re.compile(r"[A-Z0-9](?:[A-Z0-9._-]*[A-Z0-9])?", re.ASCII | re.IGNORECASE)
_PLAIN = re.compile(r"[A-Za-z0-9._+!-]+", re.ASCII)
_MAXIMUM_FILE_NAME = 255
"""Bytes; what file systems allow."""
_PACKAGE_KEYS = {"name", "version", "source", "file", "sha256", "size", "known"}
_SHA256_DIGITS = 64
_RELEASE = re.compile(r"\d+\.\d+", re.ASCII)
_FACTS = {
    "driver": {"minimum", "toolkit", "known"},
    "compute_capability": {"list", "ptx", "known"},
    "glibc": {"minimum", "known"},
}


@dataclass(frozen=True, slots=True)
class LockedPackage:
    """One file of an environment.

    Attributes:
        name: the project's canonical name.
        version: its version, local label included.
        file: name of the wheel (or sdist).
        sha256: 64 hexadecimal digits, or None: the hash that the source states is taken at creation.
        size: in bytes, or None where it is not known.
        source: address of the index it comes from, or None for the user's default index.
        known: how well the hash is known where that is not from the index itself: "single", "confirmed".
    """

    name: str
    version: str
    file: str
    sha256: str | None
    size: int | None = None
    source: str | None = None
    known: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The entry as it stands in a lock file."""
        entry: dict[str, Any] = {"name": self.name, "version": self.version}
        if self.source is not None:
            entry["source"] = self.source
        entry |= {"file": self.file, "sha256": self.sha256}
        if self.size is not None:
            entry["size"] = self.size
        if self.known is not None:
            entry["known"] = self.known
        return entry


def locked_file(fields: Fields) -> tuple[str, str, str]:
    """Canonical name, version and file name of a package entry, which agree with each other.

    They go into requirements and paths, so nothing but what packaging knows as such is taken.

    Raises:
        InvalidFileError: one of them is no such thing, or the file is another project's or version's.
    """
    name, version, file = fields.text("name"), fields.text("version"), fields.text("file")
    if _NAME.fullmatch(name) is None:
        raise fields.error("name", f"name: {name!r} is no name of a package.")
    wanted = _version(version)
    if wanted is None:
        raise fields.error("version", f"version: {version!r} is no version of a package.")
    if "/" in file or "\\" in file:
        raise fields.error("file", f"file: {file!r} is a path; a lock names files only.")
    found = _project_and_version(file)
    if found is None:
        raise fields.error("file", f"file: {file!r} is no name of a wheel or sdist.")
    if found != (canonicalize_name(name), wanted):
        raise fields.error(
            "file",
            f"file: {file!r} is {found[0]} {found[1]}, but the entry says {canonicalize_name(name)} {version}.",
            why="A lock says exactly which file gives a package.",
            hint="Make the lock again with `envkit lock`.",
        )
    return canonicalize_name(name), version, file


def _version(text: str) -> Version | None:
    if _PLAIN.fullmatch(text) is None:
        return None
    try:
        return Version(text)
    except ValueError:
        return None


def _project_and_version(file: str) -> tuple[str, Version] | None:
    if len(file) > _MAXIMUM_FILE_NAME or _PLAIN.fullmatch(file) is None:
        return None
    try:
        if file.endswith(".whl"):
            project, version = parse_wheel_filename(file)[:2]
        else:
            project, version = parse_sdist_filename(file)
    except ValueError:
        return None
    return project, version


def locked_needs(document: YamlDocument, path: Path) -> Mapping[str, Mapping[str, Any]]:
    """The facts under ``needs`` at ``path``: those that envkit judges are checked, others taken as they are.

    Raises:
        InvalidFileError: a fact is no mapping, or a value of it is no version.
    """
    needs = document.at(path)
    if not isinstance(needs, dict) or not all(isinstance(fact, dict) for fact in needs.values()):
        raise document.error(path, f"needs: expected a mapping of facts, found {describe(needs)}.")
    for name, known in _FACTS.items():
        if name in needs:
            _check_fact(Fields(document, (*path, name), known), name)
    return {name: {key: plain(value) for key, value in fact.items()} for name, fact in needs.items()}


def _check_fact(fact: Fields, name: str) -> None:
    if name == "driver":
        _check_driver(fact, "minimum", fact.text("minimum"))
        if "toolkit" in fact:
            _check_driver(fact, "toolkit", fact.text("toolkit"))
    elif name == "glibc":
        _check_release(fact, "minimum", fact.text("minimum"))
    else:
        fact.required("list")
        for key in ("list", "ptx"):
            for text in fact.texts(key):
                _check_release(fact, key, text)
    check_known(fact)


def _check_driver(fact: Fields, key: str, text: str) -> None:
    """NVIDIA states some drivers by their branch alone: CUDA 13 wants 580."""
    if re.fullmatch(r"\d+(\.\d+)*", text, re.ASCII) is None:
        raise fact.error(key, f"{key}: {text!r} is no version.", hint=f'Write it as in {key}: "580.65.06".')


def _check_release(fact: Fields, key: str, text: str) -> None:
    if _RELEASE.fullmatch(text) is None:
        raise fact.error(key, f"{key}: {text!r} is no major and minor number.", hint=f'Write {key} as in "8.6".')


def check_known(fields: Fields) -> str | None:
    """The word under ``known``, or None where there is none.

    Raises:
        InvalidFileError: it is none of ``KNOWN``.
    """
    known = fields.optional_text("known")
    if known is not None and known not in KNOWN:
        raise fields.error("known", f"known: {known!r} is none of {', '.join(KNOWN)}.")
    return known


def locked_package(document: YamlDocument, path: Path) -> LockedPackage:
    """The package entry at ``path`` of a lock.

    Raises:
        InvalidFileError: a part of it is wrong, or its hash is missing without a source that states it.
    """
    fields = Fields(document, path, _PACKAGE_KEYS)
    name, version, file = locked_file(fields)
    package = LockedPackage(
        name=name,
        version=version,
        file=file,
        sha256=fields.optional_text("sha256"),
        size=fields.optional_integer("size"),
        source=index_address(fields, "source") if fields.optional_text("source") is not None else None,
        known=check_known(fields),
    )
    if package.sha256 is None:
        if not (package.source or "").startswith("https:"):
            raise fields.error(
                "sha256",
                f"{package.name}: a file without sha256 must come from a named https source.",
                why="Without a hash only the source's own statement, over a secured connection, says what the file is.",
                hint="Run `envkit lock` again, or write the hash.",
            )
    elif len(package.sha256) != _SHA256_DIGITS or set(package.sha256) - set("0123456789abcdef"):
        raise fields.error("sha256", f"sha256: {package.sha256!r} is not 64 hexadecimal digits in lower case.")
    return package
