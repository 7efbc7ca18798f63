"""Processor, memory, and Windows' Subsystem for Linux."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from envkit.compat.system_needs import system_fact
from envkit.model.fit import FitCheck
from envkit.model.texts import size_text
from envkit.probes.hardware import read_memory, read_processor
from envkit.probes.host import this_system
from envkit.probes.windows import read_windows_memory, read_windows_processor

if TYPE_CHECKING:
    from envkit.probes.hardware import Memory, Processor

_WSL_LIBRARY = "usr/lib/wsl/lib/libcuda.so.1"


def cpu_check(platform: str, root: Path = Path("/")) -> FitCheck | None:
    """Whether the processor has AVX2; None where that is no question (ARM) or envkit cannot tell it (macOS)."""
    if platform not in {"linux-64", "win-64"}:
        return None
    fact = system_fact("avx2")
    windows = sys.platform == "win32"
    return _judged(read_windows_processor() if windows else read_processor(root), fact.source, fact.known)


def _judged(processor: Processor | None, source: str, known: str) -> FitCheck:
    needed = "AVX2"
    if processor is None:
        why = "This system does not tell which instructions its processor has."
        return FitCheck("cpu", "unknown", None, needed, why, None, source, known)
    flags = [name for name, has in (("AVX", processor.has_avx), ("AVX2", processor.has_avx2)) if has]
    found = f"{processor.name or 'x86-64'}: {', '.join(flags) or 'neither AVX nor AVX2'}"
    if processor.has_avx2:
        return FitCheck("cpu", "ok", found, needed, source=source, known=known)
    why = "Without it torch may end with `Illegal instruction`. That its wheels need it, no source says for sure."
    hint = "Check it with `envkit verify`; where it ends so, an older torch or another machine is left."
    return FitCheck("cpu", "warn", found, needed, why, hint, source, known)


def memory_check(root: Path = Path("/")) -> FitCheck:
    """Whether there is memory enough to install and import torch, this process's own limit counted."""
    fact = system_fact("memory")
    memory = read_windows_memory() if sys.platform == "win32" else read_memory(root)
    if memory is None:
        return FitCheck("memory", "unknown", why="This system does not tell how much memory it has.")
    return _judged_memory(memory, fact.number("minimum_bytes"), fact.source, fact.known)


def _judged_memory(memory: Memory, least: int, source: str, known: str) -> FitCheck:
    found = size_text(memory.total_bytes)
    is_limited = memory.usable_bytes < memory.total_bytes
    if is_limited:
        found += f"; this process may use {size_text(memory.usable_bytes)} (control group)"
    needed = f"about {size_text(least)}"
    if memory.usable_bytes >= least:
        return FitCheck("memory", "ok", found, needed, source=source, known=known)
    why = "Installing a wheel of 1 to 2 GB and importing torch may end with MemoryError, or be killed."
    hint = "Ask for more memory for this job or container." if is_limited else "Use a machine with more memory."
    return FitCheck("memory", "warn", found, needed, why, hint, source, known)


def wsl_check(root: Path = Path("/")) -> FitCheck | None:
    """What counts in Windows' Subsystem for Linux; None elsewhere."""
    system = this_system(root)
    if not system.is_wsl:
        return None
    fact = system_fact("wsl")
    found = f"{system.title} in Windows' Subsystem for Linux"
    if os.path.exists(root / _WSL_LIBRARY):  # noqa: PTH110 - no error in a closed folder
        hint = "The driver is Windows' own: update it there, and install none in Linux."
        return FitCheck("wsl", "ok", found, hint=hint, source=fact.source, known=fact.known)
    why = f"/{_WSL_LIBRARY} is not there: this is WSL 1, or Windows' driver has no part for WSL."
    hint = "In Windows: `wsl --set-version NAME 2`, and a driver that supports WSL. Install no driver in Linux."
    return FitCheck("wsl", "warn", found, "WSL 2 with Windows' driver", why, hint, fact.source, fact.known)
