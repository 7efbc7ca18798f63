"""The hooks of an environment that is there already: show and write them again, take out those of the toolkit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from envkit.activation import attach_hooks, hook_states, install_hooks, slot_of
from envkit.errors import NotFoundError
from envkit.installers.guard import guard_state, install_guard
from envkit.operations.environments import usable_environment, word_for, write_record
from envkit.operations.hooks_result import HooksResult
from envkit.operations.hooks_unmanaged import install_unmanaged, remove_unmanaged, show_unmanaged
from envkit.operations.host_compiler import choose_host_compiler, host_compiler_for
from envkit.operations.locking import LOCK_TIMEOUT_S, prefix_lock
from envkit.operations.own_files import guarded_by, own_lock
from envkit.operations.toolkits import TOOLKIT_DIR, toolkit_for
from envkit.operations.unmanaged import unmanaged_prefix
from envkit.probes.host import current_platform

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.environment import Environment
    from envkit.model.progress import Progress
    from envkit.model.toolkit import Toolkit


def show_hooks(env: str) -> HooksResult:
    """Whether the hooks of an environment, or of any prefix, are what this envkit would write.

    Raises:
        NotFoundError: there is no such environment.
    """
    prefix = unmanaged_prefix(env)
    return _result(usable_environment(env)) if prefix is None else show_unmanaged(prefix)


def reinstall_hooks(
    env: str, toolkit: str | None, progress: Progress, *, lock_timeout_s: float = LOCK_TIMEOUT_S
) -> HooksResult:
    """Write the hooks of an environment again; into a prefix that envkit did not make put them for the first time.

    They switch to the toolkit that is asked for, or the recorded one while it is there, or one that its lock names.
    Where the environment has the guard, its hooks and files are put right too.

    Raises:
        NotFoundError: there is no such environment, or no such toolkit on this machine. Without a toolkit to switch to
            it is enough that the guard could be put right.
    """
    prefix = unmanaged_prefix(env)
    if prefix is not None:
        return install_unmanaged(prefix, toolkit, progress, lock_timeout_s=lock_timeout_s)
    environment = usable_environment(env, progress)
    is_repaired = _repair_guard(environment, progress, lock_timeout_s)
    recorded = environment.toolkit
    if toolkit is None and recorded is not None and recorded.path.is_dir():
        found: Toolkit | None = recorded
    else:
        found = toolkit_for(own_lock(environment).toolkit, toolkit, progress, folder=TOOLKIT_DIR)
    if found is None and toolkit is None and is_repaired:
        return _result(environment)
    if found is None and toolkit != "none":
        raise NotFoundError(
            f"There is no CUDA toolkit that {environment.name} could switch to.",
            why="Its lock names none, or the one it names is not on this machine.",
            hint="Name one: --toolkit V or --toolkit DIR. `envkit cuda install V` installs one without root.",
        )
    return _rewrite(environment, found, progress, lock_timeout_s)


def uninstall_hooks(env: str, progress: Progress, *, lock_timeout_s: float = LOCK_TIMEOUT_S) -> HooksResult:
    """Take the hooks out of an environment or a prefix: its activation switches no toolkit any more.

    Raises:
        NotFoundError: there is no such environment.
    """
    prefix = unmanaged_prefix(env)
    if prefix is not None:
        return remove_unmanaged(prefix, progress, lock_timeout_s=lock_timeout_s)
    environment = usable_environment(env, progress)
    had_hooks = bool(_result(environment).hooks)
    return replace(_rewrite(environment, None, progress, lock_timeout_s), had_hooks=had_hooks)


def _repair_guard(environment: Environment, progress: Progress, lock_timeout_s: float) -> bool:
    """Write the guard's hooks and files again when they are not what they are to be; gives whether that was so."""
    prefix: Path = environment.prefix
    with prefix_lock(prefix, "hooks", progress, timeout_s=lock_timeout_s):
        environment = usable_environment(str(prefix))
        if not environment.guard:
            return False
        lock = own_lock(environment)
        if current_platform() not in lock.platforms:
            return False
        guarded = guarded_by(prefix, lock, current_platform())
        if guard_state(guarded) == "current":
            return False
        install_guard(guarded, progress)
        _attach(prefix)
        progress.note("The guard's hooks and files are written again.")
    return True


def _rewrite(
    environment: Environment, toolkit: Toolkit | None, progress: Progress, lock_timeout_s: float
) -> HooksResult:
    prefix: Path = environment.prefix
    with prefix_lock(prefix, "hooks", progress, timeout_s=lock_timeout_s):
        environment = usable_environment(str(prefix))  # it may have been replaced or removed meanwhile
        host, library_path = None, False
        if toolkit is not None:
            lock, word = own_lock(environment), word_for(environment)
            host = host_compiler_for(prefix, toolkit, progress, wanted=lock.host_compiler, word=word)
            library_path = lock.library_path
        install_hooks(prefix, slot=slot_of(prefix), toolkit=toolkit, library_path=library_path, host_compiler=host)
        if toolkit is not None:
            _attach(prefix)
        environment = replace(environment, toolkit=toolkit)
        write_record(environment)
    return _result(environment)


def _result(environment: Environment) -> HooksResult:
    prefix, toolkit, lock = environment.prefix, environment.toolkit, own_lock(environment)
    host = choose_host_compiler(prefix, toolkit, wanted=lock.host_compiler).compiler
    states = hook_states(
        prefix, slot=slot_of(prefix), toolkit=toolkit, library_path=lock.library_path, host_compiler=host
    )
    return HooksResult(prefix, environment, toolkit, states)


def _attach(prefix: Path) -> None:
    """conda runs the files in ``etc/conda`` by itself; the scripts of a virtual environment have to be told."""
    if slot_of(prefix) == "VENV":
        attach_hooks(prefix)
