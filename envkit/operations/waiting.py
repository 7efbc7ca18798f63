"""Waiting for whoever changes a prefix, and judging whether that process still lives."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from envkit.errors import BusyError
from envkit.operations import heartbeat
from envkit.operations import journal as journals

if TYPE_CHECKING:
    from envkit.model.progress import Progress
    from envkit.operations.journal import Journal

_POLL_S = 0.2
_WATCH_BEATS = 3.0
"""Heartbeats that are waited for before a process that cannot be looked up counts as dead."""
_FRESH_S = 60.0


def wait_for_the_end(journal: Journal, progress: Progress, timeout_s: float, *, break_lock: bool) -> Journal | None:
    """The journal once its writer is dead; None when the change was ended meanwhile."""
    prefix, until, told = journal.prefix, time.monotonic() + timeout_s, False
    current: Journal | None = journal
    while current is not None and current.owner.liveness() == "alive":
        if time.monotonic() >= until:
            raise BusyError(
                f"{prefix} is being changed by {current.owner}, since {current.started_at}.",
                why=f"It did not end within {timeout_s:g} s." if timeout_s else None,
                hint="Wait until it is done, or stop it.",
            )
        if not told:
            progress.note(f"Waiting for {current.owner}, which has been changing {prefix} since {current.started_at}.")
            told = True
        time.sleep(_POLL_S)
        current = journals.read(prefix)
    if current is None:
        return None
    if current.owner.liveness() == "dead" and not (current.operation == "damaged" and _is_fresh(current)):
        return current
    return _judge_from_afar(current, progress, break_lock=break_lock)


def _judge_from_afar(journal: Journal, progress: Progress, *, break_lock: bool) -> Journal | None:
    """Decide about a writer whose process cannot be looked up from here; None when the change was ended meanwhile.

    Raises:
        BusyError: it lives, or nobody said that it does not.
    """
    elsewhere = journal.owner.liveness() == "elsewhere"
    who = f"{journal.owner}, since {journal.started_at}"
    if elsewhere and not break_lock:
        raise BusyError(
            f"{journal.prefix} is being changed from another machine: {who}.",
            why=f"Whether that still runs cannot be told from here{_age(journal)}.",
            hint="Wait, or look there. If it has died, run again with --break-lock: what it left is cleaned up then.",
        )
    progress.note(f"{journal.prefix} was being changed by {who}{_age(journal)}; watching for a sign of life.")
    before = journal.last_sign_of_life()
    until = time.monotonic() + _WATCH_BEATS * heartbeat.EVERY_S
    while time.monotonic() < until:
        time.sleep(_POLL_S)
        now = journal.last_sign_of_life()
        if now is None:
            return None
        if now != before:
            raise BusyError(
                f"{journal.prefix} is being changed by {who}.",
                why="It is alive: it has just renewed its journal.",
                hint="Wait until it is done, or stop it there.",
            )
    progress.note(f"No sign of life: {journal.owner} counts as dead.")
    return journals.read(journal.prefix)


def _is_fresh(journal: Journal) -> bool:
    """Whether a journal that cannot be read may have a writer who lives."""
    seen = journal.last_sign_of_life()
    return seen is not None and abs(time.time() - seen / 1e9) < _FRESH_S


def _age(journal: Journal) -> str:
    seen = journal.last_sign_of_life()
    if seen is None:
        return ""
    seconds = time.time() - seen / 1e9
    return f"; its last sign of life was {seconds:.0f} s ago by this machine's clock" if seconds >= 0 else ""
