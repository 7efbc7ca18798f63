"""Undoing an addition of packages, by what it wrote down in the environment before it changed anything there.

``.envkit/add/`` holds, while an addition is under way, the environment that its packages are tried in, ``plan.json``
with the paths that are new, ``backup/`` with files that give way, and ``before/`` with the lock and what goes with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from envkit import fs, paths
from envkit.errors import InvalidFileError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_FOLDER = ".envkit/add"
_OLD = ".envkit/add.old"
_LISTS = (
    ".envkit/lock.yaml",
    ".envkit/constraints.txt",
    ".envkit/constraints-pip.txt",
    "requirements-lock.txt",
)
"""The files of envkit's own that an addition writes again."""
_KEYS = ("new", "folders", "places", "moved", "leftovers")
_OF_PIP = "~-.=%0123456789"
"""pip moves a folder that it removes to its name with the first letters replaced by these, and begun with ``~``."""


def add_folder(prefix: Path) -> Path:
    """Where an addition keeps its things."""
    return prefix / _FOLDER


def has_plan(prefix: Path) -> bool:
    """Whether an addition has come so far that it may have changed the environment."""
    return os.path.lexists(_plan_of(prefix))


def _plan_of(prefix: Path) -> Path:
    return add_folder(prefix) / "plan.json"


def clear_add_folder(prefix: Path) -> None:
    """Delete what an addition kept: from then on it is done, or undone.

    It is moved away first, so that a plan is never half there.

    Raises:
        OSError: it could not be moved away, or not be deleted.
    """
    old, folder = prefix / _OLD, add_folder(prefix)
    fs.remove_tree(old) if old.exists() else None
    if folder.exists():
        folder.rename(old)
        fs.sync_folder(old.parent)
        fs.remove_tree(old)


def write_plan(prefix: Path, coming: Collection[str], leaving: Collection[str]) -> None:
    """Write down what ``undo_add`` needs, durably; nothing is changed before it.

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
    new = {relative for relative in coming if not os.path.lexists(prefix / relative)}
    places, moved = _parents(coming), _parents(leaving)
    plan = {
        "new": new,
        "folders": {relative for relative in _parents(new) if not (prefix / relative).exists()},
        "places": places,
        "moved": moved,
        "leftovers": _leftovers(prefix, places, moved),
    }
    fs.flush(prefix)  # who finds the plan finds the copies whole
    fs.write_json(_plan_of(prefix), {key: sorted(found) for key, found in plan.items()})


def _parents(relatives: Collection[str]) -> set[str]:
    return {str(parent) for relative in relatives for parent in PurePosixPath(relative).parents if parent.name}


def undo_add(prefix: Path, *, is_going: bool = False) -> None:
    """Put the environment at ``prefix`` back as it was before an addition; may be cut off and done again.

    Files that somebody else made there meanwhile stay.

    Args:
        prefix: the environment.
        is_going: whether it is about to be removed or replaced, so that a damaged plan is no obstacle.

    Raises:
        InvalidFileError: what the addition wrote down is damaged, so that it cannot be undone.
        OSError: something could not be put back.
    """
    try:
        plan = _read_plan(prefix)
    except InvalidFileError:
        if is_going:
            return
        raise
    if plan is not None:
        _undo(prefix, plan)
        fs.flush(prefix)
    clear_add_folder(prefix)


def _undo(prefix: Path, plan: dict[str, list[str]]) -> None:
    for relative in _leftovers(prefix, plan["places"], plan["moved"]) - set(plan["leftovers"]):
        fs.remove_tree(prefix / relative) if (prefix / relative).is_dir() else (prefix / relative).unlink()
    for relative in plan["new"]:
        _remove(prefix / relative)
    for relative in sorted(plan["folders"], key=len, reverse=True):
        folder = prefix / relative
        if folder.name.endswith(".dist-info"):
            fs.remove_tree(folder) if folder.exists() else None
        with contextlib.suppress(OSError):  # somebody's own file is in it
            folder.rmdir()
    _move_back(add_folder(prefix) / "backup", prefix)
    _move_back(add_folder(prefix) / "before", prefix)


def _read_plan(prefix: Path) -> dict[str, list[str]] | None:
    path = _plan_of(prefix)
    try:
        content: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (IsADirectoryError, ValueError, RecursionError):
        content = None
    plan = content if isinstance(content, dict) else {}
    if not all(isinstance(plan.get(key), list) and all(isinstance(x, str) for x in plan[key]) for key in _KEYS):
        name = prefix.name if prefix.parent == paths.envs_dir() else str(prefix)
        raise InvalidFileError(
            str(path),
            "an addition of packages was cut off, and what it wrote down to be undone by is damaged.",
            hint=f"`envkit restore {shlex.quote(name)} --replace` makes the environment again.",
        )
    return {key: [item for item in plan[key] if _is_inside(item)] for key in _KEYS}


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


def _move_back(source: Path, prefix: Path) -> None:
    """Put copies back in one step each: never into the file that is there, which uv's cache may share."""
    for path in list(_files(source)):
        target = prefix / path.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        path.replace(target)


def _files(folder: Path) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        for name in names:
            yield Path(place) / name


def _leftovers(prefix: Path, places: Collection[str], moved: Collection[str]) -> set[str]:
    """What uv and pip leave when they are cut off: in folders that files come to, and beside folders that go."""
    from envkit.installers.content import UV_TEMPORARY  # noqa: PLC0415 - start-up of all commands counts

    of_uv = {f"{place}/{name}" for place in places for name in _names(prefix / place) if UV_TEMPORARY.fullmatch(name)}
    of_pip = set()
    for folder in map(PurePosixPath, moved):
        for name in _names(prefix / folder.parent):
            end = name.lstrip(_OF_PIP)
            if name.startswith("~") and len(name) == len(folder.name) and end and folder.name.endswith(end):
                of_pip.add(str(folder.parent / name))
    return of_uv | of_pip


def _names(folder: Path) -> list[str]:
    return os.listdir(folder) if folder.is_dir() else []  # noqa: PTH208 - names
