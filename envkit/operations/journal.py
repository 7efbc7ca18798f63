"""Journals: a file beside a prefix that says what is done to it, so that a killed change is recognised and undone.

A journal lies beside its prefix, ``.NAME.envkit-journal.json``, and is written before anything else is touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from envkit import fs
from envkit.errors import BusyError
from envkit.operations import clock
from envkit.operations.add_undo import undo_add

_PREFIX, _SUFFIX = ".", ".envkit-journal.json"
Operation = Literal["create", "remove", "discard", "add"]
"""``discard``: the new environment stands, only what it replaced is still to be deleted."""


@dataclass(frozen=True, slots=True)
class Journal:
    """A change that is under way, or was cut off.

    Attributes:
        prefix: the folder that is changed.
        operation: what is done to it.
        host, pid, process_started: who does it; the start is in clock ticks since boot, None where it is not told.
        started_at: UTC.
        aside: where the old prefix waits while a new one is built, or while it is deleted.
        was_there: whether the prefix was an empty folder before, which has to stay.
    """

    prefix: Path
    operation: Operation
    host: str
    pid: int
    process_started: int | None
    started_at: str
    aside: Path | None = None
    was_there: bool = False

    @property
    def owner(self) -> str:
        """Who does it, for people."""
        return f"process {self.pid} on {self.host}, since {self.started_at}"

    def is_elsewhere(self) -> bool:
        """Whether another host wrote it, where no process can be looked for."""
        return self.host != platform.node()

    def is_alive(self) -> bool:
        """Whether the process that wrote it still runs on this host."""
        if self.pid <= 0 or self.pid > _LARGEST_PID:
            return False
        return _runs(self.pid) and self.process_started in {None, _process_start(self.pid)}


def journal_path(prefix: Path) -> Path:
    """Where the journal of ``prefix`` lies."""
    return prefix.parent / f"{_PREFIX}{prefix.name}{_SUFFIX}"


def prefix_of(journal: str) -> str | None:
    """The name of the prefix that a file name is the journal of, or None."""
    if journal.startswith(_PREFIX) and journal.endswith(_SUFFIX):
        return journal[len(_PREFIX) : -len(_SUFFIX)]
    return None


def begin(prefix: Path, operation: Operation, aside: Path | None = None) -> Journal:
    """Write the journal of a change that starts now, or that enters another phase."""
    pid = os.getpid()
    was_there = operation == "create" and aside is None and prefix.is_dir()
    journal = Journal(
        prefix, operation, platform.node(), pid, _process_start(pid), clock.now(), aside, was_there=was_there
    )
    content = {
        "schema": 1,
        "operation": operation,
        "host": journal.host,
        "pid": journal.pid,
        "process_started": journal.process_started,
        "started_at": journal.started_at,
        "aside": None if aside is None else str(aside),
        "was_there": was_there,
    }
    fs.write_json(journal_path(prefix), content)
    return journal


def end(prefix: Path) -> None:
    """The change is done, or undone."""
    journal_path(prefix).unlink(missing_ok=True)


def read(prefix: Path) -> Journal | None:
    """The journal of ``prefix``, or None when nothing is under way; a damaged one is a creation that was cut off."""
    path = journal_path(prefix)
    if not os.path.isfile(path):  # noqa: PTH113 - false also for a name that no file system takes
        return None
    content: object = None
    with contextlib.suppress(OSError, ValueError, RecursionError):
        content = json.loads(path.read_text(encoding="utf-8"))
    facts: dict[str, Any] = content if isinstance(content, dict) else {}
    operation = facts.get("operation")
    pid, started, aside = facts.get("pid"), facts.get("process_started"), facts.get("aside")
    return Journal(
        prefix,
        operation if operation in {"remove", "discard", "add"} else "create",
        str(facts.get("host") or platform.node()),
        pid if type(pid) is int else 0,
        started if type(started) is int else None,
        str(facts.get("started_at") or "an unknown time"),
        Path(aside) if isinstance(aside, str) and Path(aside).parent == prefix.parent else None,
        was_there=facts.get("was_there") is True,
    )


def recover(prefix: Path) -> bool:
    """Undo a change that was cut off; whether there was one. The caller holds the prefix's lock.

    Raises:
        BusyError: the change may still be going on, on another host.
    """
    journal = read(prefix)
    if journal is None:
        return False
    if journal.is_elsewhere():
        raise BusyError(
            f"{prefix} is being changed from another machine: {journal.owner}.",
            why=f"Whether a process on {journal.host} still runs cannot be told from {platform.node()}.",
            hint=f"If it has died, remove {journal_path(prefix)} and run again.",
        )
    if journal.pid != os.getpid() and journal.is_alive():
        raise BusyError(f"{prefix} is being changed by {journal.owner}.", hint="Wait until it is done, or stop it.")
    undo(journal)
    return journal.operation != "discard"


def undo(journal: Journal) -> None:
    """Put things back as they were before a creation, or finish a removal."""
    prefix, aside = journal.prefix, journal.aside
    if journal.operation == "add":
        undo_add(prefix)
    elif journal.operation in {"remove", "discard"}:
        if aside is not None and aside.exists():
            fs.remove_tree(aside)
        elif aside is None and journal.operation == "remove":
            fs.empty_folder(prefix)
    elif aside is None:
        if journal.was_there:
            fs.empty_folder(prefix)
        elif prefix.exists() or prefix.is_symlink():
            fs.remove_tree(prefix)
    elif aside.exists():
        if prefix.exists():
            fs.remove_tree(prefix)
        aside.rename(prefix)
    end(prefix)


_LARGEST_PID = 2**22
"""The largest process id that Linux gives (proc(5), pid_max); macOS's and Windows' are smaller in practice."""


def _runs(pid: int) -> bool:
    """Whether there is a process of that number on this host."""
    if sys.platform == "win32":  # os.kill(pid, 0) would be Ctrl-C there
        import ctypes  # noqa: PLC0415 - Windows only

        handle = ctypes.windll.kernel32.OpenProcess(0x1000, False, pid)
        if handle:
            ctypes.windll.kernel32.CloseHandle(handle)
        return bool(handle)
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:  # no such process
        return False
    return True


def _process_start(pid: int) -> int | None:
    """Start of a process, in clock ticks since boot (proc(5), field 22 of ``stat``); None without /proc."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return int(stat.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None
