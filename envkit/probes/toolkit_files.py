"""Where the parts of a CUDA toolkit lie in its folder; a part that cannot be looked at is not there."""

from __future__ import annotations

import glob
import os
from pathlib import Path

from envkit.model.toolkit import RECORD

NVCC = "nvcc.exe" if os.name == "nt" else "nvcc"
DEBIAN = "nvidia-cuda-toolkit"
"""Debian's and Ubuntu's package of that name has nvcc in ``/usr/lib/nvidia-cuda-toolkit/bin`` and its headers in
``/usr/include``. Its ``/usr/bin/nvcc`` is a script that starts the former, and its ``/usr/lib/cuda`` holds no nvcc.
https://github.com/tmcdonell/cuda/issues/54
"""
SYSTEM_BINS = frozenset(map(os.path.realpath, ("/bin", "/usr/bin", "/usr/local/bin")))
_MAXIMUM_BYTES = 4 << 20
"""cuda.h has one million."""


def nvcc_of(folder: Path) -> Path:
    """Where a toolkit has its compiler."""
    return folder / "bin" / NVCC


def has_nvcc(folder: Path) -> bool:
    """Whether the compiler is there."""
    return os.path.isfile(nvcc_of(folder))  # noqa: PTH113 - no error in a closed folder


def header_in(folder: Path, name: str) -> Path | None:
    """A header of a toolkit: in ``include``, in ``targets/x86_64-linux/include`` (conda's packages), or Debian's."""
    places = [Path("include", name), *(Path(item, name) for item in matches(folder, "targets/*/include"))]
    if folder.name == DEBIAN:
        places.append(Path("..", "..", "include", name))
    found = (folder / place for place in places)
    return next((path for path in found if os.path.isfile(path)), None)  # noqa: PTH113 - likewise


def has_headers(folder: Path) -> bool:
    """Whether programs can be compiled: ``cuda.h`` of the driver interface or ``cuda_runtime.h`` is there."""
    return any(header_in(folder, name) is not None for name in ("cuda.h", "cuda_runtime.h"))


def has_runtime(folder: Path) -> bool:
    """Whether the runtime library is there; containers that only run programs have no more than that."""
    names = (
        "lib64/libcudart.*",
        "lib/libcudart.*",
        "targets/*/lib/libcudart.*",
        "bin/cudart64_*",
        "bin/x64/cudart64_*",
    )
    return bool(matches(folder, *names))


def matches(folder: Path, *patterns: str) -> list[str]:
    """What fits one of the patterns in a folder, in order; nothing where it is closed."""
    return [name for text in patterns for name in sorted(glob.glob(text, root_dir=folder))]  # noqa: PTH207 - no error


def is_own(folder: Path) -> bool:
    """Whether envkit has installed it, to its end: one without a record was not finished."""
    return os.path.isfile(folder / RECORD)  # noqa: PTH113 - likewise


def is_system(folder: Path) -> bool:
    """Whether its ``bin`` is the system's own: in front of PATH it would bring all of the system's programs there."""
    return os.path.realpath(folder / "bin") in SYSTEM_BINS


def environment_of(folder: Path) -> Path | None:
    """The conda prefix or virtual environment that a toolkit is a part of; None for one that stands alone."""
    if is_own(folder):
        return None
    marks = ("conda-meta", "pyvenv.cfg")
    places = dict.fromkeys((folder, *folder.parents, *(real := Path(os.path.realpath(folder)), *real.parents)))
    return next((place for place in places if any(os.path.exists(place / mark) for mark in marks)), None)  # noqa: PTH110


def read_text(path: Path, *, limit: int = _MAXIMUM_BYTES) -> str:
    """A file's text, as far as ``limit`` bytes go; empty where it cannot be read.

    Nothing but a plain file is: a pipe would be waited for.
    """
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(limit).decode("utf-8", "replace")
    except OSError:
        return ""
