"""Verify: does the environment compute? Layer by layer, and a snapshot of each success."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envkit.errors import (
    BusyError,
    EnvkitError,
    InstallerRuleError,
    NotVerifiableError,
    StorageError,
    VerificationFailedError,
)
from envkit.installers.guard import renew_refusals
from envkit.model.report import FILES, LAYERS, LAYERS_OF_LEVEL, Level, VerifyReport
from envkit.operations import clock
from envkit.operations.content import files_layer
from envkit.operations.environments import (
    find_environment,
    is_under_way,
    put_back,
    usable_environment,
    word_for,
    write_record,
)
from envkit.operations.locking import LOCK_TIMEOUT_S, prefix_lock
from envkit.operations.one_installer import installer_layer
from envkit.operations.own_files import guarded_by, lock_for
from envkit.operations.snapshot import take_snapshot
from envkit.probes.host import current_platform
from envkit.probes.nvidia_smi import query_gpus
from envkit.probes.torch_runtime import Expectation, verify_runtime

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.environment import Environment
    from envkit.model.lock import Lock
    from envkit.model.progress import Progress


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """How a verification ended.

    Attributes:
        environment: with the new verdict in it.
        report: the layers.
        snapshot: folder of the snapshot that was taken, or None.
        snapshot_problem: why a snapshot could not be written although the environment was verified, or None.
    """

    environment: Environment
    report: VerifyReport
    snapshot: Path | None
    snapshot_problem: EnvkitError | None = None

    @property
    def error(self) -> EnvkitError | None:
        """The failure that the command ends with; None for verified and for a passed level import."""
        name, word, reason = self.environment.name, word_for(self.environment), self.report.reason
        if self.report.is_mixed_only:
            return InstallerRuleError(
                f"{name} holds packages that its installer did not put there.",
                why=reason,
                hint=f"`envkit doctor {word}` tells all of them; `envkit restore {word} --replace` makes it again.",
            )
        if self.report.failed and self.report.telling is not None:
            return VerificationFailedError(
                f"{name} is broken: layer {self.report.telling.layer} failed.",
                why=reason,
                hint=f"`envkit info {word}` shows what is installed; `envkit restore {word} --replace` makes it again.",
            )
        if self.report.not_verifiable:
            return NotVerifiableError(
                f"{name} cannot be verified here.",
                why=reason,
                hint="Run `envkit verify` where the GPU is visible; `--level import` checks what can be checked here.",
            )
        return self.snapshot_problem

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit verify --json`` (docs/json.md)."""
        return {
            "environment": self.environment.to_json(),
            **self.report.to_json(),
            "snapshot": None if self.snapshot is None else str(self.snapshot),
        }


def verify(env: str, *, level: Level, progress: Progress, lock_timeout_s: float = LOCK_TIMEOUT_S) -> VerifyResult:
    """Verify the environment that ``env`` means.

    Raises:
        NotFoundError: there is none.
        EnvironmentStateError: it is incomplete or broken.
        BusyError: another envkit works on it.
    """
    environment = find_environment(env)
    prefix = environment.prefix
    if environment.state == "incomplete" and is_under_way(prefix):
        raise BusyError(
            f"{environment.name} is being made or changed.", why=environment.problem, hint="Wait until that is done."
        )
    with prefix_lock(prefix, "verify", progress, timeout_s=lock_timeout_s, is_needed=False):
        put_back(prefix, progress, is_locked=True)
        return verify_environment(usable_environment(str(prefix)), level=level, progress=progress)


def verify_environment(environment: Environment, *, level: Level, progress: Progress) -> VerifyResult:
    """Verify an environment; a success at level device or full is written down and snapshotted."""
    progress.step(f"verify {environment.name} (level {level})")
    platform = current_platform()
    lock = lock_for(environment, platform)
    _renew_guard(environment, lock, platform, progress)
    smi = query_gpus()
    expectation = Expectation(_versions(lock, platform), environment.build_cuda, smi=smi)
    wanted = LAYERS_OF_LEVEL[level]
    files = (files_layer(environment, lock, platform, progress),) if FILES in wanted else ()
    runtime = [layer for layer in wanted if layer in LAYERS]
    layers = verify_runtime(environment.executable, expect=expectation, layers=runtime)
    mixed = installer_layer(environment, lock, platform) if level != "import" else None
    report = VerifyReport(level, (*layers, *((mixed,) if mixed is not None else ()), *files))
    snapshot, problem = None, None
    if report.failed or level != "import":
        environment = environment.verified(
            "pass" if report.verified else "fail" if report.failed else "skip", clock.now()
        )
    if report.verified:
        progress.step("snapshot")
        try:
            snapshot = take_snapshot(environment, report, smi, lock, progress=progress)
        except (OSError, EnvkitError) as error:
            problem = _told(error)
            progress.note(f"Verified, but no snapshot could be written: {problem.message} {problem.why or ''}")
    if report.failed or level != "import":
        _remember(environment, progress)
    return VerifyResult(environment, report, snapshot, problem)


def _told(error: OSError | EnvkitError) -> EnvkitError:
    if isinstance(error, EnvkitError):
        return error
    return StorageError.from_os_error(error) or StorageError.cannot_write(str(error.filename), why=str(error.strerror))


def _versions(lock: Lock, platform: str) -> dict[str, str]:
    locked = lock.platforms[platform]
    return {item.name: item.version for item in (locked.packages if lock.installer == "pip" else locked.base)}


def _renew_guard(environment: Environment, lock: Lock, platform: str, progress: Progress) -> None:
    """Keep the other installer out also where conda has brought another Python."""
    try:
        written = renew_refusals(guarded_by(environment.prefix, lock, platform)) if environment.guard else ()
    except (OSError, EnvkitError) as error:
        progress.note(f"What keeps the other installer out could not be written again: {error}")
        return
    for path in written:
        progress.note(f"{path} was missing, or another, and is written again.")


def _remember(environment: Environment, progress: Progress) -> None:
    """Write the verdict into the environment, where it may be written."""
    try:
        write_record(environment)
    except OSError as error:
        storage = StorageError.from_os_error(error)
        if storage is None:
            raise
        progress.note(f"The verdict is not written into {environment.prefix}: {storage.why}")
