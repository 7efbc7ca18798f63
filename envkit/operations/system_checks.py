"""What preflight looks at on this machine besides driver, card, Python and C library (docs/preflight-checks.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.fit import FitCheck
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
    """Everything that is looked at; nothing here raises, and nothing is run but a gcc's ``--version``."""
    del need
    return ()
