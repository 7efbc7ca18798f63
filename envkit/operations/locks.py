"""The lock that goes with a spec: beside it, or resolved now."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

from envkit import fs
from envkit.errors import DownloadError, StaleLockError
from envkit.operations.specs import SpecFile, read_lock
from envkit.operations.virtual_packages import Target
from envkit.scratch import scratch_folder

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.lock import Lock
    from envkit.model.progress import Progress
    from envkit.operations.options import CreateOptions


def lock_for_spec(found: SpecFile, options: CreateOptions, progress: Progress) -> Lock:
    """The lock of a spec; resolved now, and kept, when there is none.

    Raises:
        StaleLockError: the spec was changed since its lock was made, and --update-lock was not given.
        EnvkitError: it could not be resolved.
    """
    spec = found.spec
    existing = next((path for path in (found.lock_path, found.private_lock_path) if path.is_file()), None)
    if existing is not None:
        lock = read_lock(existing, _shown(found, existing))
        if lock.spec_sha256 == spec.sha256:
            return lock
        if not options.update_lock:
            raise StaleLockError(
                f"{_shown(found, existing)} is older than its spec {spec.path}.",
                why="The spec was changed since the lock was made from it.",
                hint="Make the lock again with --update-lock (or `envkit lock`), or undo the change.",
            )
    if options.offline:
        how = "the same without --offline" if found.is_shipped else f"`envkit lock {spec.path}`"
        raise DownloadError(
            f"Offline, and {spec.path} has no lock{' that is current' if existing is not None else ''}.",
            why="To make one, indexes have to be asked for versions and hashes.",
            hint=f"Run {how} once where there is a network.",
        )
    from envkit.operations.fit import check_spec  # noqa: PLC0415 - most locks are there, and start-up counts
    from envkit.operations.lock import lock_spec  # noqa: PLC0415

    check_spec(spec, options)
    make = functools.partial(
        lock_spec,
        found.path,
        spec=spec,
        trusted_hosts=options.trusted_hosts,
        confirm=options.confirm,
        remember=not options.dry_run,
        target=Target(options.cuda, options.driver),
        progress=progress,
    )
    if options.dry_run:
        with scratch_folder() as folder:
            return make(output=folder / "dry-run.lock.yaml").lock
    return make(output=existing or _writable(found)).lock


def _writable(found: SpecFile) -> Path:
    if not found.is_shipped and found.path.is_file() and os.access(found.path.parent, os.W_OK):
        return found.lock_path
    fs.make_folder(found.private_lock_path.parent)
    return found.private_lock_path


def _shown(found: SpecFile, lock: Path) -> str:
    """A lock's path as the user would write it."""
    return str(lock) if found.is_shipped else os.path.relpath(lock)
