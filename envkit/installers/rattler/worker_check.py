"""For the worker: what a package would do to the prefix, looked at when it is unpacked and before it is linked.

py-rattler 0.28.0 links what ``info/paths.json`` names, ``../x`` too, and through links of other packages.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_RESERVED = {".envkit", "conda-meta"}
"""Folders of the records: who writes there says what an environment is."""
_OWN_FILES = ("check_env.py", "requirements-lock.txt")
_OWN_HOOKS = ("etc/conda/activate.d/envkit-", "etc/conda/deactivate.d/envkit-")
_WRITTEN = ("bin/x", "etc/conda/activate.d/x", "etc/conda/deactivate.d/x")
"""envkit itself writes into these folders."""
_SITE = "site-packages"
_MOST_LINKS = 40


def problem_of_record(entry: Mapping[str, Any]) -> str | None:
    """Why a package is not to be installed, by its record alone; None when nothing speaks against it."""
    site = entry.get("python_site_packages_path")
    if site is not None and not _is_inside(site):
        return f"its record puts packages of Python outside of the environment: {site}"
    return None


class Check:
    """Knows the links and folders of all packages that were looked at: one may lay the trap for another.

    Args:
        site: the folder of Python's packages below the prefix, where those go that are the same for each Python.

    Attributes:
        tops: what will lie in the prefix itself, of the packages that were looked at.
    """

    def __init__(self, site: str) -> None:
        self.tops: set[str] = set()
        self._site = site
        self._links: dict[str, str] = {}
        self._folders = {parent: "envkit" for name in (*_WRITTEN, f"{site}/x") for parent in _parents(name)}

    def problem_of(self, entry: Mapping[str, Any], folder: Path) -> str | None:
        """Why a package is not to be installed; None when nothing speaks against it.

        Args:
            entry: its record.
            folder: where it lies unpacked.
        """
        try:
            stated = json.loads((folder / "info" / "index.json").read_text(encoding="utf-8"))
            other = [key for key in ("name", "version", "build") if stated[key] != entry[key]]
            names = _names(folder)
        except (OSError, ValueError, TypeError, KeyError):
            return None  # py-rattler says itself what it cannot read
        if other:
            return f"it is another package: {stated['name']} {stated['version']} {stated['build']}"
        for name in names:
            if not _is_inside(name):
                return f"it would write outside of the environment: {name}"
            if _is_own(name):
                return f"it would write over files by which envkit and conda know the environment: {name}"
            self.tops.add(name.split("/", 1)[0])
        return self._trap(entry["name"], folder, names)

    def _trap(self, package: str, folder: Path, names: Iterable[str]) -> str | None:
        self._links.update(_links_in(folder))
        for name in names:
            placed = self._site + name[len(_SITE) :] if name.startswith(f"{_SITE}/") else name
            for parent in _parents(placed):
                self._folders.setdefault(parent, package)
        for place in sorted(self._links.keys() & self._folders.keys()):
            if self._leads_out(place):
                who = self._folders[place]
                return f"through the link {place} files of {who} would be written outside of the environment"
        return None

    def _leads_out(self, place: str) -> bool:
        """Whether a path below the prefix leads out of it, by links of packages."""
        here: list[str] = []
        waiting, count = place.split("/")[::-1], 0
        while waiting:
            part = waiting.pop()
            if part in {"", "."}:
                continue
            if part == "..":
                if not here:
                    return True
                here.pop()
                continue
            here.append(part)
            target = self._links.get("/".join(here))
            if target is not None:
                count += 1
                if target.startswith("/") or count > _MOST_LINKS:
                    return True
                here.pop()
                waiting += target.split("/")[::-1]
        return False


def _names(folder: Path) -> list[str]:
    """The paths that a package says it has; packages from before 2017 say it in another file."""
    try:
        content = json.loads((folder / "info" / "paths.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return (folder / "info" / "files").read_text(encoding="utf-8").splitlines()
    return [item["_path"] for item in content["paths"]]


def _is_inside(name: str) -> bool:
    return name != "" and not name.startswith("/") and ".." not in name.replace("\\", "/").split("/")


def _is_own(name: str) -> bool:
    path = os.path.normpath(name)
    return path.split("/", 1)[0] in _RESERVED or path in _OWN_FILES or path.startswith(_OWN_HOOKS)


def _parents(name: str) -> Iterable[str]:
    end = name.find("/")
    while end > 0:
        yield name[:end]
        end = name.find("/", end + 1)


def _links_in(folder: Path) -> dict[str, str]:
    """Every symbolic link of an unpacked package, and where it leads; whatever its lists say."""
    found, waiting = {}, [""]
    while waiting:
        below = waiting.pop()
        with os.scandir(folder / below) as entries:
            for entry in entries:
                if entry.is_symlink():
                    found[below + entry.name] = os.readlink(entry.path)  # noqa: PTH115 - as it is written
                elif entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{below}{entry.name}/")
    return found
