"""A user's own files in an environment that is replaced: they are kept, in a folder of the new one."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from envkit.installers.installed import unowned_files
from envkit.operations.own_files import own_files
from envkit.operations.recovery import KEPT

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.progress import Progress


def keep_files(old: Path, new: Path, progress: Progress) -> None:
    """Bring what no package and no envkit owns in ``old`` into a folder in ``new``; it stays in ``old``, too.

    At their old places the files could break the new packages, which may be why one replaces.

    Files are linked where that can be done, so that checkpoints of many gigabytes cost nothing. What the new one has at
    the same place belongs to its packages, whose RECORD had gone.

    Raises:
        OSError: there is no room.
    """
    count = 0
    for path in unowned_files(old, own_files(old)):
        relative = path.relative_to(old)
        target = new / relative if relative.parts[0] == KEPT else new / KEPT / relative
        if os.path.lexists(new / relative) or os.path.lexists(target):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        _bring(path, target)
        count += 1
    if count:
        progress.note(f"Files of your own were in it: {count}. They lie in {new / KEPT} now.")


def _bring(path: Path, target: Path) -> None:
    if path.is_symlink():
        target.symlink_to(os.readlink(path))  # noqa: PTH115 - as it is written
        return
    try:
        os.link(path, target)
    except OSError:  # a file system without hard links
        shutil.copy2(path, target)
