"""What preflight looks at on this machine besides driver, card, Python and C library (docs/preflight-checks.md)."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from envkit.errors import EnvkitError
from envkit.model.fit import FitCheck
from envkit.operations.compiler_checks import compiler_checks
from envkit.operations.disk_checks import disk_checks
from envkit.operations.hardware_checks import cpu_check, memory_check, wsl_check
from envkit.operations.leftover_checks import (
    active_environment_check,
    library_path_check,
    path_check,
    python_variables_check,
    visible_devices_check,
)
from envkit.operations.path_checks import path_checks
from envkit.operations.planned_place import PlannedPlace, planned_place
from envkit.operations.user_settings_checks import conda_check, pip_settings_check, user_site_check
from envkit.operations.windows_checks import windows_checks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from envkit.model.lock import Lock
    from envkit.model.spec import Spec

    _Look = tuple[str, Callable[[], FitCheck | Iterable[FitCheck] | None]]


@dataclass(frozen=True, slots=True)
class SystemNeed:
    """What is to be created here.

    Attributes:
        spec: what is wanted; None: nothing in particular.
        lock: its lock, where there is one.
        platform: conda's name of this platform.
        prefix: the folder of the environment, where that is known.
        network: whether indexes and channels are asked.
        gpus: how many the driver lists; None: not known.
    """

    spec: Spec | None
    lock: Lock | None
    platform: str
    prefix: Path | None
    network: bool
    gpus: int | None = None


def system_checks(need: SystemNeed) -> tuple[FitCheck, ...]:
    """Everything that is looked at, in the order in which it is shown.

    Nothing here raises: what cannot be looked at is "unknown", with the reason. Nothing is written, and nothing is run
    but ``gcc`` for its version, an nvcc that is a wrapper, and ``quota`` where the file system has quotas.
    """
    found: list[FitCheck] = []
    for name, look in _looks(need):
        try:
            result = look()
        except _ODD as error:
            result = _unknown(name, error)
        found += [result] if isinstance(result, FitCheck) else result or ()
    return tuple(found)


_ODD = (EnvkitError, OSError, ValueError, RuntimeError)
"""What a broken configuration file gives, and what is odd on a machine, such as a user without a home folder."""


def _unknown(name: str, error: Exception) -> FitCheck:
    if isinstance(error, EnvkitError):
        return FitCheck(name, "unknown", why=" ".join(filter(None, (error.message, error.why))), hint=error.hint)
    return FitCheck(name, "unknown", why=f"It cannot be looked at: {str(error).rstrip('.') or type(error).__name__}.")


def _looks(need: SystemNeed) -> list[_Look]:
    """Each look with the id that stands for it where it fails."""
    environ, place = os.environ, _place(need)
    folder = place.folder if isinstance(place, PlannedPlace) else Path(os.sep)
    named = need.spec if need.spec is not None else need.lock
    is_cpu = named is not None and named.cuda is None
    looks: list[_Look] = [
        ("cpu", partial(cpu_check, need.platform)),
        ("memory", memory_check),
        ("wsl", wsl_check),
        *_looks_at(place, need),
        ("toolkit", partial(compiler_checks, need.spec, need.lock, folder)),
        ("path", partial(path_check, environ)),
        ("library-path", partial(library_path_check, environ)),
        ("python-variables", partial(python_variables_check, environ)),
    ]
    if named is not None and isinstance(place, PlannedPlace):
        looks.append(("user-site", partial(user_site_check, named.python, place, need.lock, environ)))
    looks += [
        ("pip-settings", partial(pip_settings_check, environ)),
        ("visible-devices", partial(visible_devices_check, environ, is_cpu=is_cpu, gpus=need.gpus)),
        ("active-environment", partial(active_environment_check, environ)),
        ("conda", partial(conda_check, need.spec, environ)),
    ]
    if sys.platform == "win32":
        looks.append(("windows", partial(windows_checks, folder)))
    if need.network:
        from envkit.operations.network_checks import network_checks  # noqa: PLC0415 - ssl takes long to load

        looks.append(("network", partial(network_checks, need.spec, need.platform, environ)))
    return looks


def _looks_at(place: PlannedPlace | FitCheck, need: SystemNeed) -> list[_Look]:
    if isinstance(place, FitCheck):
        return [(place.id, lambda: place)]
    return [
        ("disk", partial(disk_checks, place, need.lock, need.platform)),
        ("writable", partial(path_checks, place)),
    ]


def _place(need: SystemNeed) -> PlannedPlace | FitCheck:
    """Where the environment would go, or why that cannot be told."""
    try:
        return planned_place(need.spec, need.lock, need.platform, need.prefix)
    except _ODD as error:
        return _unknown("prefix-path", error)
