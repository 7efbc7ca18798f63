"""Who does something: one process, told apart from all others, so that it can be told whether it still runs."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

_LARGEST_PID = 2**22
"""The largest process id that Linux gives (proc(5), pid_max); macOS's and Windows' are smaller in practice."""

_DAY_S = 86400.0
Liveness = Literal["alive", "dead", "unsure", "elsewhere"]


@dataclass(frozen=True, slots=True)
class Owner:
    """A process on some machine.

    Attributes:
        host: name of the machine.
        pid: process id; 0 where it is not known.
        started: when it was started, in clock ticks since boot; None where that is not told.
        boot: Linux' id of the boot, which changes with each; None where there is none.
        pid_namespace: within which process ids count: containers have their own; None where there are none.
    """

    host: str
    pid: int
    started: int | None = None
    boot: str | None = None
    pid_namespace: str | None = None

    @classmethod
    def here(cls) -> Owner:
        """This process."""
        pid = os.getpid()
        return cls(platform.node(), pid, process_start(pid), *_machine())

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Owner:
        """Who is named in a file that another process wrote; what makes no sense there is not known."""
        pid, started = facts.get("pid"), facts.get("process_started")
        boot, namespace = facts.get("boot"), facts.get("pid_namespace")
        return cls(
            str(facts.get("host") or platform.node()),
            pid if type(pid) is int else 0,
            started if type(started) is int else None,
            boot if isinstance(boot, str) else None,
            namespace if isinstance(namespace, str) else None,
        )

    def to_json(self) -> dict[str, Any]:
        """The fields that ``from_json`` reads."""
        return {
            "host": self.host,
            "pid": self.pid,
            "process_started": self.started,
            "boot": self.boot,
            "pid_namespace": self.pid_namespace,
        }

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"

    def mark(self) -> str:
        """A word for the names of temporary files, by which ``is_left_behind`` tells leftovers from others."""
        machine = hashlib.sha256(f"{self.host} {self.boot} {self.pid_namespace}".encode()).hexdigest()[:8]
        return f"{machine}-{self.pid}-{self.started or 0}"

    def is_this_process(self) -> bool:
        """Whether it is the one that asks."""
        return self.pid == os.getpid() and self.liveness() == "alive"

    def liveness(self) -> Liveness:
        """Whether it still runs, as far as this machine can tell.

        ``unsure``: a machine of this name, but another boot or another container, whose processes cannot be looked up;
        ``elsewhere``: another machine.
        """
        if self.host != platform.node():
            return "elsewhere"
        boot, namespace = _machine()
        if None not in {self.boot, boot} and self.boot != boot:
            return "unsure"
        if None not in {self.pid_namespace, namespace} and self.pid_namespace != namespace:
            return "unsure"
        if not 0 < self.pid <= _LARGEST_PID or not _runs(self.pid):
            return "dead"
        started = process_start(self.pid)  # None also where /proc shows a user only his own processes (hidepid)
        return "alive" if None in {self.started, started} or self.started == started else "dead"


@functools.cache
def _machine() -> tuple[str | None, str | None]:
    """Linux' id of this boot and of this process id namespace (random(4), pid_namespaces(7)); None elsewhere."""
    boot = namespace = None
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - no path, but a name such as pid:[4026531836]
    except (OSError, ValueError):
        pass
    return boot, namespace


def is_left_behind(mark: str, modified_at: float) -> bool:
    """Whether who made a temporary file has died: a process of this machine that is gone, or nobody for a day.

    Args:
        mark: what ``Owner.mark`` gave.
        modified_at: the file's modification time, in seconds since the epoch.
    """
    machine, _, process = mark.partition("-")
    pid, _, started = process.partition("-")
    here = Owner.here()
    if pid.isdecimal() and started.isdecimal() and machine == here.mark().partition("-")[0]:
        return replace(here, pid=int(pid), started=int(started) or None).liveness() == "dead"
    return abs(time.time() - modified_at) > _DAY_S


def process_start(pid: int) -> int | None:
    """Start of a process, in clock ticks since boot (proc(5), field 22 of ``stat``); None where that is not told."""
    fields = _stat_fields(pid)
    try:
        return int(fields[19])
    except (ValueError, IndexError):
        return None


def _stat_fields(pid: int) -> list[str]:
    """The fields of ``/proc/PID/stat`` from the third on, the state; empty where they cannot be read."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return stat.rpartition(")")[2].split()


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
    return _stat_fields(pid)[:1] not in (["Z"], ["X"])  # dead, and not reaped by its parent
