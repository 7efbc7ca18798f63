"""What preflight looks at on this machine besides driver, card, Python and C library (docs/preflight-checks.md)."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from envkit import paths
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
    from pathlib import Path

    from envkit.model.lock import Lock
    from envkit.model.spec import Spec


@dataclass(frozen=True, slots=True)
class SystemNeed:
    """What is to be created here.

    Attributes:
        spec: what is wanted; None: nothing in particular.
        lock: its lock, where there is one.
        platform: conda's name of this platform.
        prefix: the folder of the environment, where that is known.
        network: whether indexes and channels are asked.
    """

    spec: Spec | None
    lock: Lock | None
    platform: str
    prefix: Path | None
    network: bool


def system_checks(need: SystemNeed) -> tuple[FitCheck, ...]:
    """Everything that is looked at, in the order in which it is shown.

    Nothing here raises: what cannot be looked at is "unknown", with the reason. Nothing is written, and nothing is run
    but ``gcc`` for its version, an nvcc that is a wrapper, and ``quota`` where the file system has quotas.
    """
    found: list[FitCheck] = []
    for name, look in _looks(need):
        try:
            result = look()
        except EnvkitError as error:
            result = FitCheck(name, "unknown", why=" ".join(filter(None, (error.message, error.why))), hint=error.hint)
        except (OSError, ValueError, RuntimeError) as error:  # of what is odd on this machine, such as no home folder
            result = FitCheck(name, "unknown", why=f"It cannot be looked at: {str(error) or type(error).__name__}.")
        found += [result] if isinstance(result, FitCheck) else result or ()
    return tuple(found)


def _looks(need: SystemNeed) -> list[tuple[str, Callable[[], FitCheck | Iterable[FitCheck] | None]]]:
    """Each look with the id that stands for it where it fails."""
    environ = os.environ
    place, problem = _place(need)
    named = need.spec if need.spec is not None else need.lock
    is_cpu = named is not None and named.cuda is None
    looks: list[tuple[str, Callable[[], FitCheck | Iterable[FitCheck] | None]]] = [
        ("cpu", partial(cpu_check, need.platform)),
        ("memory", memory_check),
        ("wsl", wsl_check),
    ]
    if place is None:
        looks.append(("prefix-path", partial(_told, problem)))
    else:
        looks += [
            ("disk", partial(disk_checks, place, need.lock, need.platform)),
            ("writable", partial(path_checks, place)),
        ]
    folder = place.folder if place is not None else paths.envs_dir()
    looks += [
        ("toolkit", partial(compiler_checks, need.spec, need.lock, folder)),
        ("path", partial(path_check, environ)),
        ("library-path", partial(library_path_check, environ)),
        ("python-variables", partial(python_variables_check, environ)),
    ]
    if named is not None and place is not None:
        looks.append(("user-site", partial(user_site_check, named.python, place, need.lock, environ)))
    looks += [
        ("pip-settings", partial(pip_settings_check, environ)),
        ("visible-devices", partial(visible_devices_check, environ, is_cpu=is_cpu)),
        ("active-environment", partial(active_environment_check, environ)),
        ("conda", partial(conda_check, need.spec, environ)),
    ]
    if sys.platform == "win32":
        looks.append(("windows", partial(windows_checks, folder)))
    if need.network:
        from envkit.operations.network_checks import network_checks  # noqa: PLC0415 - ssl takes long to load

        looks.append(("network", partial(network_checks, need.spec, need.platform, environ)))
    return looks


def _place(need: SystemNeed) -> tuple[PlannedPlace | None, EnvkitError | None]:
    try:
        return planned_place(need.spec, need.lock, need.platform, need.prefix), None
    except EnvkitError as error:
        return None, error


def _told(problem: EnvkitError | None) -> FitCheck:
    """Why it is not known where the environment would go."""
    why = problem.message if problem is not None else None
    hint = problem.hint if problem is not None else None
    return FitCheck("prefix-path", "unknown", why=why, hint=hint)
