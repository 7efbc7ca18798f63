"""What the search paths of this shell lead to: CUDA folders in PATH, libraries in LD_LIBRARY_PATH."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from envkit.probes.nvcc_on_path import nvccs_on_path
from envkit.probes.toolkits import toolkit_at

if TYPE_CHECKING:
    from collections.abc import Mapping

_CUDA_NAME = re.compile(r"cuda|cudnn", re.IGNORECASE)
_LIBRARY = re.compile(
    r"(?:lib)?(cudart|cublas|cudnn|cufft|curand|cusolver|cusparse|cupti|nccl|nvrtc|nvjitlink|nvtoolsext|"
    r"c10|torch|stdc\+\+|gomp|iomp5|mkl_rt)(?:lt|64|[_-][a-z]+)*[-_.0-9]*\.so\b",
    re.IGNORECASE | re.ASCII,
)
_SYSTEM = re.compile(r"/(?:usr/)?lib(?:32|64)?(?:/[a-z0-9_]+-linux-gnu)?", re.ASCII)
"""Where the system's own libraries lie, which are found without the variable as well."""


@dataclass(frozen=True, slots=True)
class CudaOnPath:
    """CUDA in PATH.

    Attributes:
        compilers: each nvcc with the version of its toolkit ("13.0.1", None: not told), first one first; of one toolkit
            only the first.
        vanished: entries of a CUDA folder that is not there.
    """

    compilers: tuple[tuple[Path, str | None], ...]
    vanished: tuple[str, ...]


def cuda_on_path(environ: Mapping[str, str]) -> CudaOnPath:
    """The nvcc programs in PATH, and what is left of CUDA folders that have gone."""
    compilers: dict[str, tuple[Path, str | None]] = {}
    for found in nvccs_on_path(environ):
        folder = found.folder if found.folder is not None else found.nvcc.parent
        toolkit = toolkit_at(folder, "PATH")
        known = (found.nvcc, toolkit.version if toolkit is not None else None)
        compilers.setdefault(os.path.realpath(folder), known)
    entries = dict.fromkeys(environ.get("PATH", "").split(os.pathsep))
    vanished = [entry for entry in entries if _CUDA_NAME.search(entry) and not os.path.isdir(entry)]  # noqa: PTH112
    return CudaOnPath(tuple(compilers.values()), tuple(vanished))


@dataclass(frozen=True, slots=True)
class LibraryFolder:
    """A folder of LD_LIBRARY_PATH that holds other versions of what torch brings itself.

    Attributes:
        path: as it stands in the variable; empty: the working folder.
        libraries: "cudart", "cudnn", ..., in the alphabet's order.
        prefix: the environment that it belongs to, or None.
        is_stubs: whether it holds a libcuda for linking, which is no driver.
    """

    path: str
    libraries: tuple[str, ...]
    prefix: str | None
    is_stubs: bool


def libraries_on_path(value: str) -> tuple[LibraryFolder, ...]:
    """The folders of a value of LD_LIBRARY_PATH that hold such libraries; the system's own ones do not count."""
    found = []
    for entry in dict.fromkeys(value.split(os.pathsep)) if value else ():
        if entry and _SYSTEM.fullmatch(os.path.realpath(entry)):
            continue
        names = _listed(entry or os.curdir)
        libraries = sorted({match[1].lower() for name in names if (match := _LIBRARY.match(name)) is not None})
        is_stubs = Path(entry).name == "stubs" and any(name.startswith("libcuda.so") for name in names)
        if libraries or is_stubs or not entry:
            found.append(LibraryFolder(entry, tuple(libraries), _prefix_of(entry), is_stubs))
    return tuple(found)


def _prefix_of(folder: str) -> str | None:
    parent = Path(folder).parent
    is_prefix = os.path.isdir(parent / "conda-meta") or os.path.isfile(parent / "pyvenv.cfg")  # noqa: PTH112,PTH113
    return str(parent) if folder and is_prefix else None


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - names
    except (OSError, ValueError):  # not there, closed, or no name at all
        return []


def packages_in(folder: Path, names: tuple[str, ...]) -> tuple[str, ...]:
    """Which of the import names lie in a folder, as a package or a module."""
    there = set(_listed(str(folder)))
    return tuple(name for name in names if name in there or f"{name}.py" in there)
