"""Prefixes that envkit did not make, as its commands are told of them, and whether it may write into one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from envkit.activation import slot_of
from envkit.backends import conda
from envkit.errors import EnvkitError, InstallerRuleError, InvalidFileError, NotFoundError, StorageError
from envkit.installers.conda_meta import is_conda_prefix
from envkit.installers.refusals import FROZEN
from envkit.operations.environments import find_environment, is_path, nearest, prefix_at, read_environment
from envkit.operations.places import conda_envs_dirs

if TYPE_CHECKING:
    from pathlib import Path

_BASE = {"base", "root"}


def unmanaged_prefix(env: str) -> Path | None:
    """The prefix that ``ENV|PREFIX`` means when envkit did not make it; None when it is one of envkit's environments.

    A path is a folder. A word is the name of one of envkit's environments, else of a conda environment, else of a
    folder here.

    Raises:
        NotFoundError: there is neither, the folder is no environment, or the name means two.
    """
    try:
        find_environment(env)
    except NotFoundError as error:
        found = [prefix_at(env)] if is_path(env) else _named(env)
        if len(found) > 1:
            places = " and ".join(map(str, found))
            raise NotFoundError(f"{env} means {places}.", hint="Give the path of one.") from error
        if not found or (found[0].is_dir() and read_environment(found[0]) is not None):
            raise
        if not found[0].is_dir():
            raise _no_folder(env, found[0]) from error
        _check_kind(found[0])
        return found[0]
    return None


def _no_folder(env: str, prefix: Path) -> NotFoundError:
    near = _environments_in(prefix.parent)
    message = f"There is no folder {env}{'' if is_path(env) else ' here'}."
    return NotFoundError(message, hint=nearest(prefix.name, near) if near else None)


def _check_kind(prefix: Path) -> None:
    """Whether it is an environment; where it is a project's folder, the environments in it are named.

    Raises:
        NotFoundError: it is none; says what it lacks.
    """
    try:
        slot_of(prefix)
    except NotFoundError as error:
        if inside := _environments_in(prefix):
            error.hint = f"In it there {'is' if len(inside) == 1 else 'are'} {', '.join(inside)}: name that folder."
        raise


def _environments_in(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir() if _is_environment(entry))
    except OSError:
        return []


def _named(name: str) -> list[Path]:
    """The conda environment of that name, and the environment in the folder of that name here."""
    if not name:
        return []
    here = prefix_at(name)
    if name.startswith("."):  # no name for conda
        return [here]
    of_conda = _base() if name in _BASE else _of_conda(name)
    found = {os.path.realpath(prefix): prefix for prefix in of_conda}
    if _is_environment(here):
        found.setdefault(os.path.realpath(here), here)
    return list(found.values())


def _base() -> list[Path]:
    program = conda.find_conda()
    return [] if program is None or program.root is None else [program.root]


def _of_conda(name: str) -> list[Path]:
    """Where conda finds it by its name; else those of that name in its list."""
    in_folders = [folder / name for folder in conda_envs_dirs()]
    first = next((prefix for prefix in in_folders if _is_conda_prefix(prefix)), None)
    if first is not None:
        return [first]
    return [prefix for prefix in conda.registered() if prefix.name == name and _is_conda_prefix(prefix)]


def _is_conda_prefix(prefix: Path) -> bool:
    try:
        return is_conda_prefix(prefix)
    except OSError:  # of another user, in a folder that is closed
        return False


def _is_environment(folder: Path) -> bool:
    try:
        slot_of(folder)
    except EnvkitError:
        return False
    return True


def is_conda_itself(prefix: Path) -> bool:
    """Whether a prefix is the environment of conda, which its shells start in."""
    return (prefix / "condabin").is_dir() or os.path.realpath(prefix) in map(os.path.realpath, _base())


def check_writable(prefix: Path, files: tuple[Path, ...]) -> None:
    """Whether envkit may write ``files`` for the user in a prefix that it did not make.

    Raises:
        StorageError: the prefix or one of the files belongs to another user, who could not change it back.
        InstallerRuleError: it is frozen (CEP 22).
        InvalidFileError: a link leads out of the prefix.
    """
    if hasattr(os, "getuid"):
        for path in (prefix, *files):
            if os.path.exists(path) and path.stat().st_uid != os.getuid():  # noqa: PTH110 - links that lead nowhere
                raise StorageError(
                    f"{path} belongs to another user.",
                    why="What envkit writes there would be yours, and its owner could not take it out again.",
                    hint="Its owner can run the same command.",
                )
    if os.path.lexists(prefix / FROZEN):
        raise InstallerRuleError(
            f"{prefix} is frozen.",
            why=f"{prefix / FROZEN} says that nobody is to change this environment.",
            hint="Take that file away first, if it is yours.",
        )
    inside = os.path.realpath(prefix)
    for path in files:
        real = os.path.realpath(path)
        if os.path.commonpath([inside, real]) != inside:
            raise InvalidFileError(
                str(path),
                f"it leads out of the environment, to {real}.",
                why="What lies there may belong to other environments as well.",
                hint="Put a copy in the place of the link, or source the hooks yourself.",
            )
