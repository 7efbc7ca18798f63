"""A small file system of its own, seen by nobody but the programs that a test starts in it."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Disk:
    """A tmpfs at ``folder``.

    Attributes:
        folder: where programs see it.
        seen: where this process sees the same.
        enter: words before a command, so that it runs where the disk is mounted.
    """

    folder: Path
    seen: Path
    enter: tuple[str, ...]

    def leave_free(self, size: int) -> None:
        """Fill it but for ``size`` bytes."""
        self.free()
        status = os.statvfs(self.seen)
        room = status.f_bavail * status.f_frsize
        with (self.seen / "ballast").open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(room - size, 1))

    def free(self) -> None:
        """Take the filling away."""
        (self.seen / "ballast").unlink(missing_ok=True)

    def used(self) -> int:
        """Bytes that are taken."""
        status = os.statvfs(self.seen)
        return (status.f_blocks - status.f_bfree) * status.f_frsize

    def remount(self, options: str) -> None:
        """Mount it anew, with ``ro`` or ``rw``."""
        subprocess.run([*self.enter, "mount", "-o", f"remount,{options}", str(self.folder)], check=True)


@contextlib.contextmanager
def small_disk(folder: Path, size: str = "64m") -> Iterator[Disk | None]:
    """Mount a tmpfs at the empty ``folder`` while the block runs; None where that cannot be done here."""
    if os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("nsenter") is None:
        yield None
        return
    script = f"mount -t tmpfs -o size={size},mode=755 none '{folder}' && touch '{folder}/.mounted' && read -r line"
    holder = subprocess.Popen(
        ["unshare", "-m", "sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    seen = Path(f"/proc/{holder.pid}/root{folder}")
    try:
        while holder.poll() is None and not (seen / ".mounted").exists():
            time.sleep(0.01)
        if holder.poll() is not None:
            yield None
            return
        (seen / ".mounted").unlink()
        yield Disk(folder, seen, ("nsenter", "-t", str(holder.pid), "-m", "--"))
    finally:
        holder.kill()
        holder.communicate()
