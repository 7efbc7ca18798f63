"""What a creation will do: settled before anything is changed."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from envkit.backends.pythons import find_interpreter
from envkit.errors import DownloadError, UnfitMachineError, UnsatisfiableError
from envkit.installers.condarc import read_conda_settings
from envkit.installers.files import local_files, with_local_hashes
from envkit.installers.indexes import find_local_wheel_dirs, read_pip_config
from envkit.installers.stated import stated_hashes
from envkit.operations.conda_base import base_of
from envkit.operations.download import download_of
from envkit.operations.prefix_places import check_conda_prefix
from envkit.operations.toolkits import TOOLKIT_DIR, toolkit_for

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from envkit.backends.pythons import Interpreter
    from envkit.installers.condarc import CondaSettings
    from envkit.installers.indexes import PipConfig
    from envkit.model.conda_record import CondaRecord
    from envkit.model.lock import Lock
    from envkit.model.progress import Progress
    from envkit.model.toolkit import Toolkit
    from envkit.operations.backend import Place
    from envkit.operations.download import Download
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
        interpreter: what a virtual environment is made from; None for a conda prefix, whose Python is a package.
        conda: the user's settings for conda; None for a virtual environment.
        toolkit: what activation switches to, or None.
        files: locked files that lie on this disk, by package name.
        config: the user's index settings.
        options: what the user asked for.
    """

    name: str
    prefix: Path
    lock: Lock
    platform: str
    interpreter: Interpreter | None
    conda: CondaSettings | None
    toolkit: Toolkit | None
    files: Mapping[str, Path]
    config: PipConfig
    options: CreateOptions

    @property
    def backend(self) -> Literal["venv", "conda"]:
        """What makes the prefix."""
        return "venv" if self.conda is None else "conda"

    @property
    def engine(self) -> str:
        """The program that installs what the spec names: "uv", "pip" or "rattler"."""
        return "rattler" if self.lock.installer == "conda" else self.options.engine

    @property
    def python_version(self) -> str:
        """Of the interpreter that the environment will have, "3.9.18"."""
        if self.interpreter is not None:
            return self.interpreter.version
        record = self.lock.platforms[self.platform].record("python")
        return self.lock.python if record is None else record.version

    @property
    def download(self) -> Download | None:
        """What the lock tells of the size of the files that are not on this disk; None: nothing."""
        locked = self.lock.platforms[self.platform]
        return download_of([*(item for item in locked.packages if item.name not in self.files), *locked.base])

    @property
    def download_bytes(self) -> int | None:
        """Size of the files that are not on this disk; None when the lock does not tell them all."""
        download = self.download
        return None if download is None or download.unknown else download.size_bytes


def make_plan(
    place: Place, lock: Lock, platform: str, options: CreateOptions, progress: Progress, seconds: Seconds
) -> Plan:
    """Settle everything that can be settled without changing anything.

    Raises:
        EnvkitError: no such Python, no such toolkit, a file or hash that cannot be had.
    """
    is_conda = place.backend == "conda"
    interpreter, settings = None, None
    if is_conda:
        check_conda_prefix(place.prefix)
        settings = read_conda_settings()
        lock = lock.with_base(platform, _base(place, lock, platform, options, settings, progress))
    else:
        progress.step(f"Python {lock.python}")
        interpreter = place.interpreter or _interpreter(lock, options, progress)
        lock = lock.with_base(platform, ())
    toolkit = toolkit_for(lock.toolkit, options.toolkit, progress, folder=TOOLKIT_DIR)
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
    return Plan(place.name, place.prefix, lock, platform, interpreter, settings, toolkit, files, config, options)


def _base(
    place: Place, lock: Lock, platform: str, options: CreateOptions, settings: CondaSettings, progress: Progress
) -> tuple[CondaRecord, ...]:
    """The conda packages; where conda-forge cannot help out either, it is this machine that has no such Python."""
    try:
        return base_of(lock, platform, options, settings, progress)
    except (DownloadError, UnsatisfiableError) as error:
        if place.missing is None:
            raise
        missing = place.missing
        why = f"{missing.why} A conda prefix with one cannot be made: {error.message}"
        raise UnfitMachineError(missing.message, why=why, hint=missing.hint) from error


def _interpreter(lock: Lock, options: CreateOptions, progress: Progress) -> Interpreter:
    """The Python to make the environment from; a restored one gets the patch version it had, where that is here."""
    if options.python is None and options.preferred_python is not None:
        with contextlib.suppress(UnfitMachineError):
            return find_interpreter(lock.python, options.preferred_python)
        found = find_interpreter(lock.python)
        progress.note(f"It had Python {options.preferred_python}, which is not here; Python {found.version} is taken.")
        return found
    return find_interpreter(lock.python, options.python)
