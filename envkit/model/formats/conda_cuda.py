"""For which CUDA conda's packages are built, as far as specs and records say it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_CUDA_STATED = "?"
"""There is a torch, and for which CUDA it is built is said nowhere."""
_PINS = ("pytorch-cuda", "cuda-version", "cudatoolkit")
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
        found = _IN_BUILD.search(build[-1]) if build else None
        if found is not None and (found[2] is not None or len(found[1]) > 1):
            return f"{found[1]}.{found[2]}" if found[2] is not None else f"{found[1][:-1]}.{found[1][-1]}"
        if build and "cpu" in build[-1]:
            return None
    if any(name in wanted for name in _CPU_NAMES):
        return None
    pins = (_VERSION.match(wanted[name]) for name in _PINS if name in wanted)
    return next((found[1] for found in pins if found is not None), NO_CUDA_STATED)
