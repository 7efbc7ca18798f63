"""Create: from a spec's name or file to a verified, snapshotted environment."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envkit.errors import EnvkitError, ExistsError, UnfitMachineError, VerificationFailedError
from envkit.fs import flush
from envkit.model.additions import without_added
from envkit.operations import journal
from envkit.operations.backend import Place, place_of
from envkit.operations.build import build, put_back
from envkit.operations.drift import drift_of
from envkit.operations.editables import without_editables
from envkit.operations.environments import prefix_from, read_environment
from envkit.operations.fit import check_fit
from envkit.operations.foreign import complete
from envkit.operations.kept_files import keep_files
from envkit.operations.locking import prefix_lock, sweep
from envkit.operations.locks import lock_for_spec
from envkit.operations.own_files import drift_text, own_lock
from envkit.operations.places import other_place
from envkit.operations.plan import Plan, Seconds, make_plan
from envkit.operations.prefix_places import check_place
from envkit.operations.recovery import recover, undo
from envkit.operations.remove import tell_users
from envkit.operations.requirement_spec import spec_for
from envkit.operations.specs import SpecFile, names_file, read_spec_or_lock
from envkit.operations.toolkits import TOOLKIT_DIR, toolkit_for
from envkit.operations.trust import check_sources, sources_of
from envkit.operations.verify import VerifyResult, verify_environment
from envkit.probes.host import current_platform

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from envkit.model.environment import Environment
    from envkit.model.lock import Lock
    from envkit.model.progress import Progress
    from envkit.operations.journal import Journal
    from envkit.operations.options import CreateOptions


@dataclass(frozen=True, slots=True)
class CreateResult:
    """How a creation ended.

    Attributes:
        environment: the environment, or None after a dry run.
        created: false when it was there already.
        verification: None when none was made.
        seconds: time of each part.
        plan: what a dry run would make.
    """

    environment: Environment | None
    created: bool
    verification: VerifyResult | None
    seconds: Seconds
    plan: Plan | None = None

    @property
    def error(self) -> EnvkitError | None:
        """A failed verification; one that cannot be made here is no failure of a creation."""
        error = self.verification.error if self.verification is not None else None
        return error if isinstance(error, VerificationFailedError) else None

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit create --json`` and ``restore --json`` (docs/json.md)."""
        check = self.verification
        value: dict[str, Any] = {
            "environment": None if self.environment is None else self.environment.to_json(),
            "created": self.created,
            "verify": None if check is None else check.report.to_json(),
            "snapshot": None if check is None or check.snapshot is None else str(check.snapshot),
            "seconds": self.seconds.to_json(),
        }
        if self.plan is not None:
            locked = self.plan.lock.platforms[self.plan.platform]
            value["plan"] = {
                "name": self.plan.name,
                "prefix": str(self.plan.prefix),
                "backend": self.plan.backend,
                "python": None if self.plan.interpreter is None else str(self.plan.interpreter.path),
                "toolkit": None if self.plan.toolkit is None else self.plan.toolkit.to_json(),
                "packages": [
                    *({"name": item.name, "version": item.version, "source": item.source} for item in locked.packages),
                    *({"name": item.name, "version": item.version, "source": item.channel} for item in locked.base),
                ],
                "download_bytes": self.plan.download_bytes,
            }
        return value


def create(name_or_file: str, options: CreateOptions, progress: Progress) -> CreateResult:
    """Make the environment of a spec (or of a requirement, or a lock file), unless the same one is there already.

    Raises:
        EnvkitError: see docs/exit-codes.md; nothing is left behind then, and nothing that was there is touched.
    """
    seconds = Seconds()
    progress.step("lock")
    is_file = names_file(name_or_file)
    if is_file:
        found: SpecFile | Lock = read_spec_or_lock(prefix_from(name_or_file), name_or_file, progress)
    else:
        found, options = spec_for(name_or_file, options, progress)
    if isinstance(found, SpecFile):
        lock = lock_for_spec(found, options, progress)
    else:
        lock = complete(without_editables(found, progress), options, progress)
    platform = current_platform()
    check_platform(lock, platform)
    seconds.until_now("lock")
    default = lock.environment_name(platform)
    place = place_of(default, lock, platform, options, what=name_or_file, progress=progress)
    return make(place, lock, options, progress, seconds)


def make(place: Place, lock: Lock, options: CreateOptions, progress: Progress, seconds: Seconds) -> CreateResult:
    """Make the environment of ``lock`` at its place, or find it there; what create and restore share."""
    platform, prefix = current_platform(), place.prefix
    check_place(prefix)
    if journal.read(prefix) is None:
        there = _already_there(prefix, lock, options, platform)
        if there is not None:
            sweep(prefix)
            return CreateResult(there, created=False, verification=None, seconds=seconds)
    check_sources(
        sources_of(lock, platform),
        lock.path,
        trusted_hosts=options.trusted_hosts,
        confirm=options.confirm,
        remember=not options.dry_run,
    )
    check_fit(lock, platform, options, progress)
    plan = make_plan(place, lock, platform, options, progress, seconds)
    if options.dry_run:
        return CreateResult(None, created=False, verification=None, seconds=seconds, plan=plan)
    with prefix_lock(prefix, "create", progress, timeout_s=options.lock_timeout_s, break_lock=options.break_lock):
        recover(
            prefix,
            progress,
            timeout_s=options.lock_timeout_s,
            break_lock=options.break_lock,
            is_going=options.replace,
        )
        check_place(prefix)
        there = _already_there(prefix, lock, options, platform)
        if there is not None:
            return CreateResult(there, created=False, verification=None, seconds=seconds)
        return _build_and_verify(plan, progress, seconds)


def check_platform(lock: Lock, platform: str) -> None:
    """Refuse a lock that has nothing for this platform.

    Raises:
        UnfitMachineError: so.
    """
    if platform not in lock.platforms:
        raise UnfitMachineError(
            f"{lock.path or lock.spec} holds nothing for this platform, {platform}.",
            why=f"It was made for {', '.join(sorted(lock.platforms))}.",
            hint=f"If such builds exist: `envkit lock SPEC --platform {platform}` with a spec of your own.",
        )


def _already_there(prefix: Path, lock: Lock, options: CreateOptions, platform: str) -> Environment | None:
    """The same environment, if it is at that place; None when the place is free or will be made free.

    Raises:
        ExistsError: another environment is there, or the same one and it no longer holds what its lock says.
    """
    found = read_environment(prefix)
    if found is None or found.state == "incomplete" or options.replace:
        return None
    what, why = f"that is {found.state}", found.problem
    if found.state == "complete":
        if found.lock_sha256 == lock.digest(platform) or _same_files(own_lock(found), lock, platform):
            lost = drift_text(prefix, lock, platform, with_added=False)
            if not lost and _same_toolkit(found, options):
                return found
            what = "with another toolkit"
            if lost:
                what = "that no longer holds what its lock says"
                why = lost
        else:
            what = "made from another lock"
    raise ExistsError(
        f"There is an environment {what} at {prefix}.",
        why=why or f"It was made from {found.spec} on {found.created_at}.",
        hint=f"Keep both with {other_place(prefix)}, or replace it with --replace.",
    )


def _same_files(own: Lock, lock: Lock, platform: str) -> bool:
    """Whether an environment's own lock is ``lock``, with or without what was added to it since."""
    if own.same_files(lock, platform):
        return True
    return not lock.additions.added and without_added(own).same_files(lock, platform)


def _same_toolkit(found: Environment, options: CreateOptions) -> bool:
    """Whether the environment has the toolkit that was asked for, if one was."""
    if options.toolkit is None:
        return True
    asked = toolkit_for(None, options.toolkit, folder=TOOLKIT_DIR)
    if asked is None or found.toolkit is None:
        return asked is None and found.toolkit is None
    return asked.path == found.toolkit.path or options.toolkit in {found.toolkit.release, found.toolkit.version}


def _build_and_verify(plan: Plan, progress: Progress, seconds: Seconds) -> CreateResult:
    replaced = read_environment(plan.prefix)
    if replaced is not None:
        tell_users(plan.prefix, progress)
        _tell_dropped(plan, progress)
    environment, pending = build(plan, progress, seconds, replaced=replaced)
    with _replacement(pending if replaced is not None else None, progress):
        verification = None
        if plan.options.verify:
            verification = verify_environment(environment, level="device", progress=progress)
            environment = verification.environment
        seconds.until_now("verify")
        if (
            replaced is not None
            and verification is not None
            and isinstance(verification.error, VerificationFailedError)
        ):
            error = verification.error
            error.hint = f"The environment that was there before is back, as it was. {error.why or ''}".strip()
            raise error
    return CreateResult(environment, created=True, verification=verification, seconds=seconds)


def _tell_dropped(plan: Plan, progress: Progress) -> None:
    """What was installed beside the lock is not in the new environment."""
    beside = [item for item in drift_of(plan.prefix, plan.lock, plan.platform) if item.locked is None]
    if beside:
        names = ", ".join(f"{item.name} {item.installed}" for item in beside)
        progress.note(f"Not in the lock, so not in the new environment: {names}. `envkit add` keeps packages.")


@contextmanager
def _replacement(pending: Journal | None, progress: Progress) -> Iterator[None]:
    """The old environment comes back when the block fails, and goes when it succeeds."""
    if pending is None:
        yield
        return
    try:
        yield
        keep_files(pending.old, pending.prefix, progress)
        flush(pending.prefix)
    except BaseException:
        put_back(pending, progress)
        raise
    pending = journal.enter(pending, "discard")
    try:
        undo(pending)
    except (OSError, KeyboardInterrupt):  # the new one stands; the rest is for the next envkit
        progress.note(f"The replaced environment is not quite deleted yet: {pending.old}.")
