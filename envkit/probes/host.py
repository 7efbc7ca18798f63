"""Facts about this machine that do not need a GPU."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

from envkit.errors import UnfitMachineError

_PLATFORMS = {
    ("linux", "x86_64"): "linux-64",
    ("linux", "aarch64"): "linux-aarch64",
    ("darwin", "x86_64"): "osx-64",
    ("darwin", "arm64"): "osx-arm64",
    ("win32", "AMD64"): "win-64",
}


def current_platform() -> str:
    """conda's name of this platform, "linux-64".

    Raises:
        UnfitMachineError: envkit has no name for it.
    """
    machine = platform.machine()
    name = _PLATFORMS.get((sys.platform, machine))
    if name is None:
        raise UnfitMachineError(
            f"envkit does not serve {sys.platform} on {machine}.", why="There are no CUDA builds of PyTorch for it."
        )
    return name


def glibc_version() -> tuple[int, int] | None:
    """The C library's version, (2, 28); None where it is not glibc."""
    try:
        text = os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, ValueError, OSError):
        return None
    if not text or not text.startswith("glibc "):
        return None
    major, minor = text.removeprefix("glibc ").split(".")[:2]
    return int(major), int(minor)


def host_facts() -> dict[str, Any]:
    """What a snapshot keeps of the machine."""
    glibc = glibc_version()
    return {
        "name": platform.node(),
        "platform": current_platform(),
        "system": platform.platform(),
        "machine": platform.machine(),
        "glibc": None if glibc is None else f"{glibc[0]}.{glibc[1]}",
        "cpu_count": os.cpu_count(),
    }
