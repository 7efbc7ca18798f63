"""What files of cuDNN say of themselves, and where they belong in a toolkit."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from envkit.model.toolkit import Toolkit

_LIBRARY = re.compile(r"(libcudnn\w*\.so)\.(\d+)(?:\.[\d.]+)?", re.ASCII)
_CUDA_IN_NAME = (
    r"_cuda(\d+)(?:\.\d+)?-archive",  # cudnn-linux-x86_64-8.9.7.29_cuda12-archive.tar.xz
    r"^cudnn-(\d+)\.\d+-",  # cudnn-11.3-linux-x64-v8.2.1.32.tgz
    r"^nvidia_cudnn_cu(\d+)-",  # a wheel
)
_SYSTEM_IN_NAME = {
    "linux-64": r"linux-x86_64|linux-x64|manylinux\w*_x86_64",
    "linux-aarch64": r"linux-sbsa|linux-aarch64|manylinux\w*_aarch64",
    "linux-ppc64le": r"linux-ppc64le",
    "win-64": r"windows-x86_64|windows10?-x64|win_amd64",
}


class Place(NamedTuple):
    """One file and where it belongs.

    Attributes:
        source: the file as it was unpacked.
        path: in the toolkit, with slashes.
    """

    source: Path
    path: str


def cuda_major_of(name: str) -> str | None:
    """For which CUDA an archive is, by its file name: "12"; None where the name does not tell."""
    found = (re.search(pattern, name) for pattern in _CUDA_IN_NAME)
    return next((match[1] for match in found if match), None)


def platform_of(name: str) -> str | None:
    """For which system an archive is, by its file name: "linux-64"; None where the name does not tell."""
    return next((system for system, pattern in _SYSTEM_IN_NAME.items() if re.search(pattern, name)), None)


def add_links(folder: Path) -> None:
    """Add the names that a linker and the loader look for: libcudnn.so to libcudnn.so.8 to libcudnn.so.8.2.1.

    The archives have them; wheels have only the middle ones, and a zip loses links.
    """
    for path in sorted(folder.glob("lib*/libcudnn*.so.*")):
        match = _LIBRARY.fullmatch(path.name)
        if match is None or path.is_symlink():
            continue
        loaded = path.with_name(f"{match[1]}.{match[2]}")
        _link(loaded, path.name)
        _link(path.with_name(match[1]), loaded.name)


def _link(path: Path, target: str) -> None:
    if not os.path.lexists(path):
        path.symlink_to(target)


def library_folder(toolkit: Toolkit, platform: str) -> str:
    """Where a toolkit has its libraries: lib/x64 on Windows, lib64 on Linux, lib where there is no lib64."""
    if platform == "win-64":
        return "lib/x64"
    return "lib64" if (toolkit.path / "lib64").is_dir() else "lib"


def places(folder: Path, toolkit: Toolkit, platform: str) -> Iterator[Place]:
    """Every file that was unpacked, and where it belongs; headers first."""
    targets = {"include": "include", "bin": "bin"}
    for path in sorted(folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            continue
        top = path.relative_to(folder).parts[0]
        yield Place(path, f"{targets.get(top, library_folder(toolkit, platform))}/{path.name}")
