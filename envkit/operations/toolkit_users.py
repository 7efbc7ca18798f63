"""Who switches to a toolkit, as far as envkit can know: what is named before the toolkit is removed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from envkit.activation.slots import PREFIX_VARIABLES
from envkit.errors import InvalidFileError
from envkit.operations.environments import all_environments
from envkit.operations.hooked_prefixes import hooked_prefixes
from envkit.operations.hooks_unmanaged import recorded_hooks

if TYPE_CHECKING:
    from collections.abc import Iterator

_SLOTS = ("WINDOW", "VENV", "CONDA")
_NAMES = ("CUDA_HOME", "CUDA_PATH", *(f"_ENVKIT_{slot}_TOOLKIT" for slot in _SLOTS))


def toolkit_users(folder: Path) -> list[str]:
    """A line for each environment, prefix with hooks, and variable of this very window that names the toolkit.

    Args:
        folder: the toolkit's, by whatever links the others reach it.
    """
    place = os.path.realpath(folder)

    def _is_it(path: Path | str) -> bool:
        return os.path.realpath(path) == place

    users = [
        f"the environment {item.name} switches to it"
        for item in all_environments()
        if item.toolkit is not None and _is_it(item.toolkit.path)
    ]
    for prefix in _prefixes():
        try:
            record = recorded_hooks(prefix)
        except (InvalidFileError, OSError):  # damaged: what it says is not known
            continue
        if record is not None and _is_it(record.toolkit.path):
            users.append(f"{prefix}, which envkit did not make, has hooks that switch to it")
    named = [name for name in _NAMES if os.environ.get(name) and _is_it(os.environ[name])]
    if named:
        users.append(f"this very window uses it: {' and '.join(named)}")
    return users


def _prefixes() -> Iterator[Path]:
    """Those in the list of hooks, and the active ones, which an older envkit may have given theirs; each once."""
    active = [Path(os.environ[name]) for name in PREFIX_VARIABLES.values() if os.environ.get(name)]
    yield from {os.path.realpath(prefix): prefix for prefix in (*hooked_prefixes(), *active)}.values()
