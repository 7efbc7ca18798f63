"""One envkit per prefix at a time."""

from __future__ import annotations

import contextlib
import errno
import glob
import json
import os
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from envkit import fs, paths
from envkit.backends import conda
from envkit.errors import BusyError
from envkit.operations import clock
from envkit.owner import Owner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from envkit.model.progress import Progress

LOCK_TIMEOUT_S = 1800.0
"""A creation over a slow line takes longer than a user waits for another one."""
_LIST_TIMEOUT_S = 60.0
_TELL_AFTER_S = 1.0


@contextlib.contextmanager
def prefix_lock(
    prefix: Path,
    operation: str,
    progress: Progress,
    *,
    timeout_s: float = LOCK_TIMEOUT_S,
    break_lock: bool | None = None,
    is_needed: bool = True,
) -> Iterator[None]:
    """Hold the lock of ``prefix`` while the block runs; a longer wait tells whom it waits for.

    Where the file system has no working locks this is said, and nothing is locked: then it is the journal, of which
    there can be one only, that keeps a second envkit out.

    Args:
        prefix: the folder.
        operation: the command's name, for those who wait.
        progress: told whom is waited for.
        timeout_s: how long.
        break_lock: whether a lock that another machine holds, or has left, is taken away from it; None for a command
            that cannot be asked to.
        is_needed: whether the block changes so much that it must not run where no lock can be made.

    Raises:
        BusyError: another envkit held it for ``timeout_s`` seconds.
        OSError: the lock could not be made, and it is needed.
    """
    folder = paths.locks_dir()
    stem = f"{prefix.name[:60]}-{sha256(os.fsencode(os.path.realpath(prefix))).hexdigest()[:8]}"
    holder = folder / f"{stem}.json"
    with contextlib.ExitStack() as stack:
        if _can_lock(folder, progress, is_needed=is_needed):
            wait = _Wait(prefix, holder, progress, timeout_s, break_lock)
            try:
                stack.enter_context(wait.locked(folder / f"{stem}.lock"))
            except OSError as error:
                if is_needed:
                    raise
                progress.note(f"No lock can be made in {folder} ({error.strerror}); going on without.")
        sweep(prefix)
        with contextlib.suppress(OSError):
            note = {**Owner.here().to_json(), "operation": operation, "since": clock.now()}
            fs.write_json(holder, note)
        yield


def _can_lock(folder: Path, progress: Progress, *, is_needed: bool) -> bool:
    try:
        fs.make_folder(folder)
        if locks_work(folder):
            return True
    except OSError as error:
        if is_needed:
            raise
        progress.note(f"No lock can be made in {folder} ({error.strerror}); going on without.")
        return False
    progress.note(
        f"File locks do not work in {folder}. A second envkit that changes the same environment is kept out by its "
        "journal alone: wait for one to end before you start another."
    )
    return False


@dataclass(frozen=True, slots=True)
class _Wait:
    """Waiting for the lock of a prefix; the attributes are the arguments of ``prefix_lock``."""

    prefix: Path
    holder: Path
    progress: Progress
    timeout_s: float
    break_lock: bool | None

    @contextlib.contextmanager
    def locked(self, path: Path) -> Iterator[None]:
        import filelock  # noqa: PLC0415 - listing and running need no lock, and start-up counts

        lock, timeout_s = filelock.FileLock(path), self.timeout_s
        try:
            lock.acquire(timeout=min(_TELL_AFTER_S, timeout_s))
        except filelock.Timeout:
            if self.break_lock and _holder_is_elsewhere(self.holder):
                self.progress.note(f"The lock of {self.prefix.name} is taken away from {_holder(self.holder)}.")
                path.unlink(missing_ok=True)  # whoever comes next locks a new file
                timeout_s = 2 * _TELL_AFTER_S
            else:
                self.progress.note(f"Waiting for {_holder(self.holder)}, which works on {self.prefix.name}.")
            try:
                lock.acquire(timeout=max(0.0, timeout_s - _TELL_AFTER_S))
            except filelock.Timeout:
                raise self._busy(path) from None
        try:
            yield
        finally:
            lock.release()

    def _busy(self, path: Path) -> BusyError:
        way = f"delete {path}" if self.break_lock is None else "--break-lock"
        died = f" If that machine has died: {way}." if _holder_is_elsewhere(self.holder) else ""
        return BusyError(
            f"{self.prefix.name} is in use by {_holder(self.holder)}.",
            why=f"It did not become free within {self.timeout_s:g} s.",
            hint=f"Wait until it is done, or stop it.{died}",
        )


def locks_work(folder: Path) -> bool:
    """Whether a file in ``folder`` that is locked once cannot be locked again.

    Some network file systems refuse to lock (ENOLCK, ENOSYS, EOPNOTSUPP), some grant every lock (flock(2), nfs(5)).
    """
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ImportError:
        return True
    import tempfile  # noqa: PLC0415 - only where something is changed

    second = -1
    first, probe = tempfile.mkstemp(prefix=fs.temporary_start(), dir=folder)
    try:
        second = os.open(probe, os.O_RDWR | os.O_CLOEXEC)
        fcntl.flock(first, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            return error.errno in {errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES}
    except OSError as error:
        if error.errno in {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}:
            return False
        raise
    finally:
        for handle in (first, second):
            if handle >= 0:
                os.close(handle)
        os.unlink(probe)  # noqa: PTH108 - a string from mkstemp
    return False


def sweep(prefix: Path) -> None:
    """Remove what killed processes have left of files that they were writing for ``prefix``."""
    inside = ("", ".envkit", "bin", "etc/conda/activate.d", "etc/conda/deactivate.d")
    snapshots = paths.snapshots_dir().glob(f"{glob.escape(prefix.name)}-*")
    fs.sweep_temporaries(prefix.parent, *(prefix / folder for folder in inside), *snapshots)
    fs.sweep_temporaries(paths.data_home(), paths.locks_dir(), paths.cache_dir(), conda.list_folder())


def _read_holder(path: Path) -> dict[str, object]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return told if isinstance(told, dict) else {}


def _holder(path: Path) -> str:
    told = _read_holder(path)
    if not {"operation", "since"} <= told.keys():
        return "another envkit"
    return f"`envkit {told['operation']}` ({Owner.from_json(told)}, since {told['since']})"


def _holder_is_elsewhere(path: Path) -> bool:
    told = _read_holder(path)
    return bool(told) and Owner.from_json(told).liveness() in {"elsewhere", "unsure"}


@contextlib.contextmanager
def list_lock(name: str) -> Iterator[None]:
    """Hold the lock of one of envkit's own lists (``prefixes.txt``, ...) while it is read and written again.

    Raises:
        BusyError: another envkit held it for a minute.
    """
    import filelock  # noqa: PLC0415 - as above

    folder = paths.locks_dir()
    fs.make_folder(folder)
    if not locks_work(folder):
        yield
        return
    lock = filelock.FileLock(folder / f"{name}.lock")
    try:
        lock.acquire(timeout=_LIST_TIMEOUT_S)
    except filelock.Timeout:
        raise BusyError(
            f"envkit's list of {name} is in use by another envkit.",
            why=f"It did not become free within {_LIST_TIMEOUT_S:g} s.",
            hint="Wait until it is done, or stop it.",
        ) from None
    try:
        yield
    finally:
        lock.release()
