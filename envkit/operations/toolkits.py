"""Which toolkit an environment's activation switches to."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from envkit.activation import check_path
from envkit.errors import NotFoundError
from envkit.operations.environments import is_path, prefix_from
from envkit.probes.toolkits import choose_toolkit, find_toolkits, toolkit_at

_NVCC = "Library/bin/nvcc.exe" if os.name == "nt" else "bin/nvcc"
"""Where a conda prefix has the compiler of its channel's cuda-nvcc."""

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.toolkit import Toolkit


def toolkit_inside(prefix: Path) -> Toolkit | None:
    """The toolkit that a prefix brings itself (cuda-nvcc of a channel), or None."""
    return toolkit_at(prefix, "prefix") if (prefix / _NVCC).is_file() else None


def toolkit_for(release: str | None, asked: str | None) -> Toolkit | None:
    """The toolkit for an environment whose lock names ``release``; None: activation switches nothing.

    Args:
        release: "11.3", or None.
        asked: a release, a folder, "none", or None for what the lock says.

    Raises:
        NotFoundError: the toolkit that was asked for is not there. One that only the lock names may be missing: to run
            torch none is needed.
        UsageError: the folder's name cannot stand in PATH.
    """
    if asked == "none" or (asked is None and release is None):
        return None
    if asked is not None and (is_path(asked) or os.path.isdir(os.path.expanduser(asked))):  # noqa: PTH111,PTH112
        check_path(asked)
        found = toolkit_at(prefix_from(asked), "--toolkit")
        if found is None:
            raise NotFoundError(
                f"There is no CUDA toolkit in {asked}.", why="It has neither bin/nvcc nor CUDA's headers."
            )
        return found
    toolkits = find_toolkits()
    wanted = asked if asked is not None else str(release)
    chosen = choose_toolkit(".".join(wanted.split(".")[:2]), toolkits)
    if chosen is None and asked is not None:
        listed = ", ".join(f"{item.version or '?'} in {item.path}" for item in toolkits)
        raise NotFoundError(
            f"There is no CUDA toolkit {asked} on this machine.",
            why=f"Found: {listed}." if listed else "No toolkit was found.",
            hint="Give its folder: --toolkit DIR." if re.match(r"\d", asked) else "Give a release such as 11.3.",
        )
    if chosen is not None:
        check_path(str(chosen.path))
    return chosen
