"""The full output of a program that failed, for those who want to know more than the telling lines."""

from __future__ import annotations

import contextlib
import re
import shlex
from typing import TYPE_CHECKING

from envkit import fs, paths
from envkit.errors import EnvkitError, ProgramError
from envkit.model.addresses import redacted
from envkit.operations import clock

if TYPE_CHECKING:
    from pathlib import Path

_KEPT = 20


def keep_output(error: EnvkitError) -> Path | None:
    """Write what the failed program behind ``error`` said into the folder of logs; None when there was none."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, ProgramError):
        found = found.__cause__
    if found is None or not (found.stdout or found.stderr):
        return None
    folder = paths.logs_dir()
    program = re.split(r"[\\/]", found.argv[0])[-1]
    path = folder / f"{clock.snapshot_id(clock.now())}-{program}.log"
    head = f"$ {shlex.join(found.argv)}\nstatus {found.returncode}\n"
    text = f"{head}\n--- stderr\n{found.stderr}\n--- stdout\n{found.stdout}\n"
    with contextlib.suppress(OSError):  # the error itself is what matters
        folder.mkdir(parents=True, exist_ok=True)
        fs.write_text(path, redacted(text), mode=0o600)
        for old in sorted(folder.glob("*.log"))[:-_KEPT]:
            old.unlink()
        return path
    return None
