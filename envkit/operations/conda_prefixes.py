"""The conda environments of this user."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from envkit.backends.conda import registered
from envkit.installers.conda_meta import is_conda_prefix
from envkit.operations.places import conda_envs_dirs

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def conda_prefixes() -> list[Path]:
    """The conda environments that this user's conda knows, whoever made them.

    Raises:
        InvalidFileError: a ``.condarc`` cannot be read.
    """
    found = list(registered())
    for folder in conda_envs_dirs():
        with contextlib.suppress(OSError):
            found += folder.iterdir()
    return [prefix for prefix in once(found) if _is_environment(prefix)]


def once(prefixes: Iterable[Path]) -> list[Path]:
    """Each folder once, whatever links lead to it."""
    return sorted({os.path.realpath(prefix): prefix for prefix in prefixes}.values())


def _is_environment(prefix: Path) -> bool:
    try:
        return is_conda_prefix(prefix)
    except OSError:  # of another user, in a folder that is closed
        return False
