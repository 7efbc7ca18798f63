"""Making an environment from a lock: whole, or not at all."""

from __future__ import annotations

import contextlib
import errno
import secrets
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from envkit import __version__, fs
from envkit.activation import attach_hooks, install_hooks, slot_of
from envkit.backends.venv import make_venv
from envkit.errors import EnvkitError, StorageError
from envkit.installers.condarc import read_conda_settings
from envkit.installers.rattler import calls as rattler
from envkit.model.additions import NOTHING_ADDED
from envkit.model.environment import Environment, python_of
from envkit.operations import clock, environments, journal, mend, recovery
from envkit.operations.conda_base import INSTALL_TIMEOUT_S
from envkit.operations.conda_list import keep_conda_list
from envkit.operations.editables import reinstall_editables
from envkit.operations.environments import write_record
from envkit.operations.host_compiler import host_compiler_for
from envkit.operations.own_files import drift_text, write_own_files
from envkit.operations.places import is_elsewhere
from envkit.operations.toolkits import toolkit_inside

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.progress import Progress
    from envkit.model.toolkit import Toolkit
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
        fs.make_folder(prefix.parent)
        environments.register(prefix)
        return journal.begin(prefix, "replace" if is_replacement else "create", made_folders=new_parents)
    except BaseException:
        if not is_replacement:
            environments.forget(prefix)
        for folder in new_parents:
            with contextlib.suppress(OSError):  # not ours alone any more
                folder.rmdir()
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
    (prefix / journal.MARKER).parent.mkdir(parents=True)
    fs.write_text(prefix / journal.MARKER, pending.token)
    python = _make_prefix(plan, progress)
    seconds.until_now("interpreter")
    _install(plan, python, progress)
    seconds.until_now("packages")
    progress.step("hooks and record")
    toolkit = plan.toolkit if plan.options.toolkit is not None else toolkit_inside(prefix) or plan.toolkit
    word = shlex.quote(str(prefix) if is_elsewhere(prefix) else plan.name)
    host = host_compiler_for(prefix, toolkit, progress, wanted=lock.host_compiler, word=word)
    slot = slot_of(prefix)
    install_hooks(prefix, slot=slot, toolkit=toolkit, library_path=lock.library_path, host_compiler=host)
    if plan.backend == "venv":
        attach_hooks(prefix)
    reinstall_editables(prefix, lock, plan.config, offline=options.offline, progress=progress)
    write_own_files(prefix, lock, plan.platform, progress, guard=options.guard)
    environment = _record_of(plan, toolkit)
    fs.flush(prefix, limit_s=_FLUSH_LIMIT_S)
    write_record(environment)  # last: what has a record is whole
    if plan.backend == "conda":
        keep_conda_list(prefix)
    seconds.until_now("hooks")
    return environment


def _make_prefix(plan: Plan, progress: Progress) -> Path:
    """Make the prefix with its Python; gives the interpreter."""
    if plan.interpreter is not None:
        progress.step(f"virtual environment with Python {plan.interpreter.version}")
        return make_venv(plan.prefix, plan.interpreter, engine=plan.options.engine)
    if plan.lock.installer == "pip":
        progress.step(f"conda prefix with Python {plan.python_version}")
        _install_by_rattler(plan, progress)
    return python_of(plan.prefix)


def _install(plan: Plan, python: Path, progress: Progress) -> None:
    """Install what the spec names, by its own installer alone."""
    locked = plan.lock.platforms[plan.platform]
    if plan.lock.installer == "conda":
        progress.step(f"{len(locked.base)} packages by py-rattler")
        _install_by_rattler(plan, progress)
        _check_installed(plan)
        return
    progress.step(f"{len(locked.packages)} packages by {plan.options.engine}")
    mend.install_packages(plan, python, progress)
    _check_installed(plan)
    mend.check_new_files(plan, python, progress)


def _install_by_rattler(plan: Plan, progress: Progress) -> None:
    report = rattler.install(
        [record.to_dict() for record in plan.lock.platforms[plan.platform].base],
        plan.prefix,
        settings=plan.conda or read_conda_settings(),
        platform=plan.platform,
        offline=plan.options.offline,
        timeout_s=INSTALL_TIMEOUT_S,
        progress=progress,
        folders=[plan.options.wheelhouse] if plan.options.wheelhouse is not None else [],
        full_check=plan.options.replace,
        coming=plan.prefix / journal.COMING,
    )
    (plan.prefix / journal.COMING).unlink(missing_ok=True)
    if report.unlinked_scripts:
        progress.note(
            f"Link scripts of {', '.join(report.unlinked_scripts)} were not run: envkit runs no code of packages while "
            "it installs. What they do is in their recipes; most only print a message."
        )


def _record_of(plan: Plan, toolkit: Toolkit | None) -> Environment:
    options, lock = plan.options, plan.lock
    return Environment(
        name=plan.name,
        id=secrets.token_hex(4),
        prefix=plan.prefix,
        backend=plan.backend,
        installer=lock.installer,
        engine=plan.engine,
        python=plan.python_version,
        build_cuda=lock.cuda,
        toolkit=toolkit,
        lock_sha256=lock.digest(plan.platform),
        spec=lock.spec,
        guard=options.guard,
        created_at=clock.now(),
        envkit_version=__version__,
    )


def _check_installed(plan: Plan) -> None:
    """Nothing but what the lock holds is there, and all of it."""
    lock = replace(plan.lock, additions=NOTHING_ADDED)  # projects of the user's own come later
    told = drift_text(plan.prefix, lock, plan.platform, with_added=True)
    if told is not None:
        raise EnvkitError(
            f"The installer did not install what the lock says: {told}.",
            why="This is a defect of envkit or of the lock file; nothing was kept.",
            hint="Please report it with the lock file.",
        )
