"""Editable projects of an environment: which folders can be such, and how they come back with it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from envkit.errors import UsageError
from envkit.installers.editable import install_editable
from envkit.model.environment import python_of
from envkit.operations.environments import prefix_from

if TYPE_CHECKING:
    from envkit.installers.indexes import PipConfig
    from envkit.model.lock import Lock
    from envkit.model.progress import Progress


def project_folder(text: str) -> tuple[Path, str]:
    """The folder, and the extras with their brackets, that ``-e DIR`` or ``-e DIR[EXTRA]`` means.

    Raises:
        UsageError: it holds no project.
    """
    path, extras = prefix_from(text), ""
    if not path.exists() and text.endswith("]"):
        before, _, names = text[:-1].rpartition("[")
        path, extras = prefix_from(before), f"[{names}]"
    if is_project(path):
        return path, extras
    raise UsageError(
        f"-e {text}: there is no project that can be installed.",
        why=f"{path} is no folder." if not path.is_dir() else f"{path} has neither pyproject.toml nor setup.py.",
        hint="Name the folder with its pyproject.toml; packages of an index are added by their names.",
    )


def is_project(folder: Path) -> bool:
    """Whether a folder holds what a build needs."""
    return (folder / "pyproject.toml").is_file() or (folder / "setup.py").is_file()


def without_editables(lock: Lock, progress: Progress) -> Lock:
    """A lock from outside without its editable projects: their folders are another environment's business."""
    for item in lock.additions.editables:
        progress.note(f"{item.name} is an editable project in {item.path}; it is left out. Add it with `envkit add`.")
    return replace(lock, additions=replace(lock.additions, editables=()))


def reinstall_editables(prefix: Path, lock: Lock, config: PipConfig, *, offline: bool, progress: Progress) -> None:
    """Install the editable projects of an environment's own lock again.

    One whose folder is gone, on a disk that is not mounted for instance, stays in the lock.

    Raises:
        ProgramError: one cannot be built.
    """
    for item in lock.additions.editables:
        if is_project(Path(item.path)):
            install_editable(python_of(prefix), Path(item.path), config, offline=offline, progress=progress)
        else:
            progress.note(
                f"{item.name} is left out: its folder {item.path} is gone. When it is back, "
                "`envkit restore ENV --replace` brings it."
            )
