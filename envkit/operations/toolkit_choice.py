"""Which files make the toolkit that a user asks for: of wheels, of conda channels, or those of a record."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from envkit import __version__
from envkit.compat.tables import version_key
from envkit.compat.toolkit_channels import (
    channel_libraries,
    channel_toolkits,
    newest_channel_toolkit,
)
from envkit.compat.toolkit_wheels import left_out, newest_wheel_toolkit, toolkit_wheels, wheel_libraries, wheel_toolkits
from envkit.errors import InvalidFileError, NotFoundError, UnfitMachineError, UsageError
from envkit.model.conda_record import CondaRecord
from envkit.model.toolkit import RECORD
from envkit.model.toolkit_record import ToolkitRecord, parse_toolkit_record
from envkit.operations import clock
from envkit.operations.environments import is_path, prefix_from
from envkit.operations.installed_toolkits import installed_toolkits
from envkit.operations.toolkit_conda import solve_toolkit
from envkit.operations.toolkit_versions import asked_version, released
from envkit.probes.host import current_platform
from envkit.probes.toolkit_version import release_of

if TYPE_CHECKING:
    from envkit.model.progress import Progress
    from envkit.model.toolkit_record import Source

_CREATED_BY = f"envkit {__version__}"
_ALL = "libraries"
"""The word for all libraries."""
_CHANNEL = re.compile(r"nvidia(?:/label/cuda-[0-9.]+)?|conda-forge", re.ASCII)
"""Where the packages of a record from outside may come from."""


@dataclass(frozen=True, slots=True)
class InstallOptions:
    """Options of ``envkit cuda install``; each is named as on the command line.

    Attributes:
        source: "pypi", "conda", or None for the first of the two that has the toolkit.
        libraries: what is wanted beside the compiler; "libraries" means all.
        offline: nothing but this disk is asked.
        wheelhouse: a folder with wheels or conda packages.
    """

    source: Source | None = None
    libraries: tuple[str, ...] = ()
    offline: bool = False
    wheelhouse: Path | None = None


def choose(what: str, options: InstallOptions, progress: Progress) -> ToolkitRecord:
    """What is to be installed, file by file.

    Args:
        what: a release, a full version, or a record.
        options: of the command line.
        progress: told what happens.

    Raises:
        NotFoundError: no such toolkit is known.
        UnfitMachineError: there is none for this system.
        UsageError: ``what`` is neither a version nor a file, or a library is not known.
        UnsatisfiableError: the channels do not have it.
        DownloadError: a channel cannot be reached.
    """
    if is_path(what) or Path(what).is_file():
        return _from_file(what)
    what = _version(what)
    platform = current_platform()
    from_wheels = newest_wheel_toolkit(what) if options.source != "conda" else None
    if from_wheels is not None:
        libraries = _libraries(options.libraries, wheel_libraries())
        packages = toolkit_wheels(from_wheels, platform, libraries)
        if packages is None:
            raise UnfitMachineError(f"There is no CUDA {from_wheels} for {platform}.", why="NVIDIA makes none.")
        return ToolkitRecord(from_wheels, "pypi", platform, libraries, packages, clock.now(), _CREATED_BY)
    version = newest_channel_toolkit(what) if options.source != "pypi" else None
    if version is None:
        raise _unknown(what, options.source)
    libraries = _libraries(options.libraries, channel_libraries())
    _check_relocatable(platform, version)
    there = next((item for item in installed_toolkits() if item.version == version), None)
    if there is not None and there.source == "conda" and set(libraries) <= set(there.libraries):
        return there  # the channels are not asked again
    records = solve_toolkit(version, libraries, platform=platform, offline=options.offline, progress=progress)
    return ToolkitRecord(version, "conda", platform, libraries, records, clock.now(), _CREATED_BY)


def _check_relocatable(platform: str, version: str) -> None:
    """Refuse what was never run: the files of conda packages that name their own folder are made right for Linux alone.

    Raises:
        UnfitMachineError: this is Windows.
    """
    if platform.startswith("win"):
        raise UnfitMachineError(
            f"envkit does not install CUDA {version} from conda channels on Windows.",
            why="Their packages write their own folder into files, and moving these was never tried there.",
            hint=f"`envkit cuda plan {version}` prints how NVIDIA's installer does it; 13.x comes from PyPI.",
        )


def _version(what: str) -> str:
    """A version that NVIDIA has released, without what people write before it."""
    if what.endswith((".yaml", ".yml")):
        raise NotFoundError(f"There is no file {what} here.", hint="Give a version, or the record of a toolkit.")
    release, version = released(what)
    return release if asked_version(what) == release else version


def _unknown(what: str, source: str | None) -> NotFoundError:
    known = [*(wheel_toolkits() if source != "conda" else ()), *(channel_toolkits() if source != "pypi" else ())]
    names = sorted({release_of(version) for version in known}, key=version_key, reverse=True)
    return NotFoundError(
        f"envkit knows no CUDA {what} to install{f' from {source}' if source else ''}.",
        why=left_out(what) if source != "conda" else None,
        hint=f"Known releases: {', '.join(names)}. `envkit cuda plan {what}` prints the other ways.",
    )


def _libraries(asked: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    names = {name for text in asked for name in text.split(",")}
    if "" in names:
        raise UsageError("--with names no library.", hint=f"Known: {', '.join(known)}; {_ALL} means all.")
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
    except UnicodeDecodeError as error:
        raise InvalidFileError(what, "it is no text.") from error
    record = parse_toolkit_record(text, what)
    if record.platform != current_platform():
        raise UnfitMachineError(f"{what} is for {record.platform}, this machine is {current_platform()}.")
    if record.source == "conda":
        _check_relocatable(record.platform, record.version)
    for item in record.packages:
        if isinstance(item, CondaRecord) and _CHANNEL.fullmatch(item.channel) is None:
            raise InvalidFileError(
                what,
                f"{item.name} comes from the channel {item.channel}.",
                why="Toolkits come from NVIDIA's channel and conda-forge alone.",
            )
    return replace(record, created_at=clock.now(), created_by=_CREATED_BY)
