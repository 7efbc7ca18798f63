"""What the command line can ask of create and restore."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from envkit.operations.locking import LOCK_TIMEOUT_S

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from envkit.model.driver import DriverVersion


@dataclass(frozen=True, slots=True)
class CreateOptions:
    """Options of create and restore; each is named as on the command line.

    Attributes:
        name, prefix: where the environment goes; at most one of the two.
        backend: "auto", "conda" or "venv".
        engine: "uv" or "pip".
        python: a version or a program.
        preferred_python: a full version that is taken where it is here: what a restored environment had.
        cuda: the CUDA that the driver of the target machine serves, "auto" for this machine's.
        driver: the version of that driver.
        gpus: the names of that machine's GPUs.
        toolkit: a release, a folder or "none".
        offline: nothing but this disk is asked.
        wheelhouse: a folder with wheels.
        replace: an environment at that place gives way.
        update_lock: the lock is made again when it is older than its spec.
        guard: whether the locked versions are kept from pip and uv afterwards.
        verify: whether the new environment is verified.
        dry_run: nothing is changed.
        force: a machine that does not fit is no obstacle.
        trusted_hosts: sources' hosts that the user has confirmed.
        confirm: asks the user; answers no where nobody can be asked.
        lock_timeout_s: how long another envkit is waited for.
        break_lock: a change by another machine that shows no sign of life counts as cut off.
    """

    name: str | None = None
    prefix: Path | None = None
    backend: str = "auto"
    engine: str = "uv"
    python: str | None = None
    preferred_python: str | None = None
    cuda: str | None = None
    driver: DriverVersion | None = None
    gpus: tuple[str, ...] = ()
    toolkit: str | None = None
    offline: bool = False
    wheelhouse: Path | None = None
    replace: bool = False
    update_lock: bool = False
    guard: bool = True
    verify: bool = True
    dry_run: bool = False
    force: bool = False
    trusted_hosts: tuple[str, ...] = ()
    confirm: Callable[[str], bool] = lambda _question: False
    lock_timeout_s: float = LOCK_TIMEOUT_S
    break_lock: bool = False
