"""The conda packages of an environment: those of its lock, or Python alone for a pip environment in a conda prefix."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from envkit.backends.pythons import agreed_version, is_version
from envkit.errors import DownloadError, UnfitMachineError, UnsatisfiableError
from envkit.installers.rattler.calls import solve
from envkit.model.conda_record import CondaRecord
from envkit.operations.virtual_packages import virtual_packages

if TYPE_CHECKING:
    from envkit.installers.condarc import CondaSettings
    from envkit.model.lock import Lock
    from envkit.model.progress import Progress
    from envkit.operations.options import CreateOptions

SOLVE_TIMEOUT_S = 900.0
"""A channel's index has up to 100 MB; a server that stands still is noticed much earlier."""
INSTALL_TIMEOUT_S = 4 * 3600.0
"""2 GB over a slow line."""
BASE_CHANNEL = "conda-forge"
"""Where the Python of a pip environment in a conda prefix comes from."""
_PIP_TOOLS = ("pip", "setuptools", "wheel")
"""conda-forge's pip needs the other two. A package is put into an environment by one installer alone: where the lock
holds one of the three, pip's engine installs what the lock has of them and conda none."""


def base_of(
    lock: Lock, platform: str, options: CreateOptions, settings: CondaSettings, progress: Progress
) -> tuple[CondaRecord, ...]:
    """The conda packages for the environment of ``lock``: as locked, else Python (and pip) as conda-forge has it now.

    Raises:
        UnfitMachineError: --python is a program, or another version than the lock's.
        UnsatisfiableError: conda-forge has no such Python.
        DownloadError: conda-forge cannot be reached.
    """
    found = lock.platforms[platform]
    python = found.record("python")
    version = _version(lock.python if python is None else python.version, options.python)
    if found.base:
        return found.base
    names = {item.name for item in found.packages}
    tools = () if names.intersection(_PIP_TOOLS) else ("pip",)
    progress.step(f"Python {version} of {BASE_CHANNEL}")

    def _solve(of_python: str) -> tuple[CondaRecord, ...]:
        records = solve(
            [BASE_CHANNEL],
            [python_spec(of_python), *tools],
            platform=platform,
            virtual_packages=virtual_packages(platform, cuda=None),
            settings=settings,
            offline=options.offline,
            timeout_s=SOLVE_TIMEOUT_S,
            progress=progress,
        )
        return tuple(CondaRecord.from_dict(record) for record in records)

    try:
        if options.python is None and options.preferred_python is not None:
            with contextlib.suppress(UnsatisfiableError):
                return _solve(options.preferred_python)
            progress.note(f"It had Python {options.preferred_python}, which {BASE_CHANNEL} does not have.")
        return _solve(version)
    except DownloadError as error:
        error.hint = f"{error.hint or ''} With --backend venv a Python of this machine is taken instead.".strip()
        raise


def python_spec(version: str) -> str:
    """The MatchSpec for Python "3.9" or "3.9.18"."""
    return f"python {version}.*" if version.count(".") < 2 else f"python {version}"  # noqa: PLR2004 - major.minor.patch


def _version(locked: str, asked: str | None) -> str:
    if asked is None:
        return locked
    if not is_version(asked):
        raise UnfitMachineError(
            f"--python {asked} names a program; the Python of a conda prefix is one of its packages.",
            hint="Give a version; for packages of pip's --backend venv takes that program.",
        )
    return agreed_version(locked, asked)
