"""Remove a toolkit that envkit has installed; one that was added is only forgotten, any other one left alone."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envkit import fs, paths
from envkit.errors import NotFoundError, StorageError, UsageError
from envkit.model.toolkit import RECORD, means
from envkit.operations.environments import is_path, prefix_from
from envkit.operations.installed_toolkits import has_toolkit_record, installed_folders, own_files_in, version_of
from envkit.operations.locking import prefix_lock, sweep
from envkit.operations.remove import tell_users
from envkit.operations.toolkit_users import toolkit_users
from envkit.operations.toolkit_versions import asked_version
from envkit.operations.toolkits import forget_toolkit
from envkit.probes.added_toolkits import read_added
from envkit.probes.toolkits import find_toolkits, toolkit_at

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from envkit.model.progress import Progress

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class ToolkitRemoval:
    """What has become of a toolkit.

    Attributes:
        removed: the folder that was deleted, or None.
        forgotten: the folder that was taken out of the list of ``cuda add`` and is still there, or None.
    """

    removed: Path | None = None
    forgotten: Path | None = None

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit cuda remove --json`` (docs/json.md)."""
        return {
            "removed": str(self.removed) if self.removed is not None else None,
            "forgotten": str(self.forgotten) if self.forgotten is not None else None,
        }


def remove_toolkit(asked: str, *, confirm: Callable[[str], bool], progress: Progress) -> ToolkitRemoval:
    """Delete a toolkit that envkit has installed, or forget one that was added.

    Args:
        asked: a release, a full version or a folder.
        confirm: asked where environments or programs use it, or files of the user's are in it; the answer no leaves
            everything.
        progress: told what happens.

    Raises:
        NotFoundError: there is no such toolkit.
        UsageError: it is neither installed by envkit nor added, several are meant, or it was not confirmed.
        BusyError: another envkit works on it.
        StorageError: it cannot be deleted.
    """
    folder = _folder_of(asked)
    if not _is_ours(folder):
        if forget_toolkit(folder):
            return ToolkitRemoval(forgotten=folder)
        raise _refusal(folder)
    sweep(folder)
    _confirm_own_files(folder, confirm, progress)
    _confirm(folder, confirm, progress)
    with prefix_lock(folder, "cuda remove", progress):
        if not _is_ours(folder):
            raise NotFoundError(f"{folder} has been removed meanwhile.")
        _delete(folder)
    return ToolkitRemoval(removed=folder)


def _folder_of(asked: str) -> Path:
    if is_path(asked):
        return prefix_from(asked)
    version = asked_version(asked)
    if version is None:
        raise UsageError(
            f"{asked!r} is no version of CUDA.",
            hint="Give it as in 13.2 or 13.2.1, or a folder by its path, as in ./cuda-13.2.",
        )

    matching = [folder for folder in installed_folders() if means(version, version_of(folder))]
    if not matching:
        added = ((folder, toolkit_at(folder, "added")) for folder in read_added())
        matching = [
            folder for folder, toolkit in added if toolkit is not None and means(version, toolkit.version or "")
        ]
    if len(matching) == 1:
        return matching[0]
    if matching:
        names = ", ".join(str(folder) for folder in matching)
        raise UsageError(f"{asked} means several: {names}.", hint="Give the full version, or the folder.")
    others = [toolkit for toolkit in find_toolkits() if means(version, toolkit.version or "")]
    why = "".join(f"CUDA {item.version} in {item.path} was not installed by envkit.\n" for item in others).strip()
    raise NotFoundError(
        f"envkit has installed no CUDA {asked}.",
        why=why or None,
        hint="It removes what `envkit cuda install` has installed, and forgets what `envkit cuda add` has added.",
    )


def _is_ours(folder: Path) -> bool:
    """Whether envkit has installed it: right in the folder of toolkits, with a record, and no link to elsewhere."""
    parents = os.path.realpath(folder.parent), os.path.realpath(paths.toolkits_dir())
    return parents[0] == parents[1] and not folder.is_symlink() and has_toolkit_record(folder)


def _refusal(folder: Path) -> NotFoundError | UsageError:
    if not os.path.lexists(folder):
        return NotFoundError(f"There is no folder {folder}.")
    if folder.is_symlink():
        where = os.path.realpath(folder)
        return UsageError(f"{folder} is a link to {where}; nothing was changed.", hint="Name the folder itself.")
    if _is_ours(folder.parent) or folder.parent in read_added():
        hint = f"The toolkit's folder is the one above: {folder.parent}."
        return UsageError(f"{folder} is a part of a toolkit; nothing was changed.", hint=hint)
    return UsageError(
        f"{folder} was not installed by envkit; nothing was changed.",
        why=f"It has no {RECORD}, or does not lie in {paths.toolkits_dir()}, and `envkit cuda add` has not added it.",
        hint="Remove it by what has installed it: apt, dnf, conda, or `bin/cuda-uninstaller` of a run file.",
    )


def _confirm_own_files(folder: Path, confirm: Callable[[str], bool], progress: Progress) -> None:
    """Say which files envkit has not installed: nothing brings these back."""
    own = own_files_in(folder)
    if own == ():
        return
    if own is None:
        progress.note(f"which of the files in {folder} are yours cannot be told: their list is missing or damaged")
    else:
        rest = f" and {len(own) - _SHOWN} more" if len(own) > _SHOWN else ""
        count = "1 file" if len(own) == 1 else f"{len(own)} files"
        shown = ", ".join(ascii(name)[1:-1] if not name.isprintable() else name for name in own[:_SHOWN])
        progress.note(f"{count} in it that `envkit cuda install` did not put there: {shown}{rest}")
    if not confirm(f"Remove {folder}, with your own files in it?"):
        raise UsageError(
            f"{folder} was not removed: it was not confirmed.",
            why="Files in it are not of the toolkit that envkit has installed.",
            hint="Move them away, or confirm with --yes.",
        )


def _confirm(folder: Path, confirm: Callable[[str], bool], progress: Progress) -> None:
    """Say who uses it; nobody is asked where nobody does, for it can be installed again."""
    users = toolkit_users(folder)
    for line in users:
        progress.note(line)
    toolkit = toolkit_at(folder, "envkit")
    if toolkit is not None and toolkit.cudnn is not None:
        progress.note(f"cuDNN {toolkit.cudnn.version or ''} in it goes too".replace("  ", " "))
    is_running = tell_users(folder, progress)
    if (users or is_running) and not confirm(f"Remove {folder}, which is in use?"):
        raise UsageError(f"{folder} was not removed: it was not confirmed.", hint="Confirm with --yes.")


def _delete(folder: Path) -> None:
    """Move the folder aside in one step, so that there is never half a toolkit, then delete it.

    Where it is killed in between, the next envkit finds it by its name (``fs.sweep_temporaries``).
    """
    gone = folder.with_name(f"{fs.temporary_start()}{secrets.token_hex(4)}")
    folder.rename(gone)
    fs.sync_folder(folder.parent)
    try:
        fs.remove_tree(gone)
    except OSError as error:
        raise StorageError(
            f"{folder.name} is removed, but not all of its files could be deleted yet.",
            why=f"{error.strerror}: {error.filename}",
            hint=f"The rest lies in {gone}; a later `envkit cuda install` or `envkit cuda remove` deletes it.",
        ) from error
