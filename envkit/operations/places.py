"""How a command line names the place of an environment: for hints, which have to work when they are typed."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from envkit import paths
from envkit.errors import EnvkitError

if TYPE_CHECKING:
    from pathlib import Path


def conda_envs_dirs() -> tuple[Path, ...]:
    """The folders in which conda looks for environments by name.

    Raises:
        InvalidFileError: ``.condarc`` is broken.
    """
    from envkit.installers.condarc import read_conda_settings  # noqa: PLC0415 - `envkit list` does not need it

    return read_conda_settings().envs_dirs


def is_elsewhere(prefix: Path) -> bool:
    """Whether it is outside envkit's own folder and conda's, so that its path has to be typed."""
    if prefix.parent == paths.envs_dir():
        return False
    try:
        return prefix.parent not in conda_envs_dirs()
    except EnvkitError:
        return True


def place_options(prefix: Path) -> str:
    """The option of create and restore that means ``prefix``."""
    if not is_elsewhere(prefix):
        return f"--name {shlex.quote(prefix.name)}"
    return f"--prefix {shlex.quote(str(prefix))}"


def other_place(prefix: Path) -> str:
    """The same for a free place beside it."""
    number = 2
    while os.path.lexists(free := prefix.with_name(f"{prefix.name}_{number}")):
        number += 1
    return place_options(free)
