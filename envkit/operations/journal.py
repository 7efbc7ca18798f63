"""Journals: a file beside a prefix that says what is done to it, so that a killed change is recognised and undone.

A journal lies beside its prefix, ``.NAME.envkit-journal.json``, and is written before anything else is touched.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from envkit import fs
from envkit.errors import BusyError
from envkit.operations import clock

_PREFIX, _SUFFIX = ".", ".envkit-journal.json"
Operation = Literal["create", "remove"]


@dataclass(frozen=True, slots=True)
class Journal:
    """A change that is under way, or was cut off.

    Attributes:
        prefix: the folder that is changed.
        operation: what is done to it.
        host, pid, process_started: who does it; the start time is in clock ticks since boot, None where it is not told.
        started_at: UTC.
        aside: where the old prefix waits while a new one is built, or while it is deleted.
    """

    prefix: Path
    operation: Operation
    host: str
    pid: int
    process_started: int | None
    started_at: str
    aside: Path | None = None

    @property
    def owner(self) -> str:
        """Who does it, for people."""
        return f"process {self.pid} on {self.host}, since {self.started_at}"

    def is_elsewhere(self) -> bool:
        """Whether another host wrote it, where no process can be looked for."""
        return self.host != platform.node()

    def is_alive(self) -> bool:
        """Whether the process that wrote it still runs on this host."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        except OSError:  # Windows answers so for a process that has gone
            return False
        return self.process_started in {None, _process_start(self.pid)}


def journal_path(prefix: Path) -> Path:
    """Where the journal of ``prefix`` lies."""
    return prefix.parent / f"{_PREFIX}{prefix.name}{_SUFFIX}"


def prefix_of(journal: str) -> str | None:
    """The name of the prefix that a file name is the journal of, or None."""
    if journal.startswith(_PREFIX) and journal.endswith(_SUFFIX):
        return journal[len(_PREFIX) : -len(_SUFFIX)]
    return None


def begin(prefix: Path, operation: Operation, aside: Path | None = None) -> Journal:
    """Write the journal of a change that starts now, or that now puts the old prefix aside."""
    journal = Journal(prefix, operation, platform.node(), os.getpid(), _process_start(os.getpid()), clock.now(), aside)
    content = {
        "schema": 1,
        "operation": operation,
        "host": journal.host,
        "pid": journal.pid,
        "process_started": journal.process_started,
        "started_at": journal.started_at,
        "aside": None if aside is None else str(aside),
    }
    fs.write_json(journal_path(prefix), content)
    return journal


def end(prefix: Path) -> None:
    """The change is done, or undone."""
    journal_path(prefix).unlink(missing_ok=True)


def read(prefix: Path) -> Journal | None:
    """The journal of ``prefix``, or None when nothing is under way; a damaged one is a creation that was cut off."""
    try:
        text = journal_path(prefix).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    content: dict[str, Any] = {}
    with contextlib.suppress(ValueError):
        content = json.loads(text)
    aside = content.get("aside")
    return Journal(
        prefix,
        "remove" if content.get("operation") == "remove" else "create",
        str(content.get("host") or platform.node()),
        int(content.get("pid") or 0) or _NO_PROCESS,
        content.get("process_started"),
        str(content.get("started_at") or "an unknown time"),
        None if aside is None else Path(str(aside)),
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
    return True


def undo(journal: Journal) -> None:
    """Put things back as they were before a creation, or finish a removal."""
    prefix, aside = journal.prefix, journal.aside
    if journal.operation == "remove":
        if aside is not None and aside.exists():
            fs.remove_tree(aside)
    elif aside is None:
        if prefix.exists() or prefix.is_symlink():
            fs.remove_tree(prefix)
    elif aside.exists():
        if prefix.exists():
            fs.remove_tree(prefix)
        aside.rename(prefix)
    end(prefix)


_NO_PROCESS = 2**22 + 1
"""Larger than any process id on Linux, macOS or Windows in practice: never alive."""


def _process_start(pid: int) -> int | None:
    """Start of a process, in clock ticks since boot (proc(5), field 22 of ``stat``); None without /proc."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        return int(stat.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None
