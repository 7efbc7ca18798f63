"""What it means when nvidia-smi gives no data, and what to do about it, by the words of ``SmiReport.error_kind``."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from envkit.model.driver import SmiReport


class SmiFailure(NamedTuple):
    """A failure in words.

    Attributes:
        cause: what is wrong.
        remedy: what to do.
    """

    cause: str
    remedy: str


MISMATCH = "nvml-driver-library-mismatch"
NOT_FOUND = "command-not-found"
_UNKNOWN = SmiFailure(
    "It failed for a reason that envkit does not know.", "Run nvidia-smi by hand and read what it says."
)
_FAILURES: Mapping[str, SmiFailure] = MappingProxyType(
    {
        NOT_FOUND: SmiFailure(
            "There is no nvidia-smi on PATH, nor where NVIDIA's driver puts it.",
            "It comes with the NVIDIA driver: install that where there is an NVIDIA GPU. In WSL the driver is "
            "that of Windows, and the tool lies in /usr/lib/wsl/lib; on Windows in System32, of old drivers in "
            r"Program Files\NVIDIA Corporation\NVSMI. In a container: start it with GPU access (`--gpus all`).",
        ),
        "permission-denied": SmiFailure(
            "nvidia-smi is there, but may not be run.", "Correct the permissions of the program; `ls -l` shows them."
        ),
        "driver-not-loaded": SmiFailure(
            "NVIDIA's kernel module is not loaded, so that the driver does not answer.",
            "Load it (`sudo modprobe nvidia`); where that fails, install the driver again for the running kernel, "
            "and see whether Secure Boot or nouveau keeps it out. On Windows: enable the GPU in the device "
            "manager, or reinstall the driver.",
        ),
        "no-devices": SmiFailure(
            "The driver is there, but shows no GPU.",
            "See whether the system shows the card (`lspci | grep -i nvidia`), whether it is given to a virtual "
            "machine or hidden from this container or job, and what the kernel says of it (`sudo dmesg | grep -i "
            "nvrm`).",
        ),
        "gpu-lost": SmiFailure(
            "A GPU no longer answers on the PCI bus: often heat, power, or a fault of the card.",
            "Reboot. If it comes back: look for Xid messages in the kernel's log, check power supply, cooling and "
            "seat of the card.",
        ),
        "gpu-requires-reset": SmiFailure(
            "A GPU has had an error that only a reset clears.",
            "Stop what uses it and run `sudo nvidia-smi --gpu-reset -i INDEX`, or reboot.",
        ),
        "device-handle-unknown-error": SmiFailure(
            "The driver cannot reach one of the GPUs.",
            "In a container, start it again: it may have lost its devices. Else reboot, and look for Xid messages of "
            "that bus id in the kernel's log (`sudo dmesg | grep -i xid`).",
        ),
        "insufficient-permissions": SmiFailure(
            "This user may not ask for that, or may not open the device files /dev/nvidia*.",
            "Join the group that owns /dev/nvidia* (`ls -l /dev/nvidia*`), or ask the machine's administrator.",
        ),
        "gpu-access-blocked": SmiFailure(
            "Windows does not let WSL use the GPU.",
            "Update Windows, WSL (`wsl --update`) and the NVIDIA driver of Windows, then `wsl --shutdown`.",
        ),
        "nvml-not-found": SmiFailure(
            "nvidia-smi does not find the driver's library NVML (libnvidia-ml.so, nvml.dll).",
            "Install the driver completely; in a container, start it with the NVIDIA Container Toolkit (`--gpus "
            "all`) and do not copy the tool into the image.",
        ),
        "nvml-unknown-error": SmiFailure(
            "NVML cannot start. In a container: it has lost its device files, as after `systemctl daemon-reload` "
            "on the host.",
            "Start the container again; for good, let Docker use the cgroup driver cgroupfs, or name the devices "
            "with --device.",
        ),
        "nvml-failed": SmiFailure("NVML, the driver's library, cannot start.", _UNKNOWN.remedy),
        "container-without-gpu": SmiFailure(
            "The container was started without GPUs, or the host has no NVIDIA Container Toolkit.",
            "Install the NVIDIA Container Toolkit on the host, restart Docker, and start the container with "
            "`--gpus all`.",
        ),
        "unknown-field": SmiFailure(
            "This nvidia-smi is too old for a field that it was asked for.", "Paste what plain `nvidia-smi` prints."
        ),
        "field-unknown-error": SmiFailure(
            "The tool could not read one of the values.", "Ask again; if it stays, reboot and look at the kernel's log."
        ),
        "timeout": SmiFailure(
            "nvidia-smi did not end: the driver or a GPU hangs.",
            "Look for Xid messages in the kernel's log (`sudo dmesg | grep -i xid`), and reboot.",
        ),
        "unknown-text": SmiFailure(
            "The text holds nothing that nvidia-smi prints.",
            "Give it the output of `nvidia-smi`, `nvidia-smi -q`, `nvidia-smi -L` or `nvidia-smi --query-gpu=...`.",
        ),
    }
)
"""Sources: https://docs.nvidia.com/deploy/nvml-api (nvmlReturn_t), https://docs.nvidia.com/deploy/xid-errors,
https://docs.nvidia.com/cuda/wsl-user-guide, https://github.com/NVIDIA/nvidia-container-toolkit/issues/48."""


_RELOAD = (
    "Reboot, or stop what uses the GPU and reload the module (`sudo rmmod nvidia_uvm nvidia_drm nvidia_modeset "
    "nvidia`, then `sudo modprobe nvidia`). In a container: start it again, after the host was rebooted."
)
_OLD_LIBRARY = (
    "Install the libraries of the module's version, or remove the others that come before them (`ldconfig -p | grep "
    "libnvidia-ml`, LD_LIBRARY_PATH). In a container: start it again with `--gpus all`, so that it gets those of the "
    "host, and install no driver in it."
)


def explained(report: SmiReport) -> SmiFailure | None:
    """What went wrong, with the versions that differ where they are known; None: nothing did."""
    if report.error_kind is None:
        return None
    if report.error_kind == MISMATCH:
        return mismatch(report.module_version, report.library_version)
    return _FAILURES.get(report.error_kind, _UNKNOWN)


def mismatch(module: str | None, library: str | None) -> SmiFailure:
    """What it means that NVIDIA's library is of another version than the kernel module; which is newer, decides.

    Args:
        module: version of the module that is loaded, None where not known.
        library: of the library that programs find, at least its first two numbers.
    """
    told = [f"{what} {version}" for what, version in (("library", library), ("loaded module", module)) if version]
    here = f" Here: {', '.join(told)}." if told else ""
    older, newer = _numbers(library), _numbers(module)
    count = min(len(older), len(newer))
    if older[:count] == newer[:count]:
        cause = (
            "The driver's library and the kernel module that is loaded are of different versions, most often since the "
            "driver was updated and not loaded yet."
        )
        else_ = "Where the library is the older one (`cat /proc/driver/nvidia/version` tells the module's version)"
        remedy = f"{_RELOAD} {else_}: {_OLD_LIBRARY[0].lower()}{_OLD_LIBRARY[1:]}"
        return SmiFailure(f"{cause}{here}", remedy)
    if older[:count] < newer[:count]:
        cause = "The driver's library is older than the kernel module that is loaded; a reboot does not change that."
        return SmiFailure(f"{cause}{here}", _OLD_LIBRARY)
    cause = "The driver's library is newer than the kernel module that is loaded: the driver was updated, and the old "
    return SmiFailure(f"{cause}module still runs.{here}", _RELOAD)


def _numbers(version: str | None) -> list[int]:
    return [int(part) for part in (version or "").split(".") if part.isdecimal()]
