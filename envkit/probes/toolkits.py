"""CUDA toolkits on this machine, found by looking at folders; nothing is run where a file tells the version."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from envkit import process
from envkit.errors import ProgramError
from envkit.model.toolkit import Toolkit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

USUAL_ROOTS = ("/usr/local", "/opt")
"""Folders that hold toolkits: ``/usr/local/cuda-11.3`` (NVIDIA), ``/opt/cuda`` (Arch Linux), ``/opt/cuda-11.3``."""

VARIABLES = ("CUDA_PATH", "CUDA_HOME")
_NVCC_TIMEOUT_S = 10.0


class _Place(NamedTuple):
    path: Path
    found_via: str


def find_toolkits(
    environ: Mapping[str, str] | None = None, roots: Sequence[str | Path] = USUAL_ROOTS
) -> tuple[Toolkit, ...]:
    """All toolkits of this machine, newest first, each once however many names and links lead to it.

    Args:
        environ: where ``CUDA_PATH`` and ``CUDA_HOME`` are looked up, by default this process's environment.
        roots: folders that may hold ``cuda*`` folders.
    """
    found: dict[Path, Toolkit] = {}
    for place in (*_in_roots(roots), *_in_variables(os.environ if environ is None else environ)):
        target = Path(os.path.realpath(place.path))
        if target in found:
            continue
        toolkit = toolkit_at(place.path, place.found_via)
        if toolkit is not None:
            found[target] = toolkit
    return tuple(sorted(found.values(), key=lambda toolkit: _version_key(toolkit.version), reverse=True))


def toolkit_at(path: str | Path, found_via: str) -> Toolkit | None:
    """The toolkit in the folder ``path``, or None when there is none: no nvcc, no headers, no version.

    The path is made absolute and normalised, but links are kept: ``/usr/local/cuda-11.3`` stays what people call it.
    """
    folder = Path(os.path.abspath(path))  # noqa: PTH100 - Path.resolve would follow links
    has_nvcc = _nvcc(folder).is_file()
    if not (folder / "bin").is_dir() or not (has_nvcc or _header(folder) is not None):
        return None
    version = next((version for step in _VERSION_STEPS if (version := step(folder)) is not None), None)
    release = None if version is None else ".".join(version.split(".")[:2])
    return Toolkit(version, release, folder, found_via, has_nvcc)


def choose_toolkit(release: str, toolkits: Sequence[Toolkit]) -> Toolkit | None:
    """The first toolkit of that release (``11.3``), one that can compile before one that cannot."""
    matching = [toolkit for toolkit in toolkits if toolkit.release == release]
    return next((toolkit for toolkit in matching if toolkit.has_nvcc), matching[0] if matching else None)


def _in_roots(roots: Sequence[str | Path]) -> Iterator[_Place]:
    # `cuda-11.3` before `cuda`: of a folder and a link to it, the name with the version is kept.
    for root in map(Path, roots):
        names = sorted(root.glob("cuda*"), key=lambda path: (path.name == "cuda", path.name))
        for path in names:
            yield _Place(path, str(root))
            if path.name == "cuda":
                for nested in sorted(path.glob("[0-9]*")):
                    yield _Place(nested, str(root))


def _in_variables(environ: Mapping[str, str]) -> Iterator[_Place]:
    # Empty is as good as unset, as for NVIDIA's own cuda_pathfinder.
    for name in VARIABLES:
        if environ.get(name):
            yield _Place(Path(environ[name]), name)


def _nvcc(folder: Path) -> Path:
    return folder / "bin" / ("nvcc.exe" if os.name == "nt" else "nvcc")


def _header(folder: Path) -> Path | None:
    places = (folder / "include" / "cuda.h", *sorted(folder.glob("targets/*/include/cuda.h")))
    return next((path for path in places if path.is_file()), None)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # not there or not readable: the next step may know


def _from_version_json(folder: Path) -> str | None:
    """Since 11.0.1: ``{"cuda": {"name": "CUDA SDK", "version": "11.3.1"}}``."""
    try:
        content = json.loads(_read(folder / "version.json") or "null")
    except ValueError:
        return None
    cuda = content.get("cuda") if isinstance(content, dict) else None
    version = cuda.get("version") if isinstance(cuda, dict) else None
    return version if isinstance(version, str) and re.fullmatch(r"\d+\.\d+(\.\d+)*", version) else None


def _from_version_txt(folder: Path) -> str | None:
    """Up to 11.0: ``CUDA Version 10.2.89``."""
    match = re.search(r"CUDA Version (\d+\.\d+(?:\.\d+)*)", _read(folder / "version.txt"))
    return match and match[1]


def _from_header(folder: Path) -> str | None:
    """``#define CUDA_VERSION 11030``: major and minor only."""
    header = _header(folder)
    match = re.search(r"^\s*#\s*define\s+CUDA_VERSION\s+(\d+)", _read(header) if header else "", re.MULTILINE)
    return match and f"{int(match[1]) // 1000}.{int(match[1]) % 1000 // 10}"


def _from_nvcc(folder: Path) -> str | None:
    """``Cuda compilation tools, release 11.3, V11.3.109``: the compiler's own number, so only the release counts."""
    try:
        done = process.run([_nvcc(folder), "--version"], timeout_s=_NVCC_TIMEOUT_S, check=False)
    except ProgramError:
        return None
    match = re.search(r"\brelease (\d+\.\d+)\b", done.stdout)
    return match and match[1]


_VERSION_STEPS: tuple[Callable[[Path], str | None], ...] = (
    _from_version_json,
    _from_version_txt,
    _from_header,
    _from_nvcc,
)


def _version_key(version: str | None) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")) if version is not None else ()
