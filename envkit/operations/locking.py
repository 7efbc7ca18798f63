"""One envkit per prefix at a time."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from hashlib import sha256
from typing import TYPE_CHECKING

from envkit import fs, paths
from envkit.errors import BusyError
from envkit.operations import clock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from envkit.model.progress import Progress

LOCK_TIMEOUT_S = 1800.0
"""A creation over a slow line takes longer than a user waits for another one."""
_TELL_AFTER_S = 1.0


@contextlib.contextmanager
def prefix_lock(
    prefix: Path, operation: str, progress: Progress, *, timeout_s: float = LOCK_TIMEOUT_S
) -> Iterator[None]:
    """Hold the lock of ``prefix`` while the block runs; a longer wait tells whom it waits for.

    Raises:
        BusyError: another envkit held it for ``timeout_s`` seconds.
    """
    import filelock  # noqa: PLC0415 - listing and running need no lock, and start-up counts

    folder = paths.locks_dir()
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{prefix.name[:60]}-{sha256(os.fsencode(os.path.realpath(prefix))).hexdigest()[:8]}"
    holder = folder / f"{stem}.json"
    lock = filelock.FileLock(folder / f"{stem}.lock")
    try:
        lock.acquire(timeout=min(_TELL_AFTER_S, timeout_s))
    except filelock.Timeout:
        progress.note(f"Waiting for {_holder(holder)}, which works on {prefix.name}.")
        try:
            lock.acquire(timeout=max(0.0, timeout_s - _TELL_AFTER_S))
        except filelock.Timeout:
            raise BusyError(
                f"{prefix.name} is in use by {_holder(holder)}.",
                why=f"It did not become free within {timeout_s:g} s.",
                hint="Wait until it is done, or stop it.",
            ) from None
    try:
        with contextlib.suppress(OSError):
            fs.write_json(
                holder,
                {"pid": os.getpid(), "host": socket.gethostname(), "operation": operation, "since": clock.now()},
            )
        yield
    finally:
        lock.release()


def _holder(path: Path) -> str:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return f"`envkit {told['operation']}` (process {told['pid']} on {told['host']}, since {told['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another envkit"


@contextlib.contextmanager
def list_lock(name: str) -> Iterator[None]:
    """Hold the lock of one of envkit's own lists (``prefixes.txt``, ...) while it is read and written again."""
    import filelock  # noqa: PLC0415 - as above

    folder = paths.locks_dir()
    folder.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(folder / f"{name}.lock", timeout=60):
        yield
