"""Install a CUDA toolkit into envkit's data folder: no root, hash-checked, whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envkit import fs, paths
from envkit.errors import ExistsError, ProgramError, StorageError, UnfitMachineError
from envkit.installers.toolkit_files import unpack_wheels
from envkit.installers.toolkit_layout import toolkit_from_wheels
from envkit.model.locked import LockedPackage
from envkit.model.texts import check_path
from envkit.model.toolkit import RECORD, means
from envkit.operations.installed_toolkits import list_files, read_toolkit_record, toolkit_folder
from envkit.operations.locking import prefix_lock
from envkit.operations.toolkit_check import CheckResult, check_toolkit
from envkit.operations.toolkit_choice import choose
from envkit.operations.toolkit_conda import fill_from_conda
from envkit.probes.nvcc import Nvcc
from envkit.probes.toolkits import toolkit_at

if TYPE_CHECKING:
    from envkit.errors import EnvkitError
    from envkit.model.progress import Progress
    from envkit.model.toolkit import Toolkit
    from envkit.model.toolkit_record import ToolkitRecord
    from envkit.model.toolkit_report import ToolkitReport
    from envkit.operations.toolkit_choice import InstallOptions

_FLUSH_LIMIT_S = 30.0
_NVCC_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class InstallResult:
    """A toolkit that is installed now.

    Attributes:
        toolkit: what it is, and where.
        record: from which files.
        installed: whether it was made by this very call; otherwise it was there.
        seconds: that it took.
        report: whether it compiles and links here; None for one that was there.
    """

    toolkit: Toolkit
    record: ToolkitRecord
    installed: bool
    seconds: float
    report: ToolkitReport | None = None

    @property
    def error(self) -> EnvkitError | None:
        """What keeps the new toolkit from compiling here; None also where this machine has no host compiler at all."""
        if self.report is None or self.report.compiles or self.lacks_host_compiler:
            return None
        return CheckResult(self.report).error

    @property
    def lacks_host_compiler(self) -> bool:
        """Whether it could not be tried, for want of a C++ compiler."""
        facts = self.report.facts("compile") if self.report is not None else {}
        return "host_compiler" in facts and facts["host_compiler"] is None

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit cuda install --json`` (docs/json.md)."""
        return {
            "toolkit": self.toolkit.to_full_json(),
            "installed": self.installed,
            "source": self.record.source,
            "libraries": list(self.record.libraries),
            "steps": [step.to_json() for step in self.report.steps] if self.report is not None else [],
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
        UnsatisfiableError: the channels do not have it.
        DownloadError: a file could not be had, or is not the locked one.
        StorageError: the disk is full.
    """
    started = time.monotonic()
    record = choose(what, options, progress)
    folder = toolkit_folder(record.version)
    check_path(str(folder))
    there = _there(folder, record)
    if there is None:
        fs.make_folder(paths.toolkits_dir())
        with prefix_lock(folder, "cuda install", progress):
            there = _there(folder, record)  # another envkit has made it meanwhile
            if there is None:
                _make(folder, record, options, progress)
    toolkit = _toolkit(folder, record)
    report = check_toolkit(toolkit, progress) if there is None else None
    seconds = time.monotonic() - started
    return InstallResult(toolkit, there or record, installed=there is None, seconds=seconds, report=report)


def _toolkit(folder: Path, record: ToolkitRecord) -> Toolkit:
    toolkit = toolkit_at(folder, "envkit")
    if toolkit is None:
        raise ExistsError(
            f"{folder} has a record of envkit, but is no toolkit.",
            hint=f"`envkit cuda remove {record.version}` removes it; then install again.",
        )
    return toolkit


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
    libraries = "".join(f" --with {name}" for name in sorted({*wanted.libraries, *found.libraries}))
    again = f"`envkit cuda remove {wanted.version}`, then `envkit cuda install {wanted.version}{libraries}`."
    missing = sorted({item.name for item in wanted.packages} - {item.name for item in found.packages})
    if missing:
        raise ExistsError(f"CUDA {wanted.version} is there, without {', '.join(missing)}.", hint=again)
    raise ExistsError(f"CUDA {wanted.version} is there, from other files (of {found.source}).", hint=again)


def _make(folder: Path, record: ToolkitRecord, options: InstallOptions, progress: Progress) -> None:
    """Make the toolkit beside its place, and move it there when it is whole.

    What a killed envkit leaves has a name by which the next one knows it (``fs.sweep_temporaries``).
    """
    staging = Path(tempfile.mkdtemp(prefix=fs.temporary_start(), dir=folder.parent))
    try:
        toolkit = _fill(staging, folder, record, options, progress)
        (toolkit / RECORD).parent.mkdir(exist_ok=True)
        fs.write_text(toolkit / RECORD, record.to_text())
        list_files(toolkit)
        _check_runs(toolkit, record)
        fs.flush(staging, limit_s=_FLUSH_LIMIT_S)
        _publish(toolkit, folder)
    except StorageError as error:
        error.hint = "Free space, or set ENVKIT_HOME, for all of envkit's files, and UV_CACHE_DIR elsewhere."
        raise
    finally:
        fs.remove_tree(staging)


def _fill(staging: Path, folder: Path, record: ToolkitRecord, options: InstallOptions, progress: Progress) -> Path:
    offline, wheelhouse = options.offline, options.wheelhouse
    if record.source == "conda":
        return fill_from_conda(staging, folder, record, offline=offline, wheelhouse=wheelhouse, progress=progress)
    progress.step(f"CUDA {record.version}: {len(record.packages)} wheels")
    site, wheels = staging / "site", [item for item in record.packages if isinstance(item, LockedPackage)]
    unpack_wheels(wheels, site, offline=offline, wheelhouse=wheelhouse, progress=progress)
    return toolkit_from_wheels(site, record.version, record.platform)


def _check_runs(toolkit: Path, record: ToolkitRecord) -> None:
    """Make sure that the compiler starts here and is the one that it should be.

    Raises:
        UnfitMachineError: it does not run.
    """
    try:
        said = Nvcc(toolkit, toolkit, _NVCC_TIMEOUT_S).said_version()
    except ProgramError as error:
        raise UnfitMachineError(
            f"The compiler of CUDA {record.version} does not run on this machine; nothing was installed.", why=error.why
        ) from error
    if said is None or not means(said.release, record.version):
        why = f"It says that it is of CUDA {said.release}." if said is not None else "It tells no version of CUDA."
        raise UnfitMachineError(f"What came is not the compiler of CUDA {record.version}.", why=why)


def _publish(toolkit: Path, folder: Path) -> None:
    try:
        toolkit.rename(folder)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise
        raise ExistsError(f"{folder} has come to be there meanwhile.", hint="Run again.") from error
    fs.sync_folder(folder.parent)
