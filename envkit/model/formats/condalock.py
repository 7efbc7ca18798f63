"""``conda-lock.yml``, version 1: conda's and pip's packages for several platforms.

Sources: https://github.com/conda/conda-lock, conda_lock/lockfile/v1/models.py; CEP 37. The second word for pip,
``pypi``, is that of https://github.com/conda-incubator/conda-lockfiles, conda_lockfiles/conda_lock/v1.py.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from envkit.model.fields import describe, is_whole
from envkit.model.formats.parts import ForeignLock, Parts, check_named_once, conda_part, pip_part
from envkit.model.spec import PLATFORMS
from envkit.model.yamltext import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from envkit.errors import InvalidFileError
    from envkit.model.conda_record import CondaRecord
    from envkit.model.locked import LockedPackage
    from envkit.model.yamltext import Path, YamlDocument

VERSION = 1
SOURCES_KEY = "envkit_sources"
"""In the file's free metadata: which package comes from which index, as JSON; the format itself has no place for it."""
PYTHON_KEY = "envkit_python"
"""Likewise: the Python that the files are for, where no conda package says it."""
_PIP = ("pip", "pypi")


def is_conda_lock(data: object) -> bool:
    """Whether a YAML document is such a file, of whatever version."""
    return isinstance(data, dict) and {"version", "metadata", "package"} <= data.keys()


def read_conda_lock(document: YamlDocument) -> ForeignLock:
    """The packages of a file, by platform.

    Raises:
        InvalidFileError: another version of the format, or anything in it is wrong.
    """
    version = document.data["version"]
    if version != VERSION or not is_whole(version):
        raise document.error(
            ("version",),
            f"version: {describe(version)} of conda-lock.yml is not one that envkit reads.",
            why=f"It reads version {VERSION}, which conda-lock 1 to 4 write.",
            hint="Make the file again with such a conda-lock, or update envkit.",
        )
    packages = document.data["package"]
    if not isinstance(packages, list):
        raise document.error(("package",), f"package: expected a list, found {describe(packages)}.")
    sources = _sources(document)
    conda: dict[str, list[CondaRecord]] = {}
    pip: dict[str, list[LockedPackage]] = {}
    left_out: set[str] = set()
    for index in range(len(packages)):
        path: Path = ("package", index)
        entry = _entry(document, path)
        platform = _text(document, path, entry, "platform")
        category = entry.get("category", "main")
        if platform not in PLATFORMS:
            continue
        if category != "main" or entry.get("optional") is True:
            left_out.add(str(category))
        elif _text(document, path, entry, "manager") == "conda":
            conda.setdefault(platform, []).append(_conda(document, path, entry))
        elif entry["manager"] in _PIP:
            pip.setdefault(platform, []).append(_pip(document, path, entry, sources))
        else:
            raise document.error((*path, "manager"), f"manager: {entry['manager']!r} is neither conda nor pip.")
    found = {name: Parts(tuple(conda.get(name, ())), tuple(pip.get(name, ()))) for name in sorted({*conda, *pip})}
    for parts in found.values():
        check_named_once(document.source, parts.conda)
        check_named_once(document.source, parts.pip)
    if not found:
        raise document.error(("package",), "the file holds no packages for a platform that envkit knows.")
    notes = [f"Packages of the category {', '.join(sorted(left_out))} are left out."] if left_out else []
    return ForeignLock("conda-lock.yml", found, tuple(notes))


def stated_python(document: YamlDocument) -> str | None:
    """The Python that envkit noted in the file's metadata, if it wrote the file."""
    value = _custom(document).get(PYTHON_KEY)
    return value if isinstance(value, str) else None


def _custom(document: YamlDocument) -> Mapping[str, Any]:
    metadata = document.data["metadata"]
    custom = metadata.get("custom_metadata") if isinstance(metadata, dict) else None
    return custom if isinstance(custom, dict) else {}


def _sources(document: YamlDocument) -> Mapping[str, str] | None:
    """Index by package name, where envkit wrote the file; those that it does not name come from the default index."""
    text = _custom(document).get(SOURCES_KEY)
    if text is None:
        return None
    path = ("metadata", "custom_metadata", SOURCES_KEY)
    try:
        found = json.loads(text)
        return {str(name): str(url) for name, url in found.items()}
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise document.error(path, f"{SOURCES_KEY}: no JSON object of names and addresses.") from error


def _entry(document: YamlDocument, path: Path) -> dict[str, Any]:
    entry = document.at(path)
    if not isinstance(entry, dict):
        raise document.error(path, f"package: expected a mapping, found {describe(entry)}.")
    return {key: plain(value) for key, value in entry.items()}


def _text(document: YamlDocument, path: Path, entry: Mapping[str, Any], key: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise _no_text(document, path, key, value)
    return value


def _no_text(document: YamlDocument, path: Path, key: str, value: object) -> InvalidFileError:
    return document.error((*path, key), f"{key}: expected text, found {describe(value)}.")


def _hashes(document: YamlDocument, path: Path, entry: Mapping[str, Any]) -> Mapping[str, Any]:
    hashes = entry.get("hash", {})
    if not isinstance(hashes, dict):
        raise document.error((*path, "hash"), f"hash: expected a mapping, found {describe(hashes)}.")
    return hashes


def _conda(document: YamlDocument, path: Path, entry: Mapping[str, Any]) -> CondaRecord:
    needs = entry.get("dependencies") or {}
    if not isinstance(needs, dict):
        raise document.error((*path, "dependencies"), f"dependencies: expected a mapping, found {describe(needs)}.")
    hashes = _hashes(document, path, entry)
    stated = {
        "name": entry.get("name"),
        "version": entry.get("version"),
        "build": entry.get("build"),
        "sha256": hashes.get("sha256"),
        "md5": hashes.get("md5"),
        "depends": [f"{name} {needed or ''}".strip() for name, needed in needs.items()],
    }
    return conda_part(document, path, _text(document, path, entry, "url"), stated)


def _pip(
    document: YamlDocument, path: Path, entry: Mapping[str, Any], sources: Mapping[str, str] | None
) -> LockedPackage:
    url, name = _text(document, path, entry, "url"), _text(document, path, entry, "name")
    stated = {"name": name, "version": entry.get("version"), "sha256": _hashes(document, path, entry).get("sha256")}
    if sources is None:
        return pip_part(document, path, url, stated)
    return pip_part(document, path, url, stated, index=sources.get(name))
