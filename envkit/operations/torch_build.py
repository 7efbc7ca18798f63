"""For which CUDA the torch in a prefix is built, read from its files; nothing of the prefix is run."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from envkit.errors import InvalidFileError
from envkit.installers.conda_meta import installed_records
from envkit.installers.installed import distributions, site_packages
from envkit.model.lock import CONDA_TORCH
from envkit.operations.conda_lock import build_cuda_of

if TYPE_CHECKING:
    from pathlib import Path

_LOCAL = re.compile(r"\+(?:cu(\d+)(\d)|(cpu))(?![0-9a-z])")
"""The local part of a version on PyTorch's own index: ``1.12.1+cu113``, ``2.1.0+cpu``."""
_IN_VERSION_PY = re.compile(r"^cuda(?:\s*:[^=\n]+)?\s*=\s*(?:'(\d+\.\d+)[\d.]*'|(None))\s*$", re.MULTILINE)
"""A line of ``torch/version.py``: ``cuda: Optional[str] = '12.1'``, older ones without the type."""
_RUNTIMES = re.compile(r"nvidia-cuda-runtime(?:-cu\d+)?")
_MINOR = re.compile(r"\d+\.\d+")


def build_cudas(prefix: Path) -> tuple[str, ...]:
    """The build CUDA of the torch in a prefix, "11.3" or "cpu": one, or several where its files contradict each other.

    Without a torch it is that of the CUDA runtime that pip has installed there; empty where nothing tells.
    """
    with contextlib.suppress(OSError):
        return tuple(dict.fromkeys(_of_pip(prefix) or _of_conda(prefix) or _of_runtime(prefix)))
    return ()


def _of_pip(prefix: Path) -> list[str]:
    stated = (_LOCAL.search(version) for name, version, _ in distributions(prefix) if name == "torch")
    found = [item[3] or f"{item[1]}.{item[2]}" for item in stated if item is not None]
    folder = site_packages(prefix)
    if folder is not None:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            text = (folder / "torch" / "version.py").read_text(encoding="utf-8", errors="replace")
            line = _IN_VERSION_PY.search(text)
            found += [] if line is None else [line[1] or "cpu"]
    return found


def _of_conda(prefix: Path) -> list[str]:
    with contextlib.suppress(InvalidFileError):  # of another package, perhaps: it is no business of this look
        builds = (build_cuda_of(record) for record in installed_records(prefix) if record.name == CONDA_TORCH)
        return [build for build in builds if build is not None]
    return []


def _of_runtime(prefix: Path) -> list[str]:
    stated = (_MINOR.match(version) for name, version, _ in distributions(prefix) if _RUNTIMES.fullmatch(name))
    return [item[0] for item in stated if item is not None]
