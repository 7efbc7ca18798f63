"""The conda packages of an environment: those of its lock, or Python alone for a pip environment in a conda prefix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.backends.pythons import is_version
from envkit.errors import DownloadError, UnfitMachineError
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
        UnfitMachineError: conda-forge has no such Python, or --python is a program.
        DownloadError: conda-forge cannot be reached.
    """
    found = lock.platforms[platform]
    if found.base:
        return found.base
    names = {item.name for item in found.packages}
    wanted = [_python_spec(lock, options), *(() if names.intersection(_PIP_TOOLS) else ("pip",))]
    progress.step(f"Python {lock.python} of {BASE_CHANNEL}")
    try:
        records = solve(
            [BASE_CHANNEL],
            wanted,
            platform=platform,
            virtual_packages=virtual_packages(platform, cuda=None),
            settings=settings,
            offline=options.offline,
            timeout_s=SOLVE_TIMEOUT_S,
            progress=progress,
        )
    except DownloadError as error:
        error.hint = f"{error.hint or ''} With --backend venv a Python of this machine is taken instead.".strip()
        raise
    return tuple(CondaRecord.from_dict(record) for record in records)


def _python_spec(lock: Lock, options: CreateOptions) -> str:
    asked = options.python
    if asked is None and options.preferred_python is not None:
        asked = options.preferred_python
    if asked is None:
        return f"python {lock.python}.*" if lock.python.count(".") == 1 else f"python {lock.python}"
    if not is_version(asked):
        raise UnfitMachineError(
            f"--python {asked} names a program; the Python of a conda prefix is one of its packages.",
            hint="Give a version, or --backend venv.",
        )
    if not (asked + ".").startswith(lock.python + ".") and not (lock.python + ".").startswith(asked + "."):
        raise UnfitMachineError(
            f"--python {asked} does not go with a lock for Python {lock.python}.",
            why="The files in a lock fit one Python version.",
            hint=f'Write python: "{asked}" into a spec of your own and run `envkit lock` on it.',
        )
    longest = max(asked, lock.python, key=len)
    return f"python {longest}" if longest.count(".") > 1 else f"python {longest}.*"
