"""What is mounted where on Linux: proc_pid_mountinfo(5)."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

_MOUNTINFO = Path("proc/self/mountinfo")
_BEFORE_DASH = 6
_BEHIND_DASH = 3


@dataclass(frozen=True, slots=True)
class Mount:
    """A mounted file system.

    Attributes:
        root: the folder of the file system that is seen at ``point``.
        point: where.
        kind: "ext4", "nfs4", "cgroup2".
        source: "/dev/sda1", "server:/export".
        options: of the mount and of the file system.
    """

    root: str
    point: str
    kind: str
    source: str
    options: frozenset[str]


def read_mounts(root: Path = Path("/")) -> tuple[Mount, ...]:
    """All mounts, in the kernel's order: of two at one point the last is seen. Empty where there is no such list."""
    try:
        text = (root / _MOUNTINFO).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ()
    return tuple(mount for line in text.splitlines() if (mount := _mount(line)) is not None)


def _mount(line: str) -> Mount | None:
    before, separator, behind = line.partition(" - ")
    first, last = before.split(" "), behind.split(" ")
    if not separator or len(first) < _BEFORE_DASH or len(last) < _BEHIND_DASH:
        return None
    options = frozenset([*first[5].split(","), *last[2].split(",")])
    return Mount(_plain(first[3]), _plain(first[4]), last[0], _plain(last[1]), options)


def _plain(text: str) -> str:
    """Blanks, tabs, newlines and backslashes are written in octal."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def mount_of(path: Path, mounts: tuple[Mount, ...]) -> Mount | None:
    """The mount that holds ``path``, whose links are followed; None where that cannot be told."""
    real = os.path.realpath(path)
    holding = [mount for mount in mounts if real == mount.point or real.startswith(mount.point.rstrip("/") + "/")]
    longest = max((len(mount.point) for mount in holding), default=0)
    return next((mount for mount in reversed(holding) if len(mount.point) == longest), None)
