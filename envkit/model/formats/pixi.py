"""``pixi.lock``, versions 6 and 7: conda's and PyPI's packages of several environments for several platforms.

Source: https://github.com/conda/rattler, crates/rattler_lock/src/parse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from envkit.model.fields import describe, is_whole
from envkit.model.formats.parts import (
    ForeignLock,
    Parts,
    check_named_once,
    conda_part,
    is_default_layout,
    is_torch_host,
    pip_part,
)
from envkit.model.spec import PLATFORMS
from envkit.model.yamltext import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from envkit.model.conda_record import CondaRecord
    from envkit.model.locked import LockedPackage
    from envkit.model.yamltext import Path, YamlDocument

VERSIONS = (6, 7)
_WITH_INDEX = 7
"""From this version on an entry says from which index it is, where that is not PyPI."""
_DEFAULT = "default"
_RECORD_KEYS = (
    "name", "version", "build", "build_number", "subdir", "sha256", "md5", "size", "depends", "constrains", "noarch",
    "timestamp", "track_features", "python_site_packages_path", "license",
)  # fmt: skip


def is_pixi_lock(data: object) -> bool:
    """Whether a YAML document is such a file, of whatever version."""
    return isinstance(data, dict) and {"version", "environments", "packages"} <= data.keys()


def read_pixi_lock(document: YamlDocument) -> ForeignLock:
    """The packages of the environment ``default``, or of the only one there is, by platform.

    Raises:
        InvalidFileError: another version of the format, several environments, or anything in it is wrong.
    """
    version = document.data["version"]
    if version not in VERSIONS or not is_whole(version):
        is_old = is_whole(version) and version < min(VERSIONS)
        raise document.error(
            ("version",),
            f"version: {describe(version)} of pixi.lock is not one that envkit reads.",
            why=f"It reads versions {' and '.join(map(str, VERSIONS))}.",
            hint="`pixi lock` of a newer pixi writes the file again." if is_old else "Update envkit.",
        )
    environment = _environment(document)
    subdirs = _subdirs(document)
    entries = _entries(document)
    found = {}
    for name in _mapping(document, ("environments", environment, "packages")):
        platform = subdirs.get(name, name)
        if platform in PLATFORMS:
            found[platform] = _parts(document, ("environments", environment, "packages", name), entries)
    if not found:
        where = ("environments", environment)
        raise document.error(where, f"{environment} has no packages for a platform that envkit knows.")
    others = sorted(document.data["environments"].keys() - {environment})
    notes = [f"The environment {environment} is taken; {', '.join(others)} is not."] if others else []
    return ForeignLock("pixi.lock", dict(sorted(found.items())), tuple(notes))


def _environment(document: YamlDocument) -> str:
    names = list(_mapping(document, ("environments",)))
    if _DEFAULT in names:
        return _DEFAULT
    if len(names) == 1:
        return str(names[0])
    raise document.error(
        ("environments",),
        f"the file holds the environments {', '.join(map(str, names)) or '(none)'}, and none is called {_DEFAULT}.",
        why="envkit makes one environment of a file and does not guess which.",
        hint="Keep one under environments.",
    )


def _mapping(document: YamlDocument, path: Path) -> dict[str, Any]:
    parent = document.at(path[:-1])
    value = parent.get(path[-1]) if isinstance(parent, dict) else None
    if not isinstance(value, dict):
        raise document.error(path, f"{path[-1]}: expected a mapping, found {describe(value)}.")
    return value


def _subdirs(document: YamlDocument) -> dict[str, str]:
    """conda's platform of each name that the file gives to one; from version 7 on names are free."""
    platforms = document.data.get("platforms", [])
    if not isinstance(platforms, list) or not all(isinstance(item, dict) for item in platforms):
        raise document.error(("platforms",), "platforms: expected a list of mappings.")
    return {str(item.get("name")): str(item.get("subdir") or item.get("name")) for item in platforms}


def _entries(document: YamlDocument) -> dict[tuple[str, str], Path]:
    """Where each package stands, by kind and address."""
    packages = document.data["packages"]
    if not isinstance(packages, list):
        raise document.error(("packages",), f"packages: expected a list, found {describe(packages)}.")
    found: dict[tuple[str, str], Path] = {}
    for index, entry in enumerate(packages):
        found[_kind(document, ("packages", index), entry)] = ("packages", index)
    return found


def _kind(document: YamlDocument, path: Path, entry: object) -> tuple[str, str]:
    """Kind ("conda", "pypi") and address of an entry."""
    for kind in ("conda", "pypi"):
        if isinstance(entry, dict) and isinstance(entry.get(kind), str):
            return kind, entry[kind]
    if isinstance(entry, dict) and "conda_source" in entry:
        return "conda_source", str(entry["conda_source"])
    raise document.error(path, f"packages: expected the address of a package, found {describe(entry)}.")


def _parts(document: YamlDocument, path: Path, entries: Mapping[tuple[str, str], Path]) -> Parts:
    references = document.at(path)
    if not isinstance(references, list):
        raise document.error(path, f"packages: expected a list, found {describe(references)}.")
    conda: list[CondaRecord] = []
    pip: list[LockedPackage] = []
    for index, reference in enumerate(references):
        kind, url = _kind(document, (*path, index), reference)
        where = entries.get((kind, url))
        if where is None:
            raise document.error((*path, index), f"{url!r} is not among the file's packages.")
        if kind == "conda_source":
            raise document.error(
                (*path, index),
                f"{url!r} is built from its source.",
                why="What comes of a build is not known before, so it cannot be locked.",
                hint="Put the package into a channel, or leave it out and add it afterwards.",
            )
        if kind == "conda":
            conda.append(_conda(document, where, url))
        else:
            pip.append(_pypi(document, where, url))
    check_named_once(document.source, conda)
    check_named_once(document.source, pip)
    return Parts(tuple(conda), tuple(pip))


def _stated(document: YamlDocument, path: Path) -> dict[str, Any]:
    return {key: plain(value) for key, value in document.at(path).items()}


def _conda(document: YamlDocument, path: Path, url: str) -> CondaRecord:
    entry = _stated(document, path)
    stated = {key: entry[key] for key in _RECORD_KEYS if entry.get(key) is not None}
    if stated.get("noarch") not in {"python", "generic"}:
        stated.pop("noarch", None)  # true, or "none"
    return conda_part(document, path, f"file://{url}" if url.startswith("/") else url, stated)


def _pypi(document: YamlDocument, path: Path, url: str) -> LockedPackage:
    entry = _stated(document, path)
    stated = {key: entry.get(key) for key in ("name", "version", "sha256")}
    index = entry.get("index")
    if is_default_layout(url):
        index = None
    elif isinstance(index, str):
        index = index.rstrip("/")
    elif document.data["version"] < _WITH_INDEX or is_torch_host(url) or "+" in str(stated["version"]):
        index = ""
    return pip_part(document, path, url, stated, index=index)
