"""Making an environment from a lock: whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import secrets
import shlex
from typing import TYPE_CHECKING

from envkit import __version__, fs
from envkit.activation import attach_hooks, install_hooks
from envkit.backends.venv import make_venv
from envkit.errors import EnvkitError, StorageError
from envkit.installers.installed import installed_packages
from envkit.model.environment import Environment
from envkit.model.lock import Drift
from envkit.operations import clock, environments, journal, mend, recovery
from envkit.operations.editables import reinstall_editables
from envkit.operations.environments import write_record
from envkit.operations.own_files import write_own_files

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.progress import Progress
    from envkit.operations.journal import Journal
    from envkit.operations.plan import Plan, Seconds


_FLUSH_LIMIT_S = 30.0


def build(
    plan: Plan, progress: Progress, seconds: Seconds, *, replaced: Environment | None
) -> tuple[Environment, Journal]:
    """Make the environment of ``plan``; the caller holds the prefix's lock and ends the journal of a replacement.

    On any failure, Ctrl-C included, things are as they were: nothing is left behind, and an environment that was to be
    replaced is back.

    Args:
        plan: what to make.
        progress: told what happens.
        seconds: takes the times.
        replaced: the environment that gives way, or None.

    Returns:
        The environment, and the journal; that of a plain creation has ended.
    """
    pending = _begin(plan, is_replacement=replaced is not None)
    try:
        if replaced is not None:
            _move_aside(plan.prefix, pending.old)
            fs.sync_folder(plan.prefix.parent)
        environment = _fill(plan, pending, progress, seconds)
        if replaced is None:
            journal.end(pending)
    except BaseException:
        put_back(pending, progress)
        raise
    return environment, pending


def _move_aside(prefix: Path, old: Path) -> None:
    try:
        prefix.rename(old)
    except OSError as error:
        if error.errno not in {errno.EBUSY, errno.EXDEV}:
            raise
        word = shlex.quote(str(prefix))
        raise StorageError(
            f"{prefix} cannot be moved aside while the new environment is made.",
            why="It is a mount point, or in use by the system.",
            hint=f"Remove it and make it anew in the same place: `envkit remove {word}`, then create or restore with "
            f"--prefix {word}.",
        ) from error


def _begin(plan: Plan, *, is_replacement: bool) -> Journal:
    """Write the journal; the prefix is in envkit's list by then, so that whatever is left will be seen."""
    prefix = plan.prefix
    new_parents = tuple(folder for folder in prefix.parents if not folder.exists())
    try:
        prefix.parent.mkdir(parents=True, exist_ok=True)
        environments.register(prefix)
        return journal.begin(prefix, "replace" if is_replacement else "create", made_folders=new_parents)
    except BaseException as error:
        if not is_replacement:
            environments.forget(prefix)
        for folder in new_parents:
            with contextlib.suppress(OSError):  # not ours alone any more
                folder.rmdir()
        if isinstance(error, FileNotFoundError):  # as /proc answers
            raise StorageError.cannot_write(prefix, why="No folder can be made there.") from error
        raise


def put_back(pending: Journal, progress: Progress) -> None:
    """Undo a creation that failed; where that fails too, say so, and let the failure itself be told."""
    try:
        kept = recovery.undo(pending)
        if kept is not None:
            progress.note(f"Files that are not envkit's were in {pending.prefix}; they lie in {kept} now.")
        if pending.operation == "create":
            environments.forget(pending.prefix)
    except (OSError, EnvkitError) as error:
        progress.note(
            f"What was made at {pending.prefix} could not be removed again ({error}); the next envkit will try."
        )


def _fill(plan: Plan, pending: Journal, progress: Progress, seconds: Seconds) -> Environment:
    options, lock, prefix = plan.options, plan.lock, plan.prefix
    packages = lock.platforms[plan.platform].packages
    (prefix / journal.MARKER).parent.mkdir(parents=True)
    fs.write_text(prefix / journal.MARKER, pending.token)
    progress.step(f"virtual environment with Python {plan.interpreter.version}")
    python = make_venv(prefix, plan.interpreter, engine=options.engine)
    seconds.until_now("interpreter")
    progress.step(f"{len(packages)} packages by {options.engine}")
    mend.install_packages(plan, python, progress)
    _check_installed(plan)
    mend.check_new_files(plan, python, progress)
    seconds.until_now("packages")
    progress.step("hooks and record")
    install_hooks(prefix, slot="VENV", toolkit=plan.toolkit, library_path=lock.library_path)
    attach_hooks(prefix)
    reinstall_editables(prefix, lock, plan.config, offline=options.offline, progress=progress)
    write_own_files(prefix, lock, plan.platform, progress, guard=options.guard)
    environment = _record_of(plan)
    fs.flush(prefix, limit_s=_FLUSH_LIMIT_S)
    write_record(environment)  # last: what has a record is whole
    seconds.until_now("hooks")
    return environment


def _record_of(plan: Plan) -> Environment:
    options, lock = plan.options, plan.lock
    return Environment(
        name=plan.name,
        id=secrets.token_hex(4),
        prefix=plan.prefix,
        backend="venv",
        installer=lock.installer,
        engine=options.engine,
        python=plan.interpreter.version,
        build_cuda=lock.cuda,
        toolkit=plan.toolkit,
        lock_sha256=lock.digest(plan.platform),
        spec=lock.spec,
        guard=options.guard,
        created_at=clock.now(),
        envkit_version=__version__,
    )


def _check_installed(plan: Plan) -> None:
    """Nothing but what the lock holds is there, and all of it."""
    locked = {item.name: item.version for item in plan.lock.platforms[plan.platform].packages}
    installed = installed_packages(plan.prefix)
    wrong = sorted(name for name in locked.keys() | installed.keys() if locked.get(name) != installed.get(name))
    if wrong:
        told = ", ".join(str(Drift(name, locked.get(name), installed.get(name))) for name in wrong[:5])
        raise EnvkitError(
            f"The installer did not install what the lock says: {told}.",
            why="This is a defect of envkit or of the lock file; nothing was kept.",
            hint="Please report it with the lock file.",
        )
