"""How an environment's packages differ from its lock: those of pip and those of conda, each by their own names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.installers.installed import BUILD_TOOLS, conda_packages, installed_packages, pip_packages
from envkit.model.lock import Drift

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from envkit.model.lock import Lock


def drift_of(prefix: Path, lock: Lock, platform: str) -> tuple[Drift, ...]:
    """How the installed packages differ from the locked ones.

    In an environment of the installer conda pip, setuptools and wheel may be anybody's.

    Raises:
        OSError: the folder of packages cannot be listed.
    """
    found = lock.platforms[platform]
    of_conda = {item.name: f"{item.version} {item.build}" for item in found.base}
    of_pip = {item.name: item.version for item in found.packages}
    installed = pip_packages(prefix)
    # a tool that conda has installed in the locked version is what the lock says
    beside = installed_packages(prefix)
    installed |= {name: beside[name] for name in of_pip.keys() & beside.keys() if name not in installed}
    # the version of an editable project changes with its folder
    of_pip |= {item.name: installed.get(item.name, item.version) for item in lock.additions.editables}
    if lock.installer == "conda":
        added = {name: version for name, version in installed.items() if name in of_pip or name not in BUILD_TOOLS}
        return (*_differing(of_conda, conda_packages(prefix)), *_differing(of_pip, added, "pip"))
    base = _differing(of_conda, conda_packages(prefix), "conda") if of_conda else ()
    return (*_differing(of_pip, installed), *base)


def _differing(
    locked: Mapping[str, str], installed: Mapping[str, str], installer: str | None = None
) -> tuple[Drift, ...]:
    return tuple(
        Drift(name, locked.get(name), installed.get(name), installer)
        for name in sorted(locked.keys() | installed.keys())
        if locked.get(name) != installed.get(name)
    )
