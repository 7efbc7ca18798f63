"""What the kernel and the file system say of NVIDIA's GPUs and driver, without nvidia-smi and without lspci."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_NVIDIA = "0x10de"
_DISPLAY = ("0x0300", "0x0302")
"""PCI classes of GPUs: VGA and 3D controllers (https://pcisig.com, "PCI Code and ID Assignment")."""
_LIBRARIES = (
    "usr/lib/x86_64-linux-gnu",
    "usr/lib/aarch64-linux-gnu",
    "usr/lib64",
    "usr/lib",
    "usr/lib/nvidia",
    "usr/lib/wsl/lib",
    "usr/local/nvidia/lib64",
)


@dataclass(frozen=True, slots=True)
class KernelReport:
    """The driver as the system shows it.

    Attributes:
        gpus: PCI addresses of NVIDIA's GPUs that the kernel sees.
        module: the kernel module for them that is loaded: "nvidia", "nouveau" or None.
        module_version: of the module nvidia that is loaded; None where it is not.
        library_version: of the driver's library libnvidia-ml on this disk; None where there is none, or several.
        has_device_files: whether programs can reach a GPU (/dev/nvidiactl, in WSL /dev/dxg).
        is_container: whether this is a container.
        secure_boot: whether only signed modules are loaded; None where that is not known.
    """

    gpus: tuple[str, ...]
    module: str | None
    module_version: str | None
    library_version: str | None
    has_device_files: bool
    is_container: bool
    secure_boot: bool | None


def look_at_kernel(root: Path = Path("/")) -> KernelReport:
    """Read it below ``root``; what cannot be read is not there. Nothing is run."""
    modules = {line.split(" ", 1)[0] for line in _text(root / "proc" / "modules").splitlines()}
    return KernelReport(
        _gpus(root / "sys" / "bus" / "pci" / "devices"),
        next((name for name in ("nvidia", "nouveau") if name in modules), None),
        _module_version(root),
        _library_version(root),
        any((root / "dev" / name).exists() for name in ("nvidiactl", "dxg")),
        _is_container(root),
        _secure_boot(root),
    )


def _gpus(folder: Path) -> tuple[str, ...]:
    try:
        devices = sorted(folder.iterdir())
    except OSError:
        return ()
    return tuple(
        device.name
        for device in devices
        if _text(device / "vendor").strip() == _NVIDIA and _text(device / "class").startswith(_DISPLAY)
    )


def _module_version(root: Path) -> str | None:
    told = _text(root / "sys" / "module" / "nvidia" / "version").strip()
    if told:
        return told
    # "NVRM version: NVIDIA UNIX x86_64 Kernel Module  460.56  Tue Feb 23 23:31:57 UTC 2021", or with "Open Kernel
    # Module for x86_64" in between: https://download.nvidia.com/XFree86/Linux-x86_64/
    found = re.search(r"Kernel Module(?: for \S+)?\s+(\d+(?:\.\d+)+)", _text(root / "proc/driver/nvidia/version"))
    return None if found is None else found[1]


def _library_version(root: Path) -> str | None:
    found = set()
    for folder in _LIBRARIES:
        try:
            names = [path.name for path in (root / folder).glob("libnvidia-ml.so.*.*")]
        except OSError:
            continue
        found |= {name.removeprefix("libnvidia-ml.so.") for name in names}
    return found.pop() if len(found) == 1 else None


def _is_container(root: Path) -> bool:
    if (root / ".dockerenv").exists() or (root / "run" / ".containerenv").exists():
        return True
    return re.search(r"docker|kubepods|lxc|libpod", _text(root / "proc" / "1" / "cgroup")) is not None


def _secure_boot(root: Path) -> bool | None:
    """The last byte of the firmware's variable; the four before it are its attributes."""
    for path in (root / "sys" / "firmware" / "efi" / "efivars").glob("SecureBoot-*"):
        try:
            content = path.read_bytes()
        except OSError:
            return None
        return content[-1:] == b"\x01"
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
