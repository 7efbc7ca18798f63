"""Remove: an environment goes, completely; what no package owns is shown first, and its snapshots stay."""

from __future__ import annotations

import errno
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envkit import fs
from envkit.errors import NotFoundError, UsageError
from envkit.installers.installed import unowned_files
from envkit.operations import journal
from envkit.operations.environments import forget, read_environment, recovered_environment
from envkit.operations.locking import LOCK_TIMEOUT_S, prefix_lock
from envkit.operations.own_files import OWN_FILES
from envkit.operations.snapshot import list_snapshots

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from envkit.model.progress import Progress

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class RemoveResult:
    """What was removed, and what is left to make it again from.

    Attributes:
        removed: the prefix.
        snapshots: how many snapshots go by its name.
        spec: name of the spec it was made from; empty when that is not known.
    """

    removed: Path
    snapshots: int
    spec: str

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit remove --json`` (docs/json.md)."""
        return {"removed": str(self.removed)}


def remove(
    env: str, *, confirm: Callable[[str], bool], progress: Progress, lock_timeout_s: float = LOCK_TIMEOUT_S
) -> RemoveResult:
    """Remove an environment, an incomplete or broken one too.

    Args:
        env: name or path.
        confirm: asked once, with the files that no package owns; the answer no leaves everything.
        progress: told what happens.
        lock_timeout_s: how long another envkit is waited for.

    Raises:
        NotFoundError: there is no such environment.
        UsageError: it was not confirmed.
        BusyError: another envkit works on it.
    """
    environment = recovered_environment(env)
    prefix, snapshots = environment.prefix, len(list_snapshots(env))
    foreign = [] if environment.state == "incomplete" else unowned_files(prefix, OWN_FILES)
    for path in foreign[:_SHOWN]:
        progress.note(f"no package owns {path}")
    if len(foreign) > _SHOWN:
        progress.note(f"... and {len(foreign) - _SHOWN} more files that no package owns")
    with_them = f" and {len(foreign)} files of your own in it" if foreign else ""
    if not confirm(f"Remove {prefix}{with_them}?"):
        raise UsageError(
            f"{environment.name} was not removed: it was not confirmed.",
            why=f"It holds {len(foreign)} files that no package owns." if foreign else None,
            hint="Confirm with --yes.",
        )
    with prefix_lock(prefix, "remove", progress, timeout_s=lock_timeout_s):
        journal.recover(prefix)
        if read_environment(prefix) is None and environment.state != "incomplete":
            raise NotFoundError(f"{environment.name} has been removed meanwhile.")
        _delete(prefix)
        forget(prefix)
    return RemoveResult(prefix, snapshots, environment.spec)


def _delete(prefix: Path) -> None:
    """Move the prefix aside in one step, so that there is never half an environment, then delete it."""
    if not prefix.exists():
        return
    aside = prefix.with_name(f".{prefix.name}.envkit-gone-{secrets.token_hex(4)}")
    journal.begin(prefix, "remove", aside)
    try:
        prefix.rename(aside)
    except OSError as error:
        if error.errno not in {errno.EBUSY, errno.EXDEV}:
            journal.end(prefix)
            raise
        journal.begin(prefix, "remove")  # a mount point: the folder stays, what is in it goes
        fs.empty_folder(prefix)
    else:
        fs.remove_tree(aside)
    journal.end(prefix)
