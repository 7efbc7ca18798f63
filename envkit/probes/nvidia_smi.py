"""What ``nvidia-smi`` says of this machine's driver and GPUs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from types import MappingProxyType
from typing import TYPE_CHECKING

from envkit import process
from envkit.errors import ProgramError
from envkit.model.driver import DriverVersion, Gpu, SmiReport

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

TIMEOUT_S = 15.0
"""A driver without persistence needs some seconds to wake up eight GPUs."""

_FIELDS = ("index", "name", "driver_version", "memory.total", "compute_cap")

_FAILURES: Mapping[str, str] = MappingProxyType(
    {
        "nvml-driver-library-mismatch": r"Driver/library version mismatch",
        "driver-not-loaded": r"couldn't communicate with the NVIDIA driver|Driver Not Loaded",
        "no-devices": r"No devices were found",
        "gpu-lost": r"GPU is lost",
        "device-handle-unknown-error": r"Unable to determine the device handle.*Unknown Error",
        "insufficient-permissions": r"Insufficient Permissions",
    }
)
"""What nvidia-smi and https://docs.nvidia.com/deploy/nvml-api (nvmlErrorString) write, by the word for it."""


def find_nvidia_smi(path: str, *, beside: Sequence[str | Path] | None = None) -> str | None:
    """The nvidia-smi on ``path``, or else in a folder where drivers put it without adding it to PATH.

    Args:
        path: the value of PATH.
        beside: those folders; by default WSL's library folder and Windows' system folders.
    """
    folders = _usual_folders() if beside is None else beside
    places = [place for place in path.split(os.pathsep) if place]  # an empty one would be the working folder
    return shutil.which("nvidia-smi", path=os.pathsep.join([*places, *map(str, folders)]))


def _usual_folders(system: str = os.name) -> tuple[str, ...]:
    if system == "nt":
        windows, programs = (
            os.environ.get("SYSTEMROOT", r"C:\Windows"),
            os.environ.get("PROGRAMFILES", r"C:\Program Files"),
        )
        return (rf"{windows}\System32", rf"{programs}\NVIDIA Corporation\NVSMI")
    return ("/usr/lib/wsl/lib",)


def query_gpus(
    environ: Mapping[str, str | None] | None = None, *, beside: Sequence[str | Path] | None = None
) -> SmiReport:
    """Ask nvidia-smi for the driver version and the GPUs, and keep its banner.

    A failure is an answer, too; nothing is raised for it.

    Args:
        environ: changes to the environment variables, PATH among them; None removes.
        beside: folders to look in after PATH, see ``find_nvidia_smi``.
    """
    program = find_nvidia_smi(process.clean_environment(environ).get("PATH", os.defpath), beside=beside)
    if program is None:
        return SmiReport("error", "command-not-found", "nvidia-smi was not found")
    try:
        done, fields = _query(program, environ)
    except ProgramError as error:
        kind = "timeout" if isinstance(error.__cause__, subprocess.TimeoutExpired) else "failed"
        return SmiReport("error", kind, error.message, found_at=program)
    return _report(done, fields, banner=_banner(program, environ), found_at=program)


def _banner(program: str, environ: Mapping[str, str | None] | None) -> str | None:
    try:
        return _text(process.run([program], timeout_s=TIMEOUT_S, env=environ, check=False))
    except ProgramError:
        return None


def _query(program: str, environ: Mapping[str, str | None] | None) -> tuple[process.CompletedProgram, Sequence[str]]:
    """Run the query; again without compute_cap where the tool does not know that field."""
    for fields in (_FIELDS, _FIELDS[:-1]):
        command = [program, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
        done = process.run(command, timeout_s=TIMEOUT_S, env=environ, check=False)
        if done.returncode == 0 or "compute_cap" not in _text(done):
            break
    return done, fields


def _text(done: process.CompletedProgram) -> str:
    return "\n".join(part for part in (done.stdout.rstrip(), done.stderr.rstrip()) if part).replace("\r\n", "\n")


def _report(done: process.CompletedProgram, fields: Sequence[str], *, banner: str | None, found_at: str) -> SmiReport:
    rows = [" ".join(line.split()) for line in done.stdout.splitlines() if line.strip()]
    parsed = [_parse_row(row, fields) for row in rows]
    gpus = tuple(gpu for gpu, _ in filter(None, parsed))
    versions = [version for _, version in filter(None, parsed) if version is not None]
    said = _text(done)
    kind = next((kind for kind, text in _FAILURES.items() if re.search(text, said)), None)
    if not gpus:
        message = (
            " ".join(said.split())[:300] or f"nvidia-smi said nothing and ended with exit status {done.returncode}"
        )
        return SmiReport(
            "error", kind or "failed", message, banner=banner, exit_status=done.returncode, found_at=found_at
        )
    complete = None not in parsed and len(versions) == len(gpus) and all(gpu.name for gpu in gpus)
    strange = " ".join(row for row, gpu in zip(rows, parsed, strict=True) if gpu is None)
    return SmiReport(
        "ok" if complete else "partial",
        None if complete else kind,
        strange or None,
        versions[0] if versions else None,
        gpus,
        banner=banner,
        exit_status=done.returncode,
        found_at=found_at,
    )


def _parse_row(row: str, fields: Sequence[str]) -> tuple[Gpu, DriverVersion | None] | None:
    """One line of the answer; None for a line that is no row. A name may hold commas, the fields after it do not."""
    cells = [cell.strip() for cell in row.split(",")]
    behind = len(fields) - 2
    if len(cells) < len(fields) or not cells[0].isdecimal():
        return None
    name = ", ".join(cells[1:-behind])
    values = dict(zip(fields[2:], cells[-behind:], strict=True))
    try:
        version = DriverVersion.parse(values["driver_version"])
    except ValueError:
        version = None
    memory, capability = values["memory.total"], values.get("compute_cap", "")
    return (
        Gpu(
            int(cells[0]),
            name if name and not re.fullmatch(r"\[.*\]|N/A", name) else None,
            int(memory) if memory.isdecimal() else None,
            capability if re.fullmatch(r"[0-9]+\.[0-9]+", capability, re.ASCII) else None,
        ),
        version,
    )
