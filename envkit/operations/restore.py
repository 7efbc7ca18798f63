"""Restore: the same environment again, from a lock file, an environment or a snapshot."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from envkit.errors import ExistsError, InvalidFileError, NotFoundError, UsageError
from envkit.operations.backend import place_of
from envkit.operations.create import CreateResult, check_platform, make
from envkit.operations.editables import without_editables
from envkit.operations.environments import (
    EnvironmentStateError,
    find_environment,
    is_path,
    prefix_at,
    prefix_from,
    put_back,
    read_environment,
    word_for,
)
from envkit.operations.foreign import complete
from envkit.operations.locks import lock_for_spec
from envkit.operations.mend import refuse_changed_files
from envkit.operations.own_files import drift_text, lock_for
from envkit.operations.places import other_place, place_options
from envkit.operations.plan import Seconds
from envkit.operations.snapshot import check_files, find_snapshot, read_snapshot
from envkit.operations.specs import SpecFile, names_file, read_lock, read_spec_or_lock
from envkit.probes.host import current_platform
from envkit.probes.nvidia_smi import query_gpus

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.environment import Environment
    from envkit.model.lock import Lock
    from envkit.model.progress import Progress
    from envkit.model.snapshot import Snapshot
    from envkit.operations.options import CreateOptions


@dataclass(frozen=True, slots=True)
class _Origin:
    """What is restored.

    Attributes:
        lock: what to make.
        name: of the environment, or None for the lock's version name.
        prefix: where it was, when that is outside envkit's own folder.
        snapshot: the snapshot it comes from, or None.
        is_there: whether it is the environment's own lock.
        python: full version that it had.
        guard: false when it was made without.
        backend: what made it, where that is known.
    """

    lock: Lock
    name: str | None = None
    prefix: Path | None = None
    snapshot: Snapshot | None = None
    is_there: bool = False
    python: str | None = None
    guard: bool = True
    backend: str | None = None


def restore(what: str, options: CreateOptions, progress: Progress) -> CreateResult:
    """Make the environment of a lock file, of an environment's own lock, or of a snapshot.

    Args:
        what: a lock file, ``ENV``, ``ENV@SNAPSHOT``, or the folder of an exported snapshot.
        options: as for create.
        progress: told what happens.

    Raises:
        EnvkitError: see docs/exit-codes.md.
    """
    seconds = Seconds()
    progress.step("lock")
    origin = _origin(what, options, progress)
    platform = current_platform()
    check_platform(origin.lock, platform)
    _tell_drift(origin, progress)
    if options.name is None and options.prefix is None and origin.prefix is not None:
        options = replace(options, prefix=origin.prefix)
    if origin.python is not None and re.fullmatch(r"\d+\.\d+\.\d+", origin.python):
        options = replace(options, preferred_python=origin.python)
    options = replace(options, guard=options.guard and origin.guard)
    if options.backend == "auto" and origin.backend is not None:
        options = replace(options, backend=origin.backend)
    name = origin.name or origin.lock.environment_name(platform)
    place = place_of(name, origin.lock, platform, options, what=what, progress=progress)
    lock = replace(origin.lock, drift=(), path=origin.lock.path or what)
    if not origin.is_there:
        lock = without_editables(lock, progress)
    seconds.until_now("lock")
    if not options.replace and origin.is_there and prefix_from(str(place.prefix)).exists():
        _check_drift(place.name, place.prefix, lock, platform)
    result = make(place, lock, options, progress, seconds)
    if origin.snapshot is not None:
        _tell_changes(origin.snapshot, progress)
    return result


def _origin(what: str, options: CreateOptions, progress: Progress) -> _Origin:
    path = prefix_from(what)
    if what.endswith((".yaml", ".yml")) or (names_file(what) and path.exists() and not path.is_dir()):
        found = read_spec_or_lock(path, what, progress)
        if isinstance(found, SpecFile) and found.is_foreign:
            return _Origin(lock_for_spec(found, options, progress))
        if isinstance(found, SpecFile):
            raise UsageError(f"{what} is a spec, no lock.", hint=f"`envkit create {what}` makes its environment.")
        return _Origin(complete(found, options, progress))
    if (path / "manifest.json").exists() and (path / "lock.yaml").exists():
        return replace(_of_snapshot(read_snapshot(path)), name=None, snapshot=None)
    try:
        environment = find_environment(what)
    except NotFoundError:
        env, at, snapshot_id = what.rpartition("@")
        if at and env and not is_path(snapshot_id):
            return replace(_of_snapshot(find_snapshot(env, snapshot_id)), prefix=_place_of(env))
        return replace(_of_snapshot(find_snapshot(what)), prefix=_place_of(what))
    return _of_environment(environment, progress, is_replaced=options.replace)


def _place_of(env: str) -> Path | None:
    """Where an environment that is restored from a snapshot stands, or is to stand; None for envkit's own folder."""
    try:
        return find_environment(env).prefix
    except NotFoundError:
        return prefix_at(env) if is_path(env) else None


def _of_environment(environment: Environment, progress: Progress, *, is_replaced: bool) -> _Origin:
    """An environment's own lock, of a broken one too; where that is lost, its newest snapshot."""
    if environment.state == "incomplete":
        with contextlib.suppress(InvalidFileError):  # --replace needs nothing but its lock
            put_back(environment.prefix, progress)
        environment = read_environment(environment.prefix) or environment
    prefix = environment.prefix
    try:
        lock, guard = lock_for(environment, current_platform()), environment.guard is not False
        return _Origin(
            lock,
            environment.name,
            prefix,
            is_there=True,
            python=environment.python,
            guard=guard,
            backend=environment.backend or None,
        )
    except InvalidFileError as error:
        if environment.state == "complete" and not is_replaced:
            raise
        lost = error
    try:
        snapshot = find_snapshot(str(prefix))
    except NotFoundError as error:
        raise EnvironmentStateError(
            f"{environment.name} has lost its own lock, and there is nothing to restore it from.",
            why=f"{environment.problem or lost.message} No snapshot was ever taken.",
            hint=f"Make it again with `envkit create SPEC {place_options(prefix)} --replace`, or "
            f"`envkit remove {word_for(environment)}`.",
        ) from error
    progress.note(f"{lost.message} Its newest snapshot is taken, {snapshot.id}.")
    return replace(_of_snapshot(snapshot), prefix=prefix)


def _of_snapshot(snapshot: Snapshot) -> _Origin:
    check_files(snapshot)
    lock = read_lock(snapshot.path / "lock.yaml", str(snapshot.path / "lock.yaml"))
    python, guard = snapshot.environment.get("python"), snapshot.environment.get("guard") is not False
    name, backend = str(snapshot.environment["name"]), snapshot.environment.get("backend")
    return _Origin(
        lock,
        name,
        snapshot=snapshot,
        python=str(python) if python else None,
        guard=guard,
        backend=backend if backend in {"venv", "conda"} else None,
    )


def _tell_drift(origin: _Origin, progress: Progress) -> None:
    for item in origin.lock.drift:
        if item.locked is None:
            progress.note(
                f"{item.name} {item.installed} was there beside the lock; it is not restored. `envkit add` adds it."
            )
        else:
            there = f"was {item.installed}" if item.installed is not None else "was missing"
            progress.note(f"{item.name} {there} when the snapshot was taken; {item.locked} is restored, as locked.")


def _check_drift(name: str, prefix: Path, lock: Lock, platform: str) -> None:
    """An environment that no longer holds what its lock says is not "already there"."""
    told = drift_text(prefix, lock, platform, with_added=True)
    if told is not None:
        raise ExistsError(
            f"{name} no longer holds what its lock says: {told}.",
            why="Something was installed or removed in it since.",
            hint=f"Make it again with --replace, or a second one with {other_place(prefix)}.",
        )
    refuse_changed_files(name, prefix)


def _tell_changes(snapshot: Snapshot, progress: Progress) -> None:
    """Say what is different from when the snapshot was taken: it is the first thing to know when it does not work."""
    smi = query_gpus()
    driver = str(smi.driver_version) if smi.driver_version else None
    if driver != snapshot.driver_version:
        progress.note(f"The driver was {snapshot.driver_version or 'absent'} then, it is {driver or 'absent'} now.")
    gpus = tuple(gpu.name or "unknown" for gpu in smi.gpus)
    if gpus != snapshot.gpus:
        progress.note(f"GPUs then: {', '.join(snapshot.gpus) or 'none'}; now: {', '.join(gpus) or 'none'}.")
