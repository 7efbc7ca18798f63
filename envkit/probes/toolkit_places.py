"""Where toolkits may lie on this machine: an ordered tuple of small steps, the places that the user has named first."""

from __future__ import annotations

import glob
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from envkit.paths import toolkits_dir
from envkit.probes.added_toolkits import read_added
from envkit.probes.nvcc_on_path import nvccs_on_path
from envkit.probes.toolkit_files import DEBIAN, has_nvcc, is_own, matches
from envkit.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

USUAL_ROOTS = ("/usr/local", "/opt", "/usr/lib")
"""Folders that hold toolkits: ``/usr/local/cuda-11.3`` (NVIDIA), ``/opt/cuda`` (Arch Linux), ``/opt/cuda-11.3``, and
Debian's ``/usr/lib/nvidia-cuda-toolkit``."""
VARIABLES = ("CUDA_PATH", "CUDA_HOME")
_OF_RELEASE = re.compile(r"CUDA_PATH_V\d+_\d+", re.ASCII)
"""NVIDIA's installer for Windows sets one per release: ``CUDA_PATH_V11_3``."""
_WITH_RELEASE = re.compile(r"\d+\.\d+", re.ASCII)
_EXPECTED = re.compile(r"cuda([-_]?\d+(\.\d+)*)?", re.ASCII)
"""Names that promise a toolkit; ``/opt/cuda-samples`` promises none."""
_HPC_SDK = "nvidia/hpc_sdk"
_IN_HPC_SDK = ("Linux_*", "*", "cuda", "[0-9]*")
"""``/opt/nvidia/hpc_sdk/Linux_x86_64/23.11/cuda/12.3``."""


class Place(NamedTuple):
    """A folder that may be a toolkit.

    Attributes:
        path: the folder.
        found_via: what led to it.
        is_expected: whether it is told when no toolkit is there.
        problem: why it is known beforehand that there is none; None: it is to be looked at.
    """

    path: Path
    found_via: str
    is_expected: bool = True
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """What the steps look at.

    Attributes:
        environ: variables.
        roots: folders that may hold ``cuda*`` folders.
        prefixes: environments that may have a toolkit among their packages.
    """

    environ: Mapping[str, str]
    roots: tuple[Path, ...]
    prefixes: tuple[Path, ...]


def places(search: Search) -> Iterator[Place]:
    """All places, step by step; of two names of one folder the first is kept.

    Raises:
        InvalidFileError: the configuration, or the list of folders that were added, is damaged.
    """
    for step in _STEPS:
        yield from step(search)


def _of_envkit(_search: Search) -> Iterator[Place]:
    """What ``envkit cuda install`` has made; half made ones have no record."""
    names = sorted(name for name in _listed(toolkits_dir()) if name.startswith("cuda-"))
    yield from (Place(toolkits_dir() / name, "envkit") for name in names if is_own(toolkits_dir() / name))


def _added(_search: Search) -> Iterator[Place]:
    yield from (Place(path, "added") for path in read_added())


def _configured(_search: Search) -> Iterator[Place]:
    """The patterns of ``toolkits`` in config.yaml: module and Spack trees."""
    for pattern in read_settings().toolkits:
        full = os.path.expanduser(pattern)  # noqa: PTH111 - a pattern
        if not os.path.isabs(full):  # noqa: PTH117
            yield Place(Path(pattern), "config.yaml", problem="is no absolute path, so it is not looked at")
        elif not glob.has_magic(full):
            yield Place(Path(full), "config.yaml")
        elif not (found := matches(Path(), full)):
            yield Place(Path(pattern), "config.yaml", problem="matches nothing on this machine")
        else:
            yield from (Place(Path(path), "config.yaml", is_expected=False) for path in found)


def _in_roots(search: Search) -> Iterator[Place]:
    for root in search.roots:
        names = [name for name in _listed(root) if name.startswith("cuda") or name == DEBIAN]
        if has_nvcc(root / DEBIAN):  # Debian's `cuda` beside it is there for clang, and has no nvcc of its own
            names = [name for name in names if name != "cuda"]
        for path in sorted((root / name for name in names), key=_stability):
            yield from _of_name(path, str(root))


def _stability(path: Path) -> tuple[bool, bool, str]:
    """`cuda-11.3` before `cuda-11` and `cuda`, folders before links: an administrator moves what has no release."""
    return _WITH_RELEASE.search(path.name) is None, os.path.islink(path), path.name  # noqa: PTH114 - no error


def _of_name(path: Path, found_via: str) -> Iterator[Place]:
    """A folder with what it leads to: the target of a link like `cuda`, the folders in one like `/opt/cuda/11.3`."""
    if os.path.islink(path) and _WITH_RELEASE.search(path.name) is None and os.path.isdir(path):  # noqa: PTH112,PTH114
        yield Place(Path(os.path.realpath(path)), found_via)
    nested = [path / name for name in _listed(path) if _WITH_RELEASE.match(name)] if path.name == "cuda" else []
    yield from (Place(folder, found_via) for folder in sorted(nested))
    yield Place(path, found_via, is_expected=not nested and _EXPECTED.fullmatch(path.name) is not None)


def _in_hpc_sdk(search: Search) -> Iterator[Place]:
    for root in search.roots:
        yield from _globbed(root / _HPC_SDK, _IN_HPC_SDK, "HPC SDK")


def _of_hpc_variables(search: Search) -> Iterator[Place]:
    """The module of the HPC SDK sets ``NVHPC_ROOT`` (one release of it) and ``NVHPC`` (all of them)."""
    for name, below in (("NVHPC_ROOT", _IN_HPC_SDK[2:]), ("NVHPC", _IN_HPC_SDK)):
        if search.environ.get(name):
            folder = Path(search.environ[name])
            found = list(_globbed(folder, below, name))
            yield from found or [Place(folder, name, problem="holds no CUDA toolkit of the NVIDIA HPC SDK")]


def _in_program_files(search: Search) -> Iterator[Place]:
    for name in ("ProgramFiles", "ProgramW6432"):
        if search.environ.get(name):
            folder = Path(search.environ[name], "NVIDIA GPU Computing Toolkit", "CUDA")
            yield from _globbed(folder, ("v[0-9]*",), name)


def _in_variables(search: Search) -> Iterator[Place]:
    # Empty is as good as unset, as for NVIDIA's own cuda_pathfinder.
    names = (*VARIABLES, *sorted(name for name in search.environ if _OF_RELEASE.fullmatch(name)))
    yield from (Place(Path(search.environ[name]), name) for name in names if search.environ.get(name))


def _on_path(search: Search) -> Iterator[Place]:
    for found in nvccs_on_path(search.environ):
        if found.folder is not None:
            yield Place(found.folder, "PATH")
        elif found.problem is not None:
            yield Place(found.nvcc, "PATH", problem=found.problem)


def _in_prefixes(search: Search) -> Iterator[Place]:
    """Environments whose packages bring nvcc; the runtime libraries that torch needs are no toolkit.

    conda's packages put it into the prefix itself, on Windows into ``Library``; PyPI's of CUDA 13 into
    ``site-packages/nvidia/cu13``. PyPI's of CUDA 11 and 12 have ptxas, but no nvcc.
    """
    active = [Path(search.environ[name]) for name in ("CONDA_PREFIX", "VIRTUAL_ENV") if search.environ.get(name)]
    library, site = ("Library", ("Lib",)) if os.name == "nt" else ("", ("lib*", "python3*"))
    for prefix in dict.fromkeys((*active, *search.prefixes)):
        if has_nvcc(prefix / library) and os.path.isdir(prefix / "conda-meta"):  # noqa: PTH112 - no error
            yield Place(prefix / library, "conda")
        for place in _globbed(prefix, (*site, "site-packages", "nvidia", "cu[0-9]*"), "site-packages"):
            if has_nvcc(place.path):
                yield place


def _globbed(folder: Path, parts: Iterable[str], found_via: str) -> list[Place]:
    names = matches(folder, "/".join(parts))
    return [Place(folder / name, found_via, is_expected=False) for name in names]


def _listed(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - names
    except OSError:  # not there or closed
        return []


_STEPS: tuple[Callable[[Search], Iterator[Place]], ...] = (
    _added,
    _of_envkit,
    _configured,
    _in_roots,
    _in_hpc_sdk,
    _in_program_files,
    _in_variables,
    _of_hpc_variables,
    _on_path,
    _in_prefixes,
)
