"""The lock that goes with a spec: beside it, or resolved now."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from envkit import fs
from envkit.errors import DownloadError, StaleLockError, UnfitMachineError
from envkit.operations.specs import SpecFile, read_lock
from envkit.operations.virtual_packages import Target
from envkit.probes.host import current_platform
from envkit.scratch import scratch_folder

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.lock import Lock
    from envkit.model.progress import Progress
    from envkit.operations.options import CreateOptions


def lock_for_spec(found: SpecFile, options: CreateOptions, progress: Progress) -> Lock:
    """The lock of a spec; resolved now, and kept, when there is none.

    The lock of a spec that ships may leave out platforms whose files nobody could state beforehand; then it is resolved
    for this one.

    Raises:
        StaleLockError: the spec was changed since its lock was made, and --update-lock was not given.
        UnfitMachineError: the spec ships, and there is no such build for this platform.
        EnvkitError: it could not be resolved.
    """
    spec, platform = found.spec, current_platform()
    if found.is_shipped and platform not in spec.platforms:
        raise UnfitMachineError(
            f"The spec {spec.name} is not for this platform, {platform}.",
            why=f"It is for {', '.join(spec.platforms)}: such a build for others is not known.",
            hint="`envkit specs` shows what else there is.",
        )
    existing = _locks_of(found)
    for path in existing:
        lock = read_lock(path, _shown(found, path))
        if lock.spec_sha256 == spec.sha256:
            if not found.is_shipped or platform in lock.platforms:
                return lock
        elif not options.update_lock:
            raise StaleLockError(
                f"{_shown(found, path)} is older than its spec {spec.path}.",
                why="The spec was changed since the lock was made from it.",
                hint="Make the lock again with --update-lock (or `envkit lock`), or undo the change.",
            )
    if options.offline:
        lacks = "has no lock" if not existing else "has no lock that is current and for this platform"
        how = "the same without --offline" if found.is_shipped else f"`envkit lock {spec.path}`"
        raise DownloadError(
            f"Offline, and {spec.path} {lacks}.",
            why="To make one, indexes have to be asked for versions and hashes.",
            hint=f"Run {how} once where there is a network.",
        )
    output = _writable(found) if found.is_shipped or not existing else existing[0]
    return _resolved_now(found, output, options, progress)


def _resolved_now(found: SpecFile, output: Path, options: CreateOptions, progress: Progress) -> Lock:
    from envkit.operations.fit import check_spec  # noqa: PLC0415 - most locks are there, and start-up counts
    from envkit.operations.lock import lock_spec  # noqa: PLC0415

    check_spec(found.spec, options)
    make = functools.partial(
        lock_spec,
        found.path,
        spec=found.spec,
        platforms=(current_platform(),) if found.is_shipped else (),
        trusted_hosts=options.trusted_hosts,
        confirm=options.confirm,
        remember=not options.dry_run,
        target=Target(options.cuda, options.driver),
        progress=progress,
    )
    if options.dry_run:
        with scratch_folder() as folder:
            return make(output=folder / "dry-run.lock.yaml").lock
    return make(output=output).lock


def _locks_of(found: SpecFile) -> list[Path]:
    """The locks that are there: of a spec that ships, both it and what was resolved here for other platforms."""
    there = [path for path in (found.lock_path, found.private_lock_path) if path.is_file()]
    return there if found.is_shipped else there[:1]


def _writable(found: SpecFile) -> Path:
    if not found.is_shipped and found.path.is_file() and os.access(found.path.parent, os.W_OK):
        return found.lock_path
    fs.make_folder(found.private_lock_path.parent)
    return found.private_lock_path


def _shown(found: SpecFile, lock: Path) -> str:
    """A lock's path as the user would write it."""
    return str(lock) if found.is_shipped else os.path.relpath(lock)
