"""What can be told of this machine's driver and GPUs, and of their absence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from envkit.model.fit import FitCheck
from envkit.model.smi_failures import MISMATCH, NOT_FOUND, explained, mismatch

if TYPE_CHECKING:
    from envkit.model.driver import SmiReport
    from envkit.model.fit import Card
    from envkit.operations.machine import Machine
    from envkit.probes.nvidia_kernel import KernelReport

NVIDIA_SMI = "nvidia-smi"
_SOURCE = "nvidia-smi"


def check_smi(machine: Machine, kernel: KernelReport) -> tuple[FitCheck, ...]:
    """What nvidia-smi says here, or why it says nothing; nothing for a machine that was described."""
    smi = machine.smi
    if smi is None:
        return ()
    if smi.error_kind == NOT_FOUND:
        return (_not_found(machine, kernel),)
    if smi.error_kind == MISMATCH:
        return (_mismatch(smi, kernel),)
    if smi.status == "error":
        kind = smi.error_kind or "failed"
        why = f"The tool was found at {smi.found_at}, but failed ({kind}): {smi.message}"
        failure = explained(smi)
        hint = f"{'' if failure is None else failure.remedy}{_seen(kernel)}".strip()
        return (_told("unknown", f"it failed: {kind}", why, hint or None),)
    status: Literal["ok", "warn"] = "ok" if smi.status == "ok" else "warn"
    serves = f", serves CUDA {smi.cuda_version} at most" if smi.cuda_version is not None else ""
    found = f"driver {machine.driver or 'of unknown version'}{serves}; {smi.found_at}"
    return (_told(status, found, None if status == "ok" else f"Its answer is incomplete. {smi.message or ''}".strip()),)


def check_machine(machine: Machine) -> tuple[FitCheck, ...]:
    """The GPUs and the C library of a machine of which nothing in particular is asked."""
    checks = [
        FitCheck("gpu", "ok" if card.capability is not None else "unknown", card.title, why=_unknown_card(card))
        for card in machine.cards
    ]
    if machine.glibc is not None:
        checks.append(FitCheck("glibc", "ok", f"{machine.glibc[0]}.{machine.glibc[1]}"))
    return tuple(checks)


def _unknown_card(card: Card) -> str | None:
    return None if card.capability is not None else "Neither nvidia-smi nor the table of GPUs tells its capability."


def driver_versions(smi: SmiReport, kernel: KernelReport) -> tuple[str | None, str | None]:
    """Version of the module that the kernel has loaded, and of the driver's libraries on this disk."""
    told, on_disk = smi.library_version, kernel.library_version
    is_same = told is None or f"{on_disk}.".startswith(f"{told}.")  # the tool leaves out the last number
    # where both differ, programs find the one first that the tool tells of
    return smi.module_version or kernel.module_version, on_disk if is_same else told


def _told(
    status: Literal["ok", "warn", "unknown"], found: str | None, why: str | None = None, hint: str | None = None
) -> FitCheck:
    return FitCheck(NVIDIA_SMI, status, found, None, why, hint, _SOURCE)


def _mismatch(smi: SmiReport, kernel: KernelReport) -> FitCheck:
    module, library = driver_versions(smi, kernel)
    cause, remedy = mismatch(module, library)
    found = f"driver {module or '?'} loaded, libraries of {library or '?'}; {smi.found_at}"
    return _told("warn", found, f"{cause} Programs cannot use the GPU until both agree.", remedy)


def _not_found(machine: Machine, kernel: KernelReport) -> FitCheck:
    found, why = "no NVIDIA tool found", "nvidia-smi is neither on PATH nor where drivers put it."
    if machine.is_wsl:
        hint = "In WSL it comes with the NVIDIA driver of Windows: install or upgrade that, then `wsl --shutdown`."
    elif kernel.is_container and not kernel.has_device_files:
        hint = (
            "If this is a container that should have a GPU: start it with `--gpus all` "
            "(needs the NVIDIA Container Toolkit)."
        )
    elif kernel.module == "nouveau":
        hint = f"The kernel drives the card with nouveau, which serves no CUDA: install NVIDIA's driver.{_seen(kernel)}"
    elif kernel.gpus:
        hint = f"Install NVIDIA's driver.{_seen(kernel)}"
    else:
        hint = "Where the machine has an NVIDIA GPU, install its driver; on a login node, describe the other machine."
    return _told("unknown", found, why, hint)


def _seen(kernel: KernelReport) -> str:
    """That the card is there although its tool says nothing."""
    if not kernel.gpus:
        return ""
    return f" The kernel sees {len(kernel.gpus)} NVIDIA GPU(s), at PCI {', '.join(kernel.gpus)}."
