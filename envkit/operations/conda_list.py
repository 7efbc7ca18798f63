"""conda's list of environments, kept true: it names an environment of envkit's as long as that is there."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from envkit.backends import conda
from envkit.errors import EnvkitError
from envkit.installers.conda_meta import is_conda_prefix
from envkit.model.environment import RECORD
from envkit.operations.locking import list_lock

if TYPE_CHECKING:
    from pathlib import Path


def keep_conda_list(prefix: Path) -> None:
    """Write a prefix into ``~/.conda/environments.txt`` when it is a complete conda environment; else out of it.

    A list that cannot be read or written stays as it is: conda finds environments in its own folders all the same.
    """
    belongs = (prefix / RECORD).is_file() and is_conda_prefix(prefix)
    if conda.is_registered(prefix) == belongs:
        return
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, EnvkitError):  # a full disk: another envkit is hardly at the list right now
            stack.enter_context(list_lock("environments"))
        if belongs:
            conda.register(prefix)
        else:
            conda.unregister(prefix)
