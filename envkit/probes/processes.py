"""Which running programs use a folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHOWN = 60
_MAPS_BYTES = 4 << 20
"""As much of a list of mapped files as is read: torch with all its libraries has 200 kB."""


@dataclass(frozen=True, slots=True)
class RunningProgram:
    """A process and its command line, shortened."""

    pid: int
    command: str

    def __str__(self) -> str:
        return f"process {self.pid} ({self.command})"


def processes_in(folder: Path) -> tuple[RunningProgram, ...]:
    """Processes of this machine that work in ``folder``, or have a program or a library of it loaded; Linux only.

    Those of other users cannot be looked into, and those of other machines that share the folder are not seen at all.
    Source: proc(5), ``cwd``, ``exe``, ``cmdline`` and ``maps``.
    """
    places = {os.path.abspath(folder), os.path.realpath(folder)}  # noqa: PTH100 - both spellings occur
    found = []
    for process in _processes():
        argv = _read(process / "cmdline", _MAPS_BYTES).split(b"\0")
        if any(_uses(process, argv, os.fsencode(place)) for place in places):
            command = b" ".join([os.path.basename(argv[0]), *argv[1:]]).decode("utf-8", "replace").strip()  # noqa: PTH119
            found.append(RunningProgram(int(process.name), command[:_SHOWN] or "?"))
    return tuple(found)


def _processes() -> Iterator[Path]:
    try:
        names = sorted((name for name in os.listdir("/proc") if name.isdecimal()), key=int)  # noqa: PTH208 - names
    except OSError:
        return
    yield from (Path("/proc", name) for name in names if int(name) != os.getpid())


def _uses(process: Path, argv: list[bytes], place: bytes) -> bool:
    inside = place + b"/"
    for name in ("cwd", "exe"):
        try:
            leads_to = os.fsencode(os.readlink(process / name))  # noqa: PTH115 - may be no path: "/x (deleted)"
        except OSError:
            continue
        if leads_to == place or leads_to.startswith(inside):
            return True
    if argv[0].startswith(inside):  # a virtual environment's python is a link: `exe` is what it leads to
        return True
    return inside in _read(process / "maps", _MAPS_BYTES)


def _read(path: Path, limit: int) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(limit)
    except OSError:
        return b""
