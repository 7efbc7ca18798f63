"""Which CUDA toolkit an environment's activation switches to, and the user's own list of toolkits."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from envkit import fs, paths
from envkit.backends.conda import find_conda
from envkit.errors import EnvkitError, NotFoundError, UsageError
from envkit.model.texts import check_path, hiding_character
from envkit.operations.conda_prefixes import conda_prefixes
from envkit.operations.environments import is_path, prefix_from, registered_prefixes
from envkit.operations.locking import list_lock
from envkit.operations.toolkit_versions import asked_version, not_released, ways_to_get, written_as
from envkit.probes.added_toolkits import SCHEMA, added_file, read_added
from envkit.probes.toolkit_files import NVCC
from envkit.probes.toolkits import Note, can_switch, choose_toolkit, find_toolkits, look_at, search_toolkits, toolkit_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from envkit.model.progress import Progress
    from envkit.model.toolkit import Toolkit

TOOLKIT_DIR = "its folder: --toolkit DIR"
"""For commands with ``--toolkit``: how they are given a folder."""
_LIBRARY = "Library" if os.name == "nt" else ""
"""Where in a conda prefix the compiler of its channel's cuda-nvcc lies: ``bin/nvcc``, ``Library/bin/nvcc.exe``."""


@dataclass(frozen=True, slots=True)
class AddedToolkit:
    """A toolkit in the user's list.

    Attributes:
        toolkit: what is in the folder.
        is_new: false: it was in the list already.
    """

    toolkit: Toolkit
    is_new: bool

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit cuda add --json``."""
        return {"toolkit": self.toolkit.to_full_json(), "added": self.is_new}


def toolkit_inside(prefix: Path) -> Toolkit | None:
    """The toolkit that a prefix brings itself (cuda-nvcc of a channel), or None."""
    folder = prefix / _LIBRARY
    return toolkit_at(folder, "prefix") if (folder / "bin" / NVCC).is_file() else None


def toolkit_for(
    release: str | None, asked: str | None, progress: Progress | None = None, *, folder: str = "its folder"
) -> Toolkit | None:
    """The toolkit for an environment whose lock names ``release``; None: activation switches nothing.

    Args:
        release: "11.3", or None.
        asked: a release, a full version, a folder, "none", or None for what the lock says. What looks like a version is
            one; a folder of that name is ``./11.3``.
        progress: told where the toolkit is a partial one.
        folder: how the command at work is given a folder, as in ``--toolkit DIR``; for the hint.

    Raises:
        NotFoundError: the toolkit that was asked for is not there. One that only the lock names may be missing: to run
            torch none is needed.
        UsageError: the folder's name cannot stand in PATH.
        InvalidFileError: config.yaml, or the list of folders that were added, is damaged.
    """
    if asked == "none" or (asked is None and release is None):
        return None
    if asked is not None and _is_folder(asked):
        return _told(_in_folder(asked), progress)
    usable = [toolkit for toolkit in find_toolkits() if can_switch(toolkit)]
    version = str(release) if asked is None else asked_version(asked)
    chosen = choose_toolkit(version, usable) if version is not None else None
    if chosen is None and asked is not None:
        raise _missing(asked, version, folder)
    return _told(chosen, progress)


def _is_folder(asked: str) -> bool:
    if asked_version(asked) is not None:
        return False
    return not asked or is_path(asked) or os.path.isdir(os.path.expanduser(asked))  # noqa: PTH111,PTH112


def _in_folder(asked: str) -> Toolkit:
    toolkit = _looked_at(asked, "--toolkit")
    if not (toolkit.path / "bin").is_dir():
        raise NotFoundError(
            f"Activation cannot switch to {asked}.", why="It has no folder bin, so that nothing could go into PATH."
        )
    return toolkit


def _looked_at(asked: str, found_via: str) -> Toolkit:
    """The toolkit in a folder that the user names; where there is none, the reason is told."""
    folder = prefix_from(asked)
    check_path(str(folder))
    looked = look_at(folder, found_via)
    if looked.toolkit is not None:
        return looked.toolkit
    is_inside = folder.name == "bin" and toolkit_at(folder.parent, found_via) is not None
    raise NotFoundError(
        f"There is no CUDA toolkit in {asked}.",
        why=f"{folder} {looked.why_not}.",
        hint=f"The toolkit's folder is the one above: {folder.parent}." if is_inside else None,
    )


def _told(toolkit: Toolkit | None, progress: Progress | None) -> Toolkit | None:
    if toolkit is not None and not toolkit.is_complete and progress is not None:
        progress.note(f"The CUDA toolkit in {toolkit.path} is a partial one: {toolkit.lacks()}.")
    return toolkit


def _missing(asked: str, version: str | None, folder: str) -> NotFoundError:
    """Why a version is not here; a toolkit that is a part of an environment is named, since a folder may be given."""
    if version is not None and (never := not_released(version)) is not None:
        return never
    everything = search_toolkits(prefixes=environment_prefixes([])).toolkits
    listed = ", ".join(f"{item.version or '?'} in {item.path}" for item in everything)
    why = f"Found: {listed}." if listed else "No toolkit was found."
    if not all(item.is_shared for item in everything):
        why += " Those in environments go when the environment goes, so they are taken only when their folder is given."
    hint = f"{written_as(asked)} Or give {folder}." if version is None else ways_to_get(version, folder)
    return NotFoundError(f"There is no CUDA toolkit {version or asked} on this machine.", why=why, hint=hint)


def add_toolkit(asked: str) -> AddedToolkit:
    """Put a folder into the user's list of toolkits; the same again changes nothing.

    Raises:
        NotFoundError: there is no toolkit in it; says why.
        UsageError: its name cannot stand in PATH, or in the list.
        InvalidFileError: the list is damaged.
        BusyError: another envkit is at it.
    """
    toolkit = _looked_at(asked, "added")
    folder = str(toolkit.path)
    if hiding := hiding_character(folder):
        raise UsageError(
            f"Cannot add the folder {folder!a}: its name holds {hiding!a}.",
            why="Such a character hides what a list says.",
            hint="Choose or rename to a folder without it; spaces, quotes and letters of any language are fine.",
        )
    with list_lock("toolkits"):
        known = read_added()
        if toolkit.path in known:
            return AddedToolkit(toolkit, is_new=False)
        _write_added([*known, toolkit.path])
    return AddedToolkit(toolkit, is_new=True)


def forget_toolkit(folder: Path) -> bool:
    """Take a folder out of the user's list, and nothing else; gives whether it was there.

    Args:
        folder: absolute and normalised; whether it still exists does not matter.

    Raises:
        InvalidFileError: the list is damaged.
        BusyError: another envkit is at it.
    """
    if folder not in read_added():  # no lock, and so no folder to write in, for that
        return False
    with list_lock("toolkits"):
        known = read_added()
        others = [item for item in known if item != folder]
        if len(others) == len(known):
            return False
        _write_added(others)
    return True


def _write_added(folders: Iterable[Path]) -> None:
    text = yaml.safe_dump(
        {"schema": SCHEMA, "toolkits": [str(folder) for folder in folders]}, sort_keys=False, allow_unicode=True
    )
    fs.make_folder(added_file().parent)
    fs.write_text(added_file(), text)


def environment_prefixes(notes: list[Note]) -> list[Path]:
    """The environments whose packages may bring a toolkit: envkit's, conda's own, and those that conda knows.

    Args:
        notes: takes why those of conda cannot be told.
    """
    try:
        found = [entry for entry in paths.envs_dir().iterdir() if not entry.name.startswith(".")]
    except OSError:  # none yet
        found = []
    found += registered_prefixes()
    program = find_conda()
    if program is not None and program.root is not None:
        found.append(program.root)
    try:
        found += conda_prefixes()
    except EnvkitError as error:
        notes.append(Note(Path.home() / ".condarc", "conda", f"{error.message} Environments of conda are left out."))
    return found
