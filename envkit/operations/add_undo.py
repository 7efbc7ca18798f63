"""Undoing an addition of packages, by what it wrote down in the environment before it changed anything there.

``.envkit/add/`` holds, while an addition is under way, the environment that its packages are tried in, ``plan.json``
with the paths that are new, ``backup/`` with files that give way, and ``before/`` with the lock and what goes with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from envkit import fs
from envkit.installers.installed import site_packages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FOLDER = ".envkit/add"
_OLD = ".envkit/add.old"
_LISTS = (
    ".envkit/lock.yaml",
    ".envkit/constraints.txt",
    ".envkit/constraints-pip.txt",
    "requirements-lock.txt",
)
"""The files of envkit's own that an addition writes again."""


def add_folder(prefix: Path) -> Path:
    """Where an addition keeps its things."""
    return prefix / _FOLDER


def clear_add_folder(prefix: Path) -> None:
    """Delete what an addition kept. It is moved away first, so that a plan is never half there.

    Raises:
        OSError: it could not be deleted.
    """
    old, folder = prefix / _OLD, add_folder(prefix)
    fs.remove_tree(old) if old.exists() else None
    if folder.exists():
        folder.rename(old)
        fs.remove_tree(old)


def write_plan(prefix: Path, coming: Iterable[str], leaving: Iterable[str]) -> None:
    """Write down what ``undo_add`` needs; the journal is begun after it.

    Args:
        prefix: the environment.
        coming: paths, relative to the prefix, of the files that will be installed.
        leaving: those of files that will be replaced or deleted.
    """
    folder = add_folder(prefix)
    for relative in sorted(leaving):
        if (prefix / relative).is_file():
            target = folder / "backup" / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(prefix / relative, target, follow_symlinks=False)
    for relative in _LISTS:
        if (prefix / relative).is_file():
            target = folder / "before" / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(prefix / relative, target)
    new = sorted(relative for relative in coming if not os.path.lexists(prefix / relative))
    parents = {str(parent) for relative in new for parent in PurePosixPath(relative).parents}
    folders = sorted(relative for relative in parents if not (prefix / relative).exists())
    fs.write_json(folder / "plan.json", {"new": new, "folders": folders, "leftovers": sorted(_leftovers(prefix))})


def undo_add(prefix: Path) -> None:
    """Put the environment at ``prefix`` back as it was before an addition; may be cut off and done again.

    Files that somebody else made there meanwhile stay.

    Raises:
        OSError: something could not be put back.
    """
    plan = _read_plan(prefix)
    if plan is None:
        clear_add_folder(prefix)
        return
    site = site_packages(prefix)
    for name in _leftovers(prefix) - set(plan["leftovers"]):
        fs.remove_tree(site / name) if site is not None else None
    for relative in plan["new"]:
        _remove(prefix / relative)
    for relative in sorted(plan["folders"], key=len, reverse=True):
        folder = prefix / relative
        if folder.name.endswith(".dist-info"):
            fs.remove_tree(folder) if folder.exists() else None
        with contextlib.suppress(OSError):  # somebody's own file is in it
            folder.rmdir()
    _put_back(add_folder(prefix) / "backup", prefix)
    _put_back(add_folder(prefix) / "before", prefix)
    clear_add_folder(prefix)


def _read_plan(prefix: Path) -> dict[str, list[str]] | None:
    try:
        content: Any = json.loads((add_folder(prefix) / "plan.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return {key: [item for item in content[key] if _is_inside(item)] for key in ("new", "folders", "leftovers")}


def _is_inside(relative: str) -> bool:
    path = PurePosixPath(relative)
    return not path.is_absolute() and ".." not in path.parts and path.parts != ()


def _remove(path: Path) -> None:
    """Remove a file, and what Python has compiled it to."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        path.unlink()
    if path.suffix == ".py":
        cache = path.parent / "__pycache__"
        for compiled in cache.glob(f"{path.stem}.*.pyc"):
            compiled.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # not there, or not empty
            cache.rmdir()


def _put_back(source: Path, prefix: Path) -> None:
    for path in _files(source):
        target = prefix / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        new = target.with_name(f".{target.name}.envkit")  # never into the file that is there: uv's cache may share it
        new.unlink(missing_ok=True)
        shutil.copy2(path, new, follow_symlinks=False)
        new.replace(target)


def _files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        for name in names:
            yield Path(place) / name


def _leftovers(prefix: Path) -> set[str]:
    """What uv and pip leave among the packages when they are cut off."""
    site = site_packages(prefix)
    names = [] if site is None else [path.name for path in site.iterdir()]
    return {name for name in names if name.startswith(("~", ".tmp"))}
