"""What a creation will do: settled before anything is changed."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from envkit import __version__, paths
from envkit.activation import check_path
from envkit.backends.pythons import find_interpreter
from envkit.errors import ExistsError, UnfitMachineError, UsageError
from envkit.installers.files import local_files, with_local_hashes
from envkit.installers.indexes import find_local_wheel_dirs, read_pip_config
from envkit.installers.stated import stated_hashes
from envkit.model.names import check_environment_name
from envkit.operations import environments
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


def name_and_prefix(default: str | None, options: CreateOptions, what: str) -> tuple[str, Path]:
    """The name and the place of a new environment.

    Raises:
        UsageError: --name and --prefix together, a name that breaks the rules, or no name at all.
    """
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
    return name, environments.prefix_at(str(paths.envs_dir() / name))
