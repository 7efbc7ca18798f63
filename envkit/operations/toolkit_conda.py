"""A toolkit of conda channels: found by a solver, installed by py-rattler, without being an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.compat.toolkit_channels import channel_toolkit
from envkit.errors import DownloadError, UnsatisfiableError, UsageError
from envkit.installers.conda_relocate import leave_conda, relocate
from envkit.installers.condarc import read_conda_settings
from envkit.installers.rattler import calls as rattler
from envkit.installers.toolkit_layout import finish_toolkit
from envkit.model.conda_record import CondaRecord
from envkit.operations.conda_base import INSTALL_TIMEOUT_S, SOLVE_TIMEOUT_S
from envkit.operations.virtual_packages import virtual_packages

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.progress import Progress
    from envkit.model.toolkit_record import ToolkitRecord


def solve_toolkit(
    version: str, libraries: tuple[str, ...], *, platform: str, offline: bool, progress: Progress
) -> tuple[CondaRecord, ...]:
    """The packages that make the toolkit of a full version.

    No driver is needed for a compiler: the solver is told of one that serves this very CUDA.

    Raises:
        UnsatisfiableError: the channels have no such set of packages.
        DownloadError: a channel cannot be reached.
    """
    asked, settings = channel_toolkit(version, libraries), read_conda_settings()
    progress.step(f"CUDA {version} of {', '.join(asked.channels)}")
    release = ".".join(version.split(".")[:2])
    try:
        records = rattler.solve(
            asked.channels,
            asked.specs,
            platform=platform,
            virtual_packages=virtual_packages(platform, cuda=release),
            settings=settings,
            offline=offline,
            timeout_s=SOLVE_TIMEOUT_S,
            progress=progress,
        )
    except UnsatisfiableError as error:
        error.hint = f"The channels may lack a part of {version} for {platform}; try another update of {release}."
        raise
    return tuple(CondaRecord.from_dict(record) for record in records)


def fill_from_conda(
    staging: Path, final: Path, record: ToolkitRecord, *, offline: bool, wheelhouse: Path | None, progress: Progress
) -> Path:
    """Install the packages of ``record`` below ``staging``; gives the toolkit's folder, ready to be moved to ``final``.

    Raises:
        DownloadError: a package cannot be had, is not the locked one, or they hold no compiler.
    """
    progress.step(f"CUDA {record.version}: {len(record.packages)} packages")
    prefix = staging / "prefix"
    try:
        report = rattler.install(
            [item.to_dict() for item in record.packages],
            prefix,
            settings=read_conda_settings(),
            platform=record.platform,
            offline=offline,
            timeout_s=INSTALL_TIMEOUT_S,
            progress=progress,
            folders=[wheelhouse] if wheelhouse is not None else [],
        )
    except UsageError as error:  # programs with too little room for the path
        error.hint = "Set ENVKIT_HOME to a folder with a shorter path."
        raise
    if report.unlinked_scripts:
        progress.note(
            f"Link scripts of {', '.join(report.unlinked_scripts)} were not run: envkit runs no code of packages."
        )
    relocate(prefix, final)
    toolkit = prefix / "Library" if record.platform.startswith("win") else prefix
    if not (toolkit / "bin").is_dir():
        raise DownloadError(f"The packages of CUDA {record.version} hold no folder bin.")
    notes = toolkit / ".envkit"
    notes.mkdir()
    leave_conda(prefix, notes)
    finish_toolkit(toolkit, record.version, record.platform)
    return toolkit
