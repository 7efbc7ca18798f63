"""For which CUDA conda's packages are built, as far as specs and records say it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_CUDA_STATED = "?"
"""There is a torch, and for which CUDA it is built is said nowhere."""
TOOLKIT_PINS = ("pytorch-cuda", "cuda-version", "cudatoolkit")
"""Packages by whose version a channel says which CUDA its torch is built for: PyTorch's from 1.13 on, conda-forge's,
and both before."""
_CPU_NAMES = ("cpuonly", "pytorch-cpu")
_TORCH_NAMES = ("pytorch", "pytorch-gpu", "pytorch-cpu", "torchvision", "torchaudio")
_VERSION = re.compile(r"[=\s]*(\d+\.\d+)")
_IN_BUILD = re.compile(r"cuda_?(\d+)\.?(\d)?")


def stated_cuda(wanted: Mapping[str, str], platform: str) -> str | None:
    """The build CUDA "11.3" of packages, None for a CPU build or without torch, ``NO_CUDA_STATED`` where it stays open.

    Args:
        wanted: what is behind each package's name in a MatchSpec: ``=1.12.1=py3.9_cuda11.3_cudnn8.3.2_0``.
        platform: conda's name; there is no CUDA for macOS.
    """
    torch = [wanted[name] for name in _TORCH_NAMES if name in wanted]
    if not torch or platform.startswith("osx"):
        return None
    for rest in torch:
        build = re.split(r"[=\s]+", rest.strip("= \t"))[1:]
        found = cuda_in_build(build[-1]) if build else None
        if found is not None:
            return found
        if build and "cpu" in build[-1]:
            return None
    if any(name in wanted for name in _CPU_NAMES):
        return None
    pins = (_VERSION.match(wanted[name]) for name in TOOLKIT_PINS if name in wanted)
    return next((found[1] for found in pins if found is not None), NO_CUDA_STATED)


def cuda_in_build(build: str) -> str | None:
    """The CUDA that the build string of a channel's torch names, "11.3"; None where it names none.

    PyTorch's channel writes ``py3.9_cuda11.3_cudnn8.3.2_0``, conda-forge ``cuda112py39h...`` or ``cuda126_mkl_...``.
    """
    found = _IN_BUILD.search(build)
    if found is None:
        return None
    if found[2] is not None:
        return f"{found[1]}.{found[2]}"
    return f"{found[1][:-1]}.{found[1][-1]}" if len(found[1]) > 1 else None
