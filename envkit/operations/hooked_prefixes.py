"""The list of prefixes that envkit did not make and has put hooks into: they use a toolkit."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from envkit.errors import BusyError
from envkit.model.hooks_record import HOOKS_RECORD
from envkit.operations.prefix_lists import PrefixList

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.progress import Progress

_LIST = PrefixList("hooked")


def hooked_prefixes() -> list[Path]:
    """Those that still have the record of their hooks; none where the list cannot be read."""
    try:
        return [prefix for prefix in _LIST.read() if _has_record(prefix)]
    except OSError:
        return []


def note_hooked(prefix: Path, progress: Progress) -> None:
    """Remember a prefix that has hooks now; it has them all the same where the list cannot be written."""
    try:
        _LIST.add(prefix, keep=_has_record)
    except (OSError, BusyError) as error:
        progress.note(
            f"{_LIST.file} cannot be written, so that `envkit cuda remove` will not know of {prefix}: {error}"
        )


def forget_hooked(prefix: Path) -> None:
    """Forget a prefix whose hooks are taken out; without its record an entry that stays does not count."""
    try:
        _LIST.drop(prefix)
    except (OSError, BusyError):
        return


def _has_record(prefix: Path) -> bool:
    return os.path.lexists(os.path.join(prefix, HOOKS_RECORD))  # noqa: PTH118 - no error in a closed folder
