"""Put cuDNN into a CUDA toolkit, from a wheel of the default index or from an archive, and take it out again."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envkit import __version__, fs
from envkit.compat.cudnn_wheels import cudnn_majors, cudnn_versions, cudnn_wheel, may_be_an_archive
from envkit.compat.toolkit_releases import cudnn_used_with
from envkit.errors import InvalidFileError, NotFoundError, UnfitMachineError, UsageError
from envkit.installers.cudnn_archive import unpack_cudnn
from envkit.installers.cudnn_layout import (
    add_links,
    cuda_major_of,
    library_folder,
    places,
    platform_of,
)
from envkit.installers.toolkit_files import unpack_wheels
from envkit.model.cudnn_manifest import FOLDER, CudnnManifest
from envkit.operations import clock, cudnn_files, cudnn_plan
from envkit.operations.environments import prefix_from
from envkit.operations.locking import prefix_lock
from envkit.operations.toolkits import toolkit_for
from envkit.probes.cudnn import find_cudnn
from envkit.probes.host import current_platform
from envkit.scratch import scratch_folder

if TYPE_CHECKING:
    from envkit.model.locked import LockedPackage
    from envkit.model.progress import Progress
    from envkit.model.toolkit import Toolkit

_VERSION = re.compile(r"v?\d+(\.\d+){0,3}", re.ASCII | re.IGNORECASE)
_THREE_NUMBERS = "Give a version of three numbers"
_ARCHIVES = "https://developer.nvidia.com/rdp/cudnn-archive"


@dataclass(frozen=True, slots=True)
class CudnnResult:
    """How ``envkit cuda cudnn`` ended.

    Attributes:
        toolkit: the one.
        version: of the cuDNN that was put, taken out or planned.
        files: what was put or taken out, or is there already, as paths in the toolkit.
        kept: files that were to be taken out, but are not what was put.
        plan: commands for somebody who may change the toolkit; nothing was done then.
        what: put, there, removed or planned.
    """

    toolkit: Toolkit
    version: str | None
    files: tuple[str, ...]
    what: str
    kept: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit cuda cudnn --json``."""
        return {
            "toolkit": self.toolkit.to_json(),
            "version": self.version,
            "files": list(self.files),
            "kept": list(self.kept),
            "plan": list(self.plan),
            "done": self.what != "planned",
            "changed": self.what in {"put", "removed"},
        }


@dataclass(frozen=True, slots=True)
class _Source:
    """Where cuDNN comes from: an archive on this disk, or a wheel of the default index."""

    name: str
    archive: Path | None = None
    wheel: LockedPackage | None = None

    def sha256(self) -> str:
        if self.archive is not None:
            return fs.file_sha256(self.archive)
        return str(self.wheel.sha256) if self.wheel is not None else ""


def put_cudnn(what: str, into: str, progress: Progress) -> CudnnResult:
    """Put a cuDNN into a toolkit: all of its files, or none.

    Args:
        what: a version of cuDNN, or an archive or wheel of it.
        into: the toolkit, a release or a folder.
        progress: told what happens.

    Raises:
        NotFoundError: there is no such toolkit, file or wheel.
        InvalidFileError: the archive is broken, dangerous, or for another system or CUDA.
        InstallerRuleError: the toolkit is a part of an environment.
        ExistsError: another cuDNN is there.
        DownloadError: the wheel could not be had, or is not the known one.
    """
    toolkit, platform = _toolkit(into, progress), current_platform()
    cudnn_files.check_stands_alone(toolkit)
    source = _source(what, toolkit, platform, progress)
    folders = _folders(toolkit, platform)
    if not cudnn_plan.is_writable(folders):
        cudnn_files.check_none(toolkit.path, folders)
        return _planned(source, toolkit, platform, progress)
    with prefix_lock(toolkit.path, "cuda cudnn", progress):
        if cudnn_files.recover(toolkit.path):
            progress.note("An earlier change of this toolkit's cuDNN was cut off; it was undone.")
        old, digest = cudnn_files.read_manifest(toolkit.path), source.sha256()
        is_whole = old is not None and all(cudnn_files.is_unchanged(toolkit.path, item) for item in old.files)
        if old is not None and is_whole and old.sha256 == digest:
            return CudnnResult(toolkit, old.version, tuple(item.path for item in old.files), "there")
        staged = cudnn_files.staging_folder(toolkit.path)
        try:
            return _put(source, digest, toolkit, platform, staged, old, progress)
        finally:
            cudnn_files.recover(toolkit.path)
            cudnn_files.remove_folder_if_empty(toolkit.path)


def remove_cudnn(into: str, progress: Progress) -> CudnnResult:
    """Take out exactly the files that envkit has put into a toolkit as its cuDNN and that are unchanged.

    Raises:
        NotFoundError: there is no such toolkit, or envkit has put no cuDNN into it.
    """
    toolkit = _toolkit(into, progress)
    with prefix_lock(toolkit.path, "cuda cudnn", progress):
        cudnn_files.recover(toolkit.path)
        manifest = cudnn_files.read_manifest(toolkit.path)
        if manifest is None:
            raise NotFoundError(
                f"envkit has put no cuDNN into {toolkit.path}.", why="There is no manifest of one (.envkit/cudnn.yaml)."
            )
        removed, kept = cudnn_files.take_out(toolkit.path, manifest)
    return CudnnResult(toolkit, manifest.version, removed, "removed", kept)


def _toolkit(into: str, progress: Progress) -> Toolkit:
    toolkit = toolkit_for(None, into, progress, folder="its folder: --into DIR")
    if toolkit is None:
        raise UsageError(f"{into!r} is no toolkit.", hint="Give a release such as 11.3, or a toolkit's folder.")
    return toolkit


def _source(what: str, toolkit: Toolkit, platform: str, progress: Progress) -> _Source:
    if _VERSION.fullmatch(what) is not None and not Path(what).exists():
        return _wheel(what.lower().removeprefix("v"), toolkit, platform, progress)
    archive = prefix_from(what)
    if archive.is_dir():
        raise UsageError(
            f"{what} is a folder.",
            why="What goes into a toolkit is noted with the hash of the file that it comes from.",
            hint="Give the archive that it was unpacked from (.tar.xz, .tgz, .zip), or a wheel.",
        )
    if not archive.is_file():
        raise NotFoundError(f"There is no file {what}.", hint=f"{_THREE_NUMBERS} such as 8.9.7, or an archive's path.")
    _check_name(archive, toolkit, platform, progress)
    return _Source(archive.name, archive=archive)


def _wheel(asked: str, toolkit: Toolkit, platform: str, progress: Progress) -> _Source:
    if toolkit.release is None:
        raise NotFoundError(f"The version of the toolkit in {toolkit.path} is not known.", why="No file in it tells.")
    major = toolkit.release.partition(".")[0]
    wheel = cudnn_wheel(asked, major, platform) if asked.count(".") > 1 else None
    if wheel is None:
        raise _no_wheel(asked, major, platform)
    used = cudnn_used_with(toolkit.release)
    if used and ".".join(asked.split(".")[:3]) not in used:
        progress.note(f"CUDA {toolkit.release} is usually used with cuDNN {', '.join(used)}.")
    return _Source(wheel.file, wheel=wheel)


def _no_wheel(asked: str, major: str, platform: str) -> NotFoundError:
    """Why there is no wheel; an archive is advised only where NVIDIA may have one."""
    known = cudnn_versions(major, platform)
    if asked.count(".") < 2:  # noqa: PLR2004 - major, minor, patch
        like = [version for version in known if version.startswith(f"{asked.partition('.')[0]}.")]
        return NotFoundError(
            f"{asked} is no whole version of cuDNN.",
            why=f"Known on PyPI for CUDA {major}: {', '.join(like or known) or 'none'}.",
            hint=f"{_THREE_NUMBERS}, or an archive's path.",
        )
    why = f"Known on PyPI for CUDA {major}: {', '.join(known) or 'none'}."
    if others := [item for item in cudnn_majors(asked) if item != major]:
        why = f"PyPI has it for CUDA {' and '.join(others)}. {why}"
    hint = "Give one of these." if known else None
    if may_be_an_archive(asked, major):
        hint = f"Download NVIDIA's archive ({_ARCHIVES}) and give its file."
    return NotFoundError(f"There is no wheel of cuDNN {asked} for CUDA {major} on {platform}.", why=why, hint=hint)


def _check_name(archive: Path, toolkit: Toolkit, platform: str, progress: Progress) -> None:
    """What an archive's name tells must fit."""
    system, cuda = platform_of(archive.name), cuda_major_of(archive.name)
    if system is not None and system != platform:
        raise InvalidFileError(str(archive), f"this cuDNN is for {system}, this machine is {platform}.")
    release = toolkit.release
    if cuda is None or release is None:
        progress.note("Nothing tells for which CUDA this cuDNN is; make sure that it is for that of the toolkit.")
    elif cuda != release.partition(".")[0]:
        raise InvalidFileError(
            str(archive),
            f"this cuDNN is for CUDA {cuda}, the toolkit is CUDA {release}.",
            why="It needs the libraries of its own CUDA, which the toolkit does not have.",
            hint=f"Take the cuDNN for CUDA {release.partition('.')[0]}.",
        )


def _folders(toolkit: Toolkit, platform: str) -> list[Path]:
    """The folders that are changed.

    Raises:
        UnfitMachineError: one of them is a link that leads out of the toolkit.
    """
    names = ["include", library_folder(toolkit, platform), FOLDER, *(["bin"] if platform == "win-64" else [])]
    top = os.path.realpath(toolkit.path)
    for name in names:
        if os.path.commonpath([top, os.path.realpath(toolkit.path / name)]) != top:
            raise UnfitMachineError(
                f"{toolkit.path / name} leads out of the toolkit.",
                why="Files put there would belong to all programs of this machine.",
                hint="Use a toolkit in a folder of its own, or your system's package of cuDNN.",
            )
    return [toolkit.path / name for name in names]


def _unpack(source: _Source, folder: Path, progress: Progress) -> Path:
    """Unpack cuDNN; gives the folder with ``include`` and the others in it."""
    if source.archive is not None:
        progress.step(f"unpack {source.name}")
        unpack_cudnn(source.archive, folder / "cudnn")
        return folder / "cudnn"
    progress.step(f"download {source.name}")
    wheels = [source.wheel] if source.wheel is not None else []
    unpack_wheels(wheels, folder / "site", offline=False, wheelhouse=None, progress=progress)
    unpacked = folder / "site" / "nvidia" / "cudnn"
    for marker in unpacked.rglob("__init__.py"):  # of the oldest wheels
        marker.unlink()
    return unpacked


def _version(folder: Path, source: _Source, platform: str) -> str:
    found = find_cudnn(folder, is_windows=platform == "win-64")
    if found is None or found.version is None or "include" in found.missing:
        raise InvalidFileError(source.name, "there is no cuDNN in it: no header tells a version.")
    if "bin" in found.missing or (platform != "win-64" and "lib" in found.missing):
        raise InvalidFileError(source.name, "there is no cuDNN in it: no library.")
    return found.version


def _put(
    source: _Source,
    digest: str,
    toolkit: Toolkit,
    platform: str,
    staged: Path,
    old: CudnnManifest | None,
    progress: Progress,
) -> CudnnResult:
    unpacked = _unpack(source, staged, progress)
    version = _version(unpacked, source, platform)
    if platform != "win-64":
        add_links(unpacked)
    progress.step(f"cuDNN {version} into {toolkit.path}")
    found = {place.path: place.source for place in places(unpacked, toolkit, platform)}
    files = tuple(cudnn_files.described(path, name) for name, path in found.items())
    manifest = CudnnManifest(version, source.name, digest, clock.now(), f"envkit {__version__}", files)
    cudnn_files.check_free(toolkit.path, manifest, old)
    cudnn_files.put(toolkit.path, found, manifest, old)
    if platform == "win-64" and not any(path.endswith(".lib") for path in found):
        progress.note("This wheel has no import libraries: programs run with it; to compile, take NVIDIA's archive.")
    return CudnnResult(toolkit, version, tuple(found), "put")


def _planned(source: _Source, toolkit: Toolkit, platform: str, progress: Progress) -> CudnnResult:
    """What somebody who may change the toolkit would run; an archive is read for it, and refused as ever."""
    progress.note(f"{toolkit.path} cannot be changed by you; these commands do it.")
    library = library_folder(toolkit, platform)
    if source.wheel is not None:
        version = ".".join(source.wheel.version.split(".")[:3])
        commands = cudnn_plan.commands_for_wheel(source.wheel, toolkit.path, library)
        return CudnnResult(toolkit, version, (), "planned", plan=commands)
    with scratch_folder() as folder:
        version = _version(_unpack(source, folder, progress), source, platform)
    archive = source.archive if source.archive is not None else Path(source.name)
    commands = cudnn_plan.commands_for_archive(archive, toolkit.path, library)
    return CudnnResult(toolkit, version, (), "planned", plan=commands)
