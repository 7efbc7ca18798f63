"""Processor and memory of this machine, by what the system's own files say; nothing is run."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from envkit.probes.mounts import read_mounts

_UNLIMITED = 1 << 60
"""From here on a limit is none: control groups of version 1 write a number near 2**63."""
_LIMITS = {"cgroup2": "memory.max", "cgroup": "memory.limit_in_bytes"}
"""The file with the limit by kind of file system.

Sources: https://docs.kernel.org/admin-guide/cgroup-v2.html, https://docs.kernel.org/admin-guide/cgroup-v1/memory.html
"""


@dataclass(frozen=True, slots=True)
class Processor:
    """An x86-64 processor.

    Attributes:
        name: as it calls itself, or None.
        has_avx, has_avx2: whether the system offers these instructions.
    """

    name: str | None
    has_avx: bool
    has_avx2: bool


@dataclass(frozen=True, slots=True)
class Memory:
    """Main memory.

    Attributes:
        total_bytes: of the machine.
        limit_bytes: what this process may use of it (container, batch job), or None where there is no limit.
    """

    total_bytes: int
    limit_bytes: int | None

    @property
    def usable_bytes(self) -> int:
        """What this process can have at most."""
        return min(self.total_bytes, self.limit_bytes or self.total_bytes)


def read_processor(root: Path = Path("/")) -> Processor | None:
    """The processor by Linux' ``/proc/cpuinfo``; None where that does not list the flags of one (other processors)."""
    text = _text_of(root / "proc" / "cpuinfo")
    flags = re.search(r"^flags[ \t]*:(.*)$", text, re.MULTILINE)
    if flags is None:
        return None
    name = re.search(r"^model name[ \t]*:[ \t]*(.*?)[ \t]*$", text, re.MULTILINE)
    names = set(flags[1].split())
    return Processor(name[1] if name is not None and name[1] else None, "avx" in names, "avx2" in names)


def read_memory(root: Path = Path("/")) -> Memory | None:
    """The memory of this machine and this process's limit on Linux; None where it cannot be told."""
    found = re.search(r"^MemTotal:\s*(\d+) kB$", _text_of(root / "proc" / "meminfo"), re.MULTILINE)
    if found is not None:
        return Memory(int(found[1]) * 1024, memory_limit(root))
    if sys.platform == "win32":
        return None
    try:
        return Memory(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), None)
    except (ValueError, OSError):
        return None


def memory_limit(root: Path = Path("/")) -> int | None:
    """The lowest limit of the control groups that this process is in; None where there is none.

    A limit holds for all groups below, and in a container the names of the groups above are not to be seen.
    """
    groups = [line.split(":", 2) for line in _text_of(root / "proc" / "self" / "cgroup").splitlines()]
    limits: list[int] = []
    for mount in read_mounts(root) if groups else ():
        file = _LIMITS.get(mount.kind)
        if file is None or (mount.kind == "cgroup" and "memory" not in mount.options):
            continue
        wanted = "memory" if mount.kind == "cgroup" else ""
        path = next((group[2] for group in groups if len(group) == 3 and wanted in group[1].split(",")), None)  # noqa: PLR2004
        if path is not None:
            limits += _limits(root / mount.point.lstrip("/"), _below(path, mount.root), file)
    return min(limits, default=None)


def _below(path: str, root: str) -> str:
    """A group's name as seen from the mount, which may show a part of the tree only."""
    seen = root.rstrip("/")
    if ".." in path.split("/") or not f"{path}/".startswith(f"{seen}/"):
        return ""
    return path.removeprefix(seen).strip("/")


def _limits(top: Path, below: str, file: str) -> list[int]:
    parts = below.split("/") if below else []
    folders = [top.joinpath(*parts[:count]) for count in range(len(parts) + 1)]
    texts = [_text_of(folder / file).strip() for folder in folders]
    return [int(text) for text in texts if text.isdecimal() and int(text) < _UNLIMITED]


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
