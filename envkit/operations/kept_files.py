"""A user's own files in an environment that is replaced: they come along into the new one."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from envkit.installers.installed import unowned_files
from envkit.operations.own_files import OWN_FILES
from envkit.operations.recovery import VENV_NAMES

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.progress import Progress

KEPT = "replaced-files"
"""Folder in the new environment for what lay between the packages of the old one: there it could break the new ones."""


def keep_files(old: Path, new: Path, progress: Progress) -> None:
    """Bring what no package and no envkit owns in ``old`` into ``new``; it stays in ``old``, too.

    Files are linked where that can be done, so that checkpoints of many gigabytes cost nothing. What the new one has at
    the same place belongs to its packages.

    Raises:
        OSError: there is no room.
    """
    count = displaced = 0
    for path in unowned_files(old, OWN_FILES):
        relative = path.relative_to(old)
        if os.path.lexists(new / relative):
            continue
        among_packages = relative.parts[0] in VENV_NAMES
        target = new / KEPT / relative if among_packages else new / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        _bring(path, target)
        count += 1
        displaced += among_packages
    if count:
        where = f", {displaced} of them, which lay among the packages, in {new / KEPT}" if displaced else ""
        progress.note(f"{count} files of your own were kept{where}.")


def _bring(path: Path, target: Path) -> None:
    if path.is_symlink():
        target.symlink_to(os.readlink(path))  # noqa: PTH115 - as it is written
        return
    try:
        os.link(path, target)
    except OSError:  # a file system without hard links
        shutil.copy2(path, target)
