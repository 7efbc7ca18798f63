"""Making an environment from a lock: whole, or not at all."""

from __future__ import annotations

import contextlib
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from envkit import __version__
from envkit.activation import attach_hooks, check_path, install_hooks
from envkit.backends.pythons import find_interpreter
from envkit.backends.venv import make_venv
from envkit.errors import EnvkitError, ExistsError, StorageError, UnfitMachineError, UsageError
from envkit.installers import pip
from envkit.installers.files import local_files, with_local_hashes
from envkit.installers.indexes import find_local_wheel_dirs, read_pip_config
from envkit.installers.installed import installed_packages
from envkit.installers.stated import stated_hashes
from envkit.model.environment import Environment
from envkit.model.lock import Drift
from envkit.operations import clock, environments, journal
from envkit.operations.editables import reinstall_editables
from envkit.operations.environments import write_record
from envkit.operations.own_files import write_own_files
from envkit.operations.toolkits import toolkit_for

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from envkit.backends.pythons import Interpreter
    from envkit.installers.indexes import PipConfig
    from envkit.model.lock import Lock
    from envkit.model.progress import Progress
    from envkit.model.toolkit import Toolkit
    from envkit.operations.options import CreateOptions


@dataclass(slots=True)
class Seconds:
    """How long each part of a creation took; shown as ``seconds`` in JSON."""

    spent: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(("lock", "interpreter", "packages", "hooks", "verify"), 0.0)
    )
    _since: float = field(default_factory=time.monotonic)

    def until_now(self, part: str) -> None:
        """The time since the last call, or since the start, went into ``part``."""
        now = time.monotonic()
        self.spent[part] += now - self._since
        self._since = now

    def to_json(self) -> dict[str, float]:
        """Rounded to milliseconds."""
        return {part: round(seconds, 3) for part, seconds in self.spent.items()}


@dataclass(frozen=True, slots=True)
class Plan:
    """All that is settled before anything is changed.

    Attributes:
        name: of the environment.
        prefix: where it goes.
        lock: with a hash for every file.
        platform: conda's name of this platform.
        interpreter: what the environment is made from.
        toolkit: what activation switches to, or None.
        files: locked files that lie on this disk, by package name.
        config: the user's index settings.
        options: what the user asked for.
    """

    name: str
    prefix: Path
    lock: Lock
    platform: str
    interpreter: Interpreter
    toolkit: Toolkit | None
    files: Mapping[str, Path]
    config: PipConfig
    options: CreateOptions

    @property
    def download_bytes(self) -> int | None:
        """Size of the files that are not on this disk; None when the lock does not tell them all."""
        sizes = [item.size for item in self.lock.platforms[self.platform].packages if item.name not in self.files]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None


def check_backend(lock: Lock, options: CreateOptions) -> None:
    """Refuse what this version cannot make.

    Raises:
        UnfitMachineError: a conda environment was asked for.
    """
    if options.backend == "conda" or lock.installer == "conda":
        what = "conda prefixes" if options.backend == "conda" else f"environments of the installer {lock.installer}"
        raise UnfitMachineError(
            f"envkit {__version__} does not make {what} yet.",
            why="Its conda backend is not finished; only virtual environments with installer pip can be made.",
            hint="Use a spec with installer: pip and --backend venv.",
        )


def check_place(prefix: Path) -> None:
    """Refuse a folder that activation scripts cannot name, or that holds something else.

    Raises:
        UsageError: the name holds the PATH separator, a line break or NUL.
        ExistsError: there is something that is no environment.
    """
    check_path(str(prefix))
    if any(ord(letter) < ord(" ") or 0xD800 <= ord(letter) < 0xE000 or letter == "\x7f" for letter in str(prefix)):  # noqa: PLR2004
        raise UsageError(
            f"Cannot use the folder {str(prefix)!r}: its name holds a control character or is not UTF-8.",
            hint="Choose another name; spaces, quotes and letters of any language are fine.",
        )
    if environments.read_environment(prefix) is not None:
        return
    if prefix.is_symlink() or (prefix.exists() and (not prefix.is_dir() or any(prefix.iterdir()))):
        raise ExistsError(
            f"{prefix} holds something that is no environment of envkit.",
            why="envkit never replaces what it did not make, not even with --replace.",
            hint="Choose another place with --prefix DIR or --name N, or move that folder away.",
        )


def make_plan(
    name: str, prefix: Path, lock: Lock, platform: str, options: CreateOptions, progress: Progress, seconds: Seconds
) -> Plan:
    """Settle everything that can be settled without changing anything.

    Raises:
        EnvkitError: no such Python, no such toolkit, a file or hash that cannot be had.
    """
    progress.step(f"Python {lock.python}")
    interpreter = _interpreter(lock, options, progress)
    toolkit = toolkit_for(lock.toolkit, options.toolkit)
    seconds.until_now("interpreter")
    config = read_pip_config()
    packages = lock.platforms[platform].packages
    folders = find_local_wheel_dirs(config, options.wheelhouse)
    files = local_files(packages, folders, wheelhouse=options.wheelhouse)
    packages, taken = with_local_hashes(packages, files)
    for package in taken:
        progress.note(f"No hash of {package} is known; that of {files[package]} was taken.")
    if any(item.sha256 is None for item in packages) and not options.dry_run:
        packages = stated_hashes(packages, config, offline=options.offline, progress=progress)
    seconds.until_now("packages")
    lock = lock.with_packages(platform, packages)
    return Plan(name, prefix, lock, platform, interpreter, toolkit, files, config, options)


def _interpreter(lock: Lock, options: CreateOptions, progress: Progress) -> Interpreter:
    """The Python to make the environment from; a restored one gets the patch version it had, where that is here."""
    if options.python is None and options.preferred_python is not None:
        with contextlib.suppress(UnfitMachineError):
            return find_interpreter(lock.python, options.preferred_python)
        found = find_interpreter(lock.python)
        progress.note(f"It had Python {options.preferred_python}, which is not here; Python {found.version} is taken.")
        return found
    return find_interpreter(lock.python, options.python)


def build(plan: Plan, progress: Progress, seconds: Seconds, *, replaced: Environment | None) -> Environment:
    """Make the environment of ``plan``; the caller holds the prefix's lock and ends the journal of a replacement.

    On any failure, Ctrl-C included, things are as they were: nothing is left behind, and an environment that was to be
    replaced is back.

    Args:
        plan: what to make.
        progress: told what happens.
        seconds: takes the times.
        replaced: the environment that gives way, or None.
    """
    prefix = plan.prefix
    aside = None if replaced is None else prefix.with_name(f".{prefix.name}.envkit-old-{secrets.token_hex(4)}")
    new_parents = [folder for folder in prefix.parents if not folder.exists()]
    try:
        prefix.parent.mkdir(parents=True, exist_ok=True)
        pending = journal.begin(prefix, "create", aside)
    except FileNotFoundError as error:  # as /proc answers
        raise StorageError.cannot_write(prefix, why="No folder can be made there.") from error
    try:
        if aside is not None:
            prefix.rename(aside)
        environments.register(prefix)
        environment = _fill(plan, progress, seconds)
        if aside is None:
            journal.end(prefix)
    except BaseException:
        put_back(pending, progress)
        if aside is None:
            environments.forget(prefix)
        for folder in new_parents:
            with contextlib.suppress(OSError):  # not ours alone any more
                folder.rmdir()
        raise
    return environment


def put_back(pending: journal.Journal, progress: Progress) -> None:
    """Undo a creation that failed; where that fails too, say so, and let the failure itself be told."""
    try:
        journal.undo(pending)
    except OSError as error:
        progress.note(f"What was made at {pending.prefix} could not be removed ({error}); the next envkit will try.")


def _fill(plan: Plan, progress: Progress, seconds: Seconds) -> Environment:
    options, lock, prefix = plan.options, plan.lock, plan.prefix
    packages = lock.platforms[plan.platform].packages
    progress.step(f"virtual environment with Python {plan.interpreter.version}")
    python = make_venv(prefix, plan.interpreter, engine=options.engine)
    seconds.until_now("interpreter")
    progress.step(f"{len(packages)} packages by {options.engine}")
    pip.install(
        python,
        packages,
        plan.files,
        python_version=plan.interpreter.version,
        engine=options.engine,
        config=plan.config,
        offline=options.offline,
        progress=progress,
    )
    _check_installed(plan)
    seconds.until_now("packages")
    progress.step("hooks and record")
    install_hooks(prefix, slot="VENV", toolkit=plan.toolkit, library_path=lock.library_path)
    attach_hooks(prefix)
    lock = reinstall_editables(prefix, lock, plan.config, offline=options.offline, progress=progress)
    write_own_files(prefix, lock, plan.platform, guard=options.guard)
    environment = _record_of(plan)
    write_record(environment)
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


def name_and_prefix(default: str | None, options: CreateOptions, what: str) -> tuple[str, Path]:
    """The name and the place of a new environment.

    Raises:
        UsageError: --name and --prefix together, a name that breaks the rules, or no name at all.
    """
    from envkit import paths  # noqa: PLC0415 - the only use here
    from envkit.model.names import check_environment_name  # noqa: PLC0415

    if options.name is not None and options.prefix is not None:
        raise UsageError("--name and --prefix exclude each other.", hint="A prefix is named after its last folder.")
    if options.prefix is not None:
        return options.prefix.name or str(options.prefix), options.prefix
    name = options.name if options.name is not None else default
    if name is None:
        raise UsageError(
            f"{what} does not say which torch it holds, so the environment has no version name.",
            hint="Give it one with --name N.",
        )
    check_environment_name(name)
    return name, paths.envs_dir() / name
