"""A sign of life that other machines can see: the modification time of a file, renewed while this process lives."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING

from envkit.errors import EnvkitError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

EVERY_S = 5.0
"""Seconds between two renewals."""
_stops: dict[str, threading.Event] = {}


def start(token: str, path: Path, is_ours: Callable[[], bool]) -> None:
    """Renew the modification time of ``path`` until ``stop``, as long as the file is ours."""
    stopped = _stops[token] = threading.Event()

    def _beat() -> None:
        while not stopped.wait(EVERY_S):
            with contextlib.suppress(OSError, EnvkitError):
                if is_ours():
                    os.utime(path)

    threading.Thread(target=_beat, name="envkit heartbeat", daemon=True).start()


def stop(token: str) -> None:
    """End what ``start`` began; again is fine."""
    stopped = _stops.pop(token, None)
    if stopped is not None:
        stopped.set()
