"""Install a CUDA toolkit into envkit's data folder: no root, hash-checked, whole or not at all."""

from __future__ import annotations

import errno
import os
import re
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envkit import __version__, fs, paths, process
from envkit.activation import check_path
from envkit.compat.toolkit_wheels import (
    newest_wheel_toolkit,
    toolkit_wheels,
    wheel_libraries,
    wheel_toolkits,
)
from envkit.errors import ExistsError, NotFoundError, ProgramError, StorageError, UnfitMachineError, UsageError
from envkit.installers.toolkit_files import unpack_wheels
from envkit.installers.toolkit_layout import toolkit_from_wheels
from envkit.model.toolkit_record import RECORD, ToolkitRecord, parse_toolkit_record
from envkit.operations import clock
from envkit.operations.environments import is_path, prefix_from
from envkit.operations.installed_toolkits import read_toolkit_record, toolkit_folder
from envkit.operations.locking import prefix_lock
from envkit.probes.host import current_platform
from envkit.probes.toolkits import toolkit_at

if TYPE_CHECKING:
    from envkit.model.progress import Progress
    from envkit.model.toolkit import Toolkit

_CREATED_BY = f"envkit {__version__}"
_FLUSH_LIMIT_S = 30.0
_NVCC = "nvcc.exe" if os.name == "nt" else "nvcc"
_NVCC_TIMEOUT_S = 60.0
_ALL = "libraries"
"""The word for all libraries."""


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """Options of ``envkit cuda install``; each is named as on the command line.

    Attributes:
        libraries: what is wanted beside the compiler; "libraries" means all.
        offline: nothing but this disk is asked.
        wheelhouse: a folder with wheels.
    """

    libraries: tuple[str, ...] = ()
    offline: bool = False
    wheelhouse: Path | None = None


@dataclass(frozen=True, slots=True)
class InstallResult:
    """A toolkit that is installed now.

    Attributes:
        toolkit: what it is, and where.
        record: from which files.
        installed: whether it was made by this very call; otherwise it was there.
        seconds: that it took.
    """

    toolkit: Toolkit
    record: ToolkitRecord
    installed: bool
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit cuda install --json`` (docs/json.md)."""
        return {
            "toolkit": self.toolkit.to_json(),
            "installed": self.installed,
            "source": self.record.source,
            "libraries": list(self.record.libraries),
            "seconds": round(self.seconds, 1),
        }


def install_toolkit(what: str, options: InstallOptions, progress: Progress) -> InstallResult:
    """Install a toolkit.

    Args:
        what: a release ("13.2", the newest update of it), a full version ("13.2.1"), or the record of an installed
            toolkit, which is made again from the same files.
        options: of the command line.
        progress: told what happens.

    Raises:
        NotFoundError: no such toolkit is known.
        UnfitMachineError: there is none for this system.
        UsageError: ``what`` is neither a version nor a file.
        ExistsError: something else is at its place.
        DownloadError: a file could not be had, or is not the locked one.
        StorageError: the disk is full.
    """
    started = time.monotonic()
    record = _wanted(what, options)
    folder = toolkit_folder(record.version)
    check_path(str(folder))
    there = _there(folder, record)
    if there is None:
        paths.toolkits_dir().mkdir(parents=True, exist_ok=True)
        with prefix_lock(folder, "cuda install", progress):
            there = _there(folder, record)  # another envkit has made it meanwhile
            if there is None:
                _make(folder, record, options, progress)
                return _result(folder, record, started, installed=True)
    return _result(folder, there, started, installed=False)


def _result(folder: Path, record: ToolkitRecord, started: float, *, installed: bool) -> InstallResult:
    toolkit = toolkit_at(folder, "envkit")
    if toolkit is None:
        raise ExistsError(
            f"{folder} has a record of envkit, but is no toolkit.",
            hint=f"`envkit cuda remove {record.version}` removes it; then install again.",
        )
    return InstallResult(toolkit, record, installed, time.monotonic() - started)


def _wanted(what: str, options: InstallOptions) -> ToolkitRecord:
    """What is to be installed, file by file."""
    if is_path(what) or Path(what).is_file():
        return _from_file(what)
    if re.fullmatch(r"\d+\.\d+(\.\d+)?", what, re.ASCII) is None:
        raise UsageError(f"{what} is no version of CUDA.", hint="Write it as in 13.2 or 13.2.1, or name a record.")
    platform = current_platform()
    libraries = _libraries(options.libraries)
    version = newest_wheel_toolkit(what)
    if version is None:
        raise NotFoundError(
            f"There are no wheels of CUDA {what}.",
            why="PyPI has NVIDIA's compiler from 13.0 on.",
            hint=f"Known: {', '.join(wheel_toolkits())}.",
        )
    packages = toolkit_wheels(version, platform, libraries)
    if packages is None:
        raise UnfitMachineError(f"There is no CUDA {version} for {platform}.", why="NVIDIA makes none.")
    return ToolkitRecord(version, "pypi", platform, libraries, packages, clock.now(), _CREATED_BY)


def _libraries(asked: tuple[str, ...]) -> tuple[str, ...]:
    known = wheel_libraries()
    names = {name for text in asked for name in text.split(",") if name}
    for name in sorted(names - {*known, _ALL}):
        raise UsageError(f"--with {name}: no such library.", hint=f"Known: {', '.join(known)}; {_ALL} means all.")
    return known if _ALL in names else tuple(name for name in known if name in names)


def _from_file(what: str) -> ToolkitRecord:
    path = prefix_from(what)
    path = path / RECORD if path.is_dir() else path
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(f"There is no file {what}.", hint="Give a version, or the record of a toolkit.") from None
    record = parse_toolkit_record(text, what)
    if record.platform != current_platform():
        raise UnfitMachineError(f"{what} is for {record.platform}, this machine is {current_platform()}.")
    return replace(record, created_at=clock.now(), created_by=_CREATED_BY)


def _there(folder: Path, wanted: ToolkitRecord) -> ToolkitRecord | None:
    """The record of the toolkit that is there already; None where its place is free.

    Raises:
        ExistsError: something else is there.
    """
    if not os.path.lexists(folder):
        return None
    found = None if folder.is_symlink() else read_toolkit_record(folder)
    if found is None:
        raise ExistsError(f"{folder} is there, and envkit has not made it.", hint="Move it away and run again.")
    if {item.sha256 for item in wanted.packages} <= {item.sha256 for item in found.packages}:
        return found
    again = f"`envkit cuda remove {wanted.version}`, then install again."
    missing = sorted({item.name for item in wanted.packages} - {item.name for item in found.packages})
    if missing:
        raise ExistsError(f"CUDA {wanted.version} is there, without {', '.join(missing)}.", hint=again)
    raise ExistsError(f"CUDA {wanted.version} is there, from other files (source: {found.source}).", hint=again)


def _make(folder: Path, record: ToolkitRecord, options: InstallOptions, progress: Progress) -> None:
    """Make the toolkit beside its place, and move it there when it is whole.

    What a killed envkit leaves has a name by which the next one knows it (``fs.sweep_temporaries``).
    """
    staging = Path(tempfile.mkdtemp(prefix=fs.temporary_start(), dir=folder.parent))
    try:
        toolkit = _fill(staging, record, options, progress)
        (toolkit / RECORD).parent.mkdir(exist_ok=True)
        fs.write_text(toolkit / RECORD, record.to_text())
        progress.step("the compiler")
        _check_runs(toolkit, record)
        fs.flush(staging, limit_s=_FLUSH_LIMIT_S)
        _publish(toolkit, folder)
    except StorageError as error:
        error.hint = "Free space, or set ENVKIT_HOME, for all of envkit's files, and UV_CACHE_DIR elsewhere."
        raise
    finally:
        fs.remove_tree(staging)


def _fill(staging: Path, record: ToolkitRecord, options: InstallOptions, progress: Progress) -> Path:
    progress.step(f"CUDA {record.version}: {len(record.packages)} wheels")
    site = staging / "site"
    unpack_wheels(
        [item for item in record.packages if not hasattr(item, "channel")],
        site,
        offline=options.offline,
        wheelhouse=options.wheelhouse,
        progress=progress,
    )
    return toolkit_from_wheels(site, record.version, record.platform)


def _check_runs(toolkit: Path, record: ToolkitRecord) -> None:
    """Make sure that the compiler starts here and is the one that it should be.

    Raises:
        UnfitMachineError: it does not run.
    """
    wanted = ".".join(record.version.split(".")[:2])
    try:
        told = process.run([toolkit / "bin" / _NVCC, "--version"], timeout_s=_NVCC_TIMEOUT_S).stdout
    except ProgramError as error:
        raise UnfitMachineError(
            f"The compiler of CUDA {record.version} does not run on this machine; nothing was installed.", why=error.why
        ) from error
    if re.search(rf"release {re.escape(wanted)}\b", told) is None:
        raise UnfitMachineError(f"What came is not the compiler of CUDA {record.version}.", why=told.strip())


def _publish(toolkit: Path, folder: Path) -> None:
    try:
        toolkit.rename(folder)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise
        raise ExistsError(f"{folder} has come to be there meanwhile.", hint="Run again.") from error
    fs.sync_folder(folder.parent)
