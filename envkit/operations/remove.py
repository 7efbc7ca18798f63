"""Remove: an environment goes, completely; what no package owns is shown first, and its snapshots stay."""

from __future__ import annotations

import errno
import secrets
import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from envkit import fs, paths
from envkit.errors import BusyError, EnvkitError, NotFoundError, StorageError, UsageError
from envkit.installers.installed import unowned_files
from envkit.operations import journal
from envkit.operations.conda_list import keep_conda_list
from envkit.operations.environments import (
    find_environment,
    forget,
    is_path,
    prefix_at,
    read_environment,
    word_for,
)
from envkit.operations.locking import LOCK_TIMEOUT_S, prefix_lock, sweep
from envkit.operations.own_files import own_files, own_lock
from envkit.operations.recovery import recover, undo
from envkit.operations.snapshot import list_snapshots
from envkit.operations.specs import read_lock
from envkit.probes.host import current_platform
from envkit.probes.processes import processes_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from envkit.model.environment import Environment
    from envkit.model.lock import Lock
    from envkit.model.progress import Progress

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class RemoveResult:
    """What was removed, and what is left to make it again from.

    Attributes:
        removed: the prefix.
        snapshots: how many snapshots go by its name.
        spec: name of the spec it was made from; empty when that is not known.
        has_own_name: whether it was called otherwise than its spec says.
    """

    removed: Path
    snapshots: int
    spec: str
    has_own_name: bool = False

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit remove --json`` (docs/json.md)."""
        return {"removed": str(self.removed)}


def remove(
    env: str,
    *,
    confirm: Callable[[str], bool],
    progress: Progress,
    lock_timeout_s: float = LOCK_TIMEOUT_S,
    break_lock: bool = False,
) -> RemoveResult:
    """Remove an environment, an incomplete or broken one too.

    Args:
        env: name or path.
        confirm: asked once, with the files that no package owns; the answer no leaves everything.
        progress: told what happens.
        lock_timeout_s: how long another envkit is waited for.
        break_lock: whether a change by another machine that shows no sign of life counts as cut off.

    Raises:
        NotFoundError: there is no such environment.
        UsageError: it was not confirmed.
        BusyError: another envkit works on it.
    """
    prefix = _prefix_of(env)

    def _alone() -> AbstractContextManager[None]:
        return prefix_lock(prefix, "remove", progress, timeout_s=lock_timeout_s, break_lock=break_lock)

    sweep(prefix)
    if journal.read(prefix) is not None:
        before = read_environment(prefix)
        with _alone():
            ours = recover(prefix, progress, timeout_s=lock_timeout_s, break_lock=break_lock, is_going=True)
        is_gone = before is not None and read_environment(prefix) is None
        if ours is not None and is_gone:  # what a creation or a removal had left
            forget(prefix)
            return RemoveResult(prefix, _count_snapshots(env), "")
    environment, snapshots = find_environment(env), _count_snapshots(env)
    has_own_name = _has_own_name(environment)
    _confirm(environment, confirm, progress)
    with _alone():
        recover(prefix, progress, timeout_s=lock_timeout_s, break_lock=break_lock, is_going=True)
        found = read_environment(prefix)
        if found is None:
            raise NotFoundError(f"{environment.name} has been removed meanwhile.")
        if found.id != environment.id:
            raise BusyError(f"{environment.name} has been made anew meanwhile.", hint="Look at it and run again.")
        _delete(prefix)
        forget(prefix)
    return RemoveResult(prefix, snapshots, environment.spec, has_own_name=has_own_name)


def _prefix_of(env: str) -> Path:
    """The prefix that ``env`` means, whether or not there is an environment."""
    try:
        return find_environment(env).prefix
    except NotFoundError:
        return prefix_at(env) if is_path(env) else paths.envs_dir() / env


def _has_own_name(environment: Environment) -> bool:
    try:
        return own_lock(environment).environment_name(current_platform()) != environment.name
    except EnvkitError:
        return False


def _count_snapshots(env: str) -> int:
    try:
        return len(list_snapshots(env))
    except NotFoundError:
        return 0


def _confirm(environment: Environment, confirm: Callable[[str], bool], progress: Progress) -> None:
    """Show what would be lost, and who uses it, and have it confirmed."""
    prefix = environment.prefix
    foreign = unowned_files(prefix, own_files(prefix))
    for path in foreign[:_SHOWN]:
        progress.note(f"no package owns {path}")
    if len(foreign) > _SHOWN:
        progress.note(f"... and {len(foreign) - _SHOWN} more files that no package owns")
    _tell_what_no_snapshot_holds(environment, progress)
    users = tell_users(prefix, progress)
    with_them = f" and {len(foreign)} files of your own in it" if foreign else ""
    in_use = ", which running programs use" if users else ""
    if not confirm(f"Remove {prefix}{with_them}{in_use}?"):
        raise UsageError(
            f"{environment.name} was not removed: it was not confirmed.",
            why=f"It holds {len(foreign)} files that no package owns." if foreign else None,
            hint="Confirm with --yes.",
        )


def _tell_what_no_snapshot_holds(environment: Environment, progress: Progress) -> None:
    """What was added since the newest snapshot does not come back with it."""
    try:
        lock, platform = own_lock(environment), current_platform()
        newest = next(iter(list_snapshots(str(environment.prefix))), None)
        if newest is None:
            return
        kept = _names(read_lock(newest.path / "lock.yaml", str(newest.path / "lock.yaml")), platform)
        mine = _names(lock, platform)
    except (EnvkitError, KeyError):  # broken: there is no more to tell
        return
    lost, word = sorted(mine - kept), word_for(environment)
    if lost:
        progress.note(
            f"Not in its newest snapshot, so that `envkit restore` will not bring it back: {', '.join(lost)}. "
            f"`envkit verify {word}` takes a new one."
        )
    for item in lock.additions.editables:
        progress.note(
            f"No snapshot holds the project {item.name}: after `envkit restore` add it again, "
            f"`envkit add {word} -e {shlex.quote(item.path)}`."
        )


def _names(lock: Lock, platform: str) -> set[str]:
    """The packages that a lock's own installer has put into the environment."""
    locked = lock.platforms[platform]
    return {item.name for item in (locked.packages if lock.installer == "pip" else locked.base)}


def tell_users(prefix: Path, progress: Progress) -> bool:
    """Say which running programs use a prefix that is about to go; whether there are any."""
    users = processes_in(prefix)
    if users:
        progress.note(f"in use by {', '.join(map(str, users))}")
    return bool(users)


def _delete(prefix: Path) -> None:
    """Move the prefix aside in one step, so that there is never half an environment, then delete it."""
    try:
        pending = journal.begin(prefix, "remove")
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT}:
            raise
        _delete_without_journal(prefix)
        return
    try:
        prefix.rename(pending.gone)
    except OSError as error:
        if error.errno not in {errno.EBUSY, errno.EXDEV}:
            journal.end(pending)
            raise
        pending = journal.enter(replace(pending, was_there=True), "remove")  # a mount point: the folder itself stays
    else:
        fs.sync_folder(prefix.parent)
    try:
        undo(pending)
    except OSError as error:
        raise StorageError(
            f"{prefix.name} is removed, but not all of its files could be deleted yet.",
            why=f"{error.strerror}: {error.filename}",
            hint=f"A program may still have them open. The rest lies in {pending.gone}; "
            f"`envkit remove {shlex.quote(str(prefix))}` deletes it.",
        ) from error


def _delete_without_journal(prefix: Path) -> None:
    """Delete where there is no room for a journal, since this makes room; the name tells the next envkit the rest."""
    gone = journal.aside(prefix, "gone", secrets.token_hex(4))
    prefix.rename(gone)
    keep_conda_list(prefix)
    fs.remove_tree(gone)
