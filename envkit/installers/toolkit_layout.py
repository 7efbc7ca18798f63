"""Files of wheels or conda packages made into a folder that looks like NVIDIA's own toolkit."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from envkit import fs
from envkit.errors import DownloadError

if TYPE_CHECKING:
    from pathlib import Path

_TARGETS = {"linux-64": "x86_64-linux", "linux-aarch64": "sbsa-linux"}
"""NVIDIA's names of the systems that a toolkit makes code for, below ``targets``."""
_PROGRAMS = ("bin", "nvvm/bin")
_EXECUTABLE = 0o111
_VERSIONED = re.compile(r"(lib[^/]+?\.so)\.[0-9.]+")


def toolkit_from_wheels(site: Path, version: str, platform: str) -> Path:
    """Make a toolkit of what NVIDIA's wheels have put into ``site``; gives its folder, which is in there.

    The wheels of 13.x have everything in ``nvidia/cu13``, as a run file has it, but without the names that a linker and
    a user look for (seen in those of 13.0.0 to 13.5.0).

    Raises:
        DownloadError: the wheels hold no toolkit.
    """
    toolkit = site / "nvidia" / f"cu{version.partition('.')[0]}"
    if not (toolkit / "bin").is_dir():
        raise DownloadError(
            f"The wheels of CUDA {version} hold no folder nvidia/{toolkit.name}/bin.",
            why="envkit knows the wheels of 13.0 to 13.5, which have it.",
        )
    for folder in ("cuda_cccl", "cccl"):  # CMake's files of CCCL, which other versions have in lib
        _merge(toolkit / folder / "lib" / "cmake", toolkit / "lib" / "cmake")
    infos = toolkit / "dist-info"
    infos.mkdir(exist_ok=True)
    for info in sorted(site.glob("*.dist-info")):
        info.rename(infos / info.name)
    finish_toolkit(toolkit, version, platform)
    return toolkit


def finish_toolkit(toolkit: Path, version: str, platform: str) -> None:
    """Add what makes a folder with ``bin``, ``include`` and ``lib`` a toolkit to every tool that looks for one.

    On Linux that is ``lib64``, ``targets``, and a name without a number for each shared library; everywhere
    ``version.json``, as NVIDIA's installers write it. Of the two places of headers and libraries, ``include`` and
    ``targets/x86_64-linux/include``, some packages have one, some the other; both have all in the end.
    """
    if platform in _TARGETS:
        target = toolkit / "targets" / _TARGETS[platform]
        target.mkdir(parents=True, exist_ok=True)
        for name in ("include", "lib"):
            if (target / name).is_dir() and not (target / name).is_symlink():
                _link_entries(toolkit / name, target / name)
            (toolkit / name).mkdir(exist_ok=True)
            _link(target / name, f"../../{name}")
        _link(toolkit / "lib64", "lib")
        for library in sorted((toolkit / "lib").glob("lib*.so.*")):
            match = _VERSIONED.fullmatch(library.name)
            if match is not None:
                _link(library.with_name(match[1]), library.name)
        for folder in _PROGRAMS:
            _make_executable(toolkit / folder)
    if not (toolkit / "version.json").exists():
        fs.write_json(toolkit / "version.json", {"cuda": {"name": "CUDA SDK", "version": version}})


def _merge(source: Path, target: Path) -> None:
    for entry in sorted(source.iterdir()) if source.is_dir() else ():
        if not (target / entry.name).exists():
            target.mkdir(parents=True, exist_ok=True)
            entry.rename(target / entry.name)


def _link_entries(folder: Path, source: Path) -> None:
    folder.mkdir(exist_ok=True)
    for entry in sorted(source.iterdir()):
        _link(folder / entry.name, os.path.relpath(entry, folder))


def _link(path: Path, target: str) -> None:
    if not os.path.lexists(path):
        path.symlink_to(target)


def _make_executable(folder: Path) -> None:
    """A wheel's archive may have been packed where files have no such bit."""
    for path in folder.iterdir() if folder.is_dir() else ():
        mode = path.stat().st_mode
        if path.is_file() and not path.suffix and mode & _EXECUTABLE != _EXECUTABLE:
            path.chmod(mode | _EXECUTABLE)
