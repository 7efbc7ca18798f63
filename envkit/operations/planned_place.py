"""Where an environment would go, before there is a plan for it: for checks that come before everything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from envkit import paths
from envkit.backends.conda import find_conda, prefix_for
from envkit.installers.uv import uv_cache_place
from envkit.operations.places import conda_envs_dirs

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.lock import Lock
    from envkit.model.spec import Spec


@dataclass(frozen=True, slots=True)
class PlannedPlace:
    """What ``envkit create`` would choose with ``--backend auto``.

    Attributes:
        folder: the prefix, or the folder for prefixes where the environment has no name yet.
        is_prefix: which of the two.
        backend: that makes it, as far as that is known without looking for a Python.
        cache: of uv or py-rattler: its files are linked into environments.
        variable: which variable puts the cache elsewhere.
    """

    folder: Path
    is_prefix: bool
    backend: Literal["conda", "venv"]
    cache: Path
    variable: str


def planned_place(spec: Spec | None, lock: Lock | None, platform: str, prefix: Path | None) -> PlannedPlace:
    """The place of what ``spec`` and ``lock`` give.

    Args:
        spec: or None.
        lock: or None.
        platform: conda's name of this platform.
        prefix: what the user has given.

    Raises:
        InvalidFileError: a configuration file of conda or uv is broken.
    """
    installer = lock.installer if lock is not None else spec.installer if spec is not None else "pip"
    locked = lock.platforms.get(platform) if lock is not None else None
    is_conda = installer == "conda" or (locked is not None and bool(locked.base)) or find_conda() is not None
    backend: Literal["conda", "venv"] = "conda" if is_conda else "venv"
    name = spec.environment_name if spec is not None else None
    folder = prefix if prefix is not None else _folder(backend, name)
    is_prefix = prefix is not None or name is not None
    if installer == "conda":
        from envkit.installers.rattler.network import rattler_cache  # noqa: PLC0415 - not needed for pip

        return PlannedPlace(folder, is_prefix, backend, rattler_cache(), "RATTLER_CACHE_DIR")
    return PlannedPlace(folder, is_prefix, backend, uv_cache_place(), "UV_CACHE_DIR")


def _folder(backend: str, name: str | None) -> Path:
    if backend == "venv":
        return paths.envs_dir() / name if name is not None else paths.envs_dir()
    folders = conda_envs_dirs()
    place = prefix_for(name or "environment", folders)
    return place if name is not None else place.parent
