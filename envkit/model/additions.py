"""What came into an environment after its creation, as its own lock tells it (docs/spec-and-lock.md)."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from envkit.model.fields import Fields

if TYPE_CHECKING:
    from envkit.model.lock import Lock, LockedPlatform
    from envkit.model.yamltext import YamlDocument

KEYS = {"added", "editables"}
"""Keys of a lock that tell it."""


@dataclass(frozen=True, slots=True)
class Addition:
    """One ``envkit add``.

    Attributes:
        requirements: what was asked for, as typed.
        packages: names of the locked packages that this brought, canonical ones where they are pip's.
    """

    requirements: tuple[str, ...]
    packages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Editable:
    """A project's folder that an environment imports from.

    Attributes:
        name: canonical.
        version: when it was added; it may have changed since.
        path: absolute, on the machine of the environment.
    """

    name: str
    version: str
    path: str


@dataclass(frozen=True, slots=True)
class Additions:
    """What an environment has beside that which it was made from."""

    added: tuple[Addition, ...] = ()
    editables: tuple[Editable, ...] = ()

    def to_dict(self) -> dict[str, list[dict[str, Any]]]:
        """The keys as they stand in a lock file; none where there is nothing to tell."""
        content: dict[str, list[dict[str, Any]]] = {
            "added": [
                {"requirements": list(item.requirements), "packages": list(item.packages)} for item in self.added
            ],
            "editables": [{"name": item.name, "version": item.version, "path": item.path} for item in self.editables],
        }
        return {key: items for key, items in content.items() if items}

    def with_editable(self, editable: Editable) -> Additions:
        """The same with another editable project, in place of one that has its name."""
        others = tuple(item for item in self.editables if item.name != editable.name)
        return replace(self, editables=(*others, editable))


NOTHING_ADDED = Additions()


def parse_additions(document: YamlDocument, fields: Fields) -> Additions:
    """Read the keys ``added`` and ``editables`` of a lock.

    Raises:
        InvalidFileError: anything in them is wrong.
    """
    added, editables = [], []
    is_conda = fields.optional_text("installer") == "conda"
    for path, _ in fields.items("added"):
        entry = Fields(document, path, {"requirements", "packages"})
        for name in entry.texts("packages"):
            if not is_conda:
                _check_name(entry, "packages", name)
        added.append(Addition(entry.texts("requirements"), entry.texts("packages")))
    for path, _ in fields.items("editables"):
        entry = Fields(document, path, {"name", "version", "path"})
        editable = Editable(entry.text("name"), entry.text("version"), entry.text("path"))
        _check_name(entry, "name", editable.name)
        try:
            Version(editable.version)
        except InvalidVersion:
            raise entry.error("version", f"version: {editable.version!r} is no version of a package.") from None
        if not os.path.isabs(editable.path):  # noqa: PTH117 - text; the folder may be gone
            raise entry.error("path", f"path: {editable.path!r} is no absolute path.")
        editables.append(editable)
    return Additions(tuple(added), tuple(editables))


def _check_name(entry: Fields, key: str, name: str) -> None:
    try:
        if canonicalize_name(name, validate=True) == name:
            return
    except InvalidName:
        pass
    raise entry.error(key, f"{key}: {name!r} is no canonical name of a package.")


def without_added(lock: Lock) -> Lock:
    """The lock as it was before anything was added."""
    names = {name for item in lock.additions.added for name in item.packages}
    platforms = {name: _without(found, names, lock.installer) for name, found in lock.platforms.items()}
    return replace(lock, platforms=platforms, additions=NOTHING_ADDED)


def _without(platform: LockedPlatform, names: set[str], installer: str) -> LockedPlatform:
    if installer == "conda":
        return replace(platform, base=tuple(item for item in platform.base if item.name not in names))
    return replace(platform, packages=tuple(item for item in platform.packages if item.name not in names))
