"""What people read of their driver and GPUs."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

from envkit.cli.render import table
from envkit.model.texts import hiding_character
from envkit.operations.gpu import BY_THE_TOOL

if TYPE_CHECKING:
    from envkit.operations.gpu import GpuResult, ListedGpu

_CUDA = (
    "That CUDA version is the newest that the driver serves. It is neither an installed toolkit (`envkit cuda "
    "list`) nor what torch was built for."
)
_CUT = "Names that end in dots are cut by nvidia-smi's table; `nvidia-smi -L` prints them whole."


def gpu_lines(result: GpuResult) -> list[str]:
    """Driver, GPUs, and what the numbers are not; nothing where the command ends with an error."""
    if result.error is not None:
        return []
    report = result.report
    lines = []
    if report.driver_version is not None or report.gpus or report.status != "error":
        lines.append(f"Driver {report.driver_version or 'version unknown'}, {_served(report.cuda_version)}")
    if report.found_at is not None:
        lines.append(f"nvidia-smi  {report.found_at}")
    if result.gpus:
        rows = [_row(item) for item in result.gpus]
        lines += ["", *table(("GPU", "NAME", "MEMORY", "MIG", "CAPABILITY"), rows), ""]
    lines += _notes(result)
    lines += _onwards(result)
    return ["".join(ascii(letter)[1:-1] if hiding_character(letter) else letter for letter in line) for line in lines]


def _served(cuda: str | None) -> str:
    return "the CUDA that it serves is not told" if cuda is None else f"serves CUDA {cuda} at most"


def _row(item: ListedGpu) -> tuple[str, ...]:
    gpu = item.gpu
    used, total = ("?" if size is None else str(size) for size in (gpu.memory_used_mib, gpu.memory_total_mib))
    memory = "unknown" if used == total == "?" else f"{used} of {total} MiB"
    return (str(gpu.index), gpu.name or "unknown", memory, gpu.mig or "-", _capability(item))


def _capability(item: ListedGpu) -> str:
    if item.others:
        return f"{' or '.join(item.others)} (several chips have this name)"
    if item.capability is None:
        return "unknown"
    how = "from nvidia-smi" if item.known == BY_THE_TOOL else f"by its name, {item.known}"
    return f"{item.capability} ({how})"


def _onwards(result: GpuResult) -> list[str]:
    """The line that asks what fits the machine of a text."""
    names = [
        item.gpu.name for item in result.gpus if item.gpu.name and (item.capability or not item.gpu.name_truncated)
    ]
    driver = result.report.driver_version
    if result.source is None or driver is None or not names:
        return []
    words = " ".join(f"--gpu {quoted(name)}" for name in dict.fromkeys(names))
    platform = "" if result.platform is None else f" --platform {result.platform}"
    return ["", "What fits that machine:", f"envkit preflight --driver {driver} {words}{platform}"]


def quoted(name: str) -> str:
    """A name for a command line: in double quotes, which Windows' shells know as well, where that is safe."""
    return f'"{name}"' if re.fullmatch(r"[\w .:/()+-]+", name) else shlex.quote(name)


def _notes(result: GpuResult) -> list[str]:
    report, failure = result.report, result.failure
    notes = [_CUDA] if report.cuda_version is not None else []
    notes += [_CUT] if any(item.gpu.name_truncated for item in result.gpus) else []
    if report.status == "error":
        notes.append(f"No data: {report.error_kind}.")
    elif report.status == "partial":
        notes.append("Not all is there: what is cut off, unreadable or a placeholder is unknown.")
    if report.message is not None and report.status != "ok" and report.error_kind != "unknown-text":
        notes.append(f"It says: {report.message}")
    if failure is not None:
        notes += [f"Cause: {failure.cause}", f"Remedy: {failure.remedy}"]
    return notes
