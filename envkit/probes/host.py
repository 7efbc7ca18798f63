"""Facts about this machine that do not need a GPU."""

from __future__ import annotations

import contextlib
import os
import platform
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
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


@dataclass(frozen=True, slots=True)
class System:
    """Which system this is, for package repositories.

    Attributes:
        id: ``ID`` of os-release ("ubuntu", "rocky"); "windows"; "linux" where nothing tells.
        version: ``VERSION_ID``, "20.04"; empty for a rolling one.
        like: ``ID_LIKE``, the systems that it descends from.
        codename: ``UBUNTU_CODENAME`` of what descends from Ubuntu, or empty.
        title: for people.
        is_wsl: whether it runs in Windows' Subsystem for Linux.
    """

    id: str
    version: str
    like: tuple[str, ...]
    codename: str
    title: str
    is_wsl: bool


def this_system(root: Path = Path("/"), platform_name: str = sys.platform) -> System:
    """The system below ``root``, by its own files (os-release(5)); nothing is run."""
    if platform_name == "win32":
        return System("windows", "", (), "", "Windows", is_wsl=False)
    facts = _os_release(root)
    kernel = _text_of(root / "proc" / "version").lower()
    system_id = facts.get("ID", "linux").lower()
    return System(
        system_id,
        facts.get("VERSION_ID", ""),
        tuple(facts.get("ID_LIKE", "").lower().split()),
        facts.get("UBUNTU_CODENAME", "").lower(),
        facts.get("PRETTY_NAME", system_id),
        # https://github.com/microsoft/WSL/issues/423: the kernel's version names Microsoft
        is_wsl="microsoft" in kernel,
    )


def _os_release(root: Path) -> dict[str, str]:
    text = _text_of(root / "etc" / "os-release") or _text_of(root / "usr" / "lib" / "os-release")
    facts = {}
    for line in text.splitlines():
        name, separator, value = line.strip().partition("=")
        if not separator or name.startswith("#"):
            continue
        with contextlib.suppress(ValueError):  # a quote without its end
            facts[name] = "".join(shlex.split(value)[:1])
    return facts


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
