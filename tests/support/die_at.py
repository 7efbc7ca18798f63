"""Run envkit and die by SIGKILL right before its n-th change of a file: ``python die_at.py N ROOT LOG ARGUMENT...``.

Only changes below ROOT count, and the start of a program. With N = 0 nothing dies, and LOG says what there is to count.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.symlink", "os.link", "os.utime"}


def main() -> None:
    number, root, log = int(sys.argv[1]), sys.argv[2], os.open(sys.argv[3], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    sys.argv[1:] = sys.argv[4:]
    sys.path.pop(0)  # this file's folder
    count = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if event == "open":
            counts = bool(arguments[2] & WRITING) and _is_below(arguments[0], root)
        elif event in CHANGES:
            counts = any(_is_below(argument, root) for argument in arguments[:2])
        else:
            counts = event == "subprocess.Popen"
        if counts:
            count += 1
            shown = arguments[0] if event != "subprocess.Popen" else arguments[1]
            os.write(log, f"{event} {shown}\n".encode("utf-8", "replace"))
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    from envkit.cli.main import main as envkit  # noqa: PLC0415 - what it does at import counts too

    envkit()


def _is_below(path: object, root: str) -> bool:
    """Whether a path lies below ``root``; a relative one is an entry of a folder that is being emptied."""
    if not isinstance(path, str | bytes | os.PathLike):
        return False
    text = os.fsdecode(path)
    return text.startswith(root) or not text.startswith("/")


if __name__ == "__main__":
    main()
