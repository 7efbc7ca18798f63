"""An environment whose addition was cut off: it is put back when somebody wants to use it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from envkit.errors import BusyError
from envkit.model.progress import Silent
from envkit.operations import journal
from envkit.operations.locking import prefix_lock

if TYPE_CHECKING:
    from pathlib import Path


def recover_add(prefix: Path) -> bool:
    """Undo an addition that was killed; false when there is none, or when it may still be going on.

    Raises:
        OSError: it could not be undone.
    """
    pending = journal.read(prefix)
    if pending is None or pending.operation != "add":
        return False
    with contextlib.suppress(BusyError), prefix_lock(prefix, "recover", Silent(), timeout_s=0.0):
        return journal.recover(prefix)
    return False
