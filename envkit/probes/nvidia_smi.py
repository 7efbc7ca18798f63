"""What ``nvidia-smi`` says of this machine's driver and GPUs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from envkit import process
from envkit.errors import ProgramError
from envkit.model.driver import SmiReport
from envkit.model.smi_failures import MISMATCH, NOT_FOUND
from envkit.probes.nvidia_kernel import look_at_kernel
from envkit.probes.smi_csv import read_row
from envkit.probes.smi_failures import OF_ONE_GPU, Failure, find_failure, library_version
from envkit.probes.smi_text import parse_smi

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from envkit.model.driver import Gpu

TIMEOUT_S = 15.0
"""A driver without persistence needs some seconds to wake up eight GPUs."""

_FIELDS = ("index", "name", "driver_version", "memory.total", "compute_cap")
_REST = ("index", "memory.used", "mig.mode.current")
"""What the banner tells, too; asked for where that is missing, since each run takes its time."""


_MOST_LETTERS = 1 << 18
_WARNING = re.compile(r"warning\b", re.IGNORECASE)


class _Tool(NamedTuple):
    """One nvidia-smi, with the variables it is run with."""

    program: str
    environ: Mapping[str, str | None] | None

    def query(self, fields: Sequence[str]) -> process.CompletedProgram:
        return self.run(f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits")

    def run(self, *arguments: str) -> process.CompletedProgram:
        done = process.run([self.program, *arguments], timeout_s=TIMEOUT_S, env=self.environ, check=False)
        return replace(done, stdout=_beginning(done.stdout), stderr=_beginning(done.stderr))


def _beginning(text: str) -> str:
    """Whole lines of it; a sound tool writes far less."""
    if len(text) <= _MOST_LETTERS:
        return text
    return text[: text.rfind("\n", 0, _MOST_LETTERS) + 1 or _MOST_LETTERS]


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
    environ: Mapping[str, str | None] | None = None,
    *,
    beside: Sequence[str | Path] | None = None,
    root: Path = Path("/"),
) -> SmiReport:
    """Ask nvidia-smi for the driver version and the GPUs, and keep its banner.

    A failure is an answer, too; nothing is raised for it.

    Args:
        environ: changes to the environment variables, PATH among them; None removes.
        beside: folders to look in after PATH, see ``find_nvidia_smi``.
        root: below it lie the files that tell versions of kernel module and library; read where these differ.
    """
    program = find_nvidia_smi(process.clean_environment(environ).get("PATH", os.defpath), beside=beside)
    if program is None:
        return SmiReport("error", NOT_FOUND, "nvidia-smi was not found")
    tool = _Tool(program, environ)
    try:
        done, fields = _query(tool)
    except ProgramError as error:
        kind = "timeout" if isinstance(error.__cause__, subprocess.TimeoutExpired) else "failed"
        return SmiReport("error", kind, error.message, found_at=program)
    banner = _banner(tool)
    shown = parse_smi(f"{banner}\n") if banner else SmiReport("error")
    report = _report(done, fields, shown)
    if not report.gpus and shown.gpus:  # the tool does not know the query's fields
        report = shown
    if not report.gpus:
        report = _failed(done, banner, root)
    elif not any(gpu.memory_used_mib is not None for gpu in report.gpus):
        report = replace(report, gpus=_with_rest(tool, report.gpus))
    cuda = report.cuda_version or shown.cuda_version
    return replace(report, banner=banner, exit_status=done.returncode, found_at=program, cuda_version=cuda)


def _banner(tool: _Tool) -> str | None:
    try:
        return _text(tool.run())
    except ProgramError:
        return None


def _query(tool: _Tool) -> tuple[process.CompletedProgram, Sequence[str]]:
    """Run the query; again without compute_cap where the tool does not know that field."""
    for fields in (_FIELDS, _FIELDS[:-1]):
        done = tool.query(fields)
        if done.returncode == 0 or "compute_cap" not in _text(done):
            break
    return done, fields


def _text(done: process.CompletedProgram) -> str:
    return "\n".join(part for part in (done.stdout.rstrip(), done.stderr.rstrip()) if part).replace("\r\n", "\n")


def _report(done: process.CompletedProgram, fields: Sequence[str], shown: SmiReport) -> SmiReport:
    """What the rows of the query tell; memory in use and MIG are those that the banner shows of the same GPU."""
    rows = list(dict.fromkeys(" ".join(line.split()) for line in done.stdout.splitlines() if line.strip()))
    parsed = [read_row(row, fields) for row in rows]
    banner = {gpu.index: gpu for gpu in shown.gpus}
    gpus = tuple(_completed(gpu, banner.get(gpu.index)) for gpu, _ in filter(None, parsed))
    versions = [version for _, version in filter(None, parsed) if version is not None]
    driver = versions[0] if versions else shown.driver_version
    failure = find_failure(_text(done).split("\n"))
    strange = [row for row, gpu in zip(rows, parsed, strict=True) if gpu is None]
    is_whole = all(_WARNING.match(row) for row in strange) and driver is not None and all(gpu.name for gpu in gpus)
    beside = find_failure([*strange, *done.stderr.splitlines()])
    is_whole = is_whole and (beside is None or beside.kind not in OF_ONE_GPU)
    kind = failure.kind if failure is not None and not is_whole else None
    message = " ".join(strange) or (beside.message if beside is not None and not is_whole else None)
    return SmiReport("ok" if is_whole else "partial", kind, message, driver, gpus)


def _completed(gpu: Gpu, shown: Gpu | None) -> Gpu:
    """A GPU with what the banner alone was asked; the banner cuts long names."""
    stem = (shown.name or "").removesuffix("...").rstrip() if shown is not None else ""
    if shown is None or not (gpu.name or "").startswith(stem):
        return gpu
    return replace(gpu, memory_used_mib=shown.memory_used_mib, mig=shown.mig)


def _with_rest(tool: _Tool, gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
    """The GPUs with their memory in use and MIG mode, as far as the tool tells them in a query."""
    for fields in (_REST, _REST[:-1]):
        try:
            done = tool.query(fields)
        except ProgramError:
            return gpus
        if done.returncode == 0:
            break
    found = {gpu.index: gpu for gpu, _ in filter(None, (read_row(line, fields) for line in done.stdout.splitlines()))}
    return tuple(
        replace(gpu, memory_used_mib=found[gpu.index].memory_used_mib, mig=found[gpu.index].mig or gpu.mig)
        if gpu.index in found
        else gpu
        for gpu in gpus
    )


def _failed(done: process.CompletedProgram, banner: str | None, root: Path) -> SmiReport:
    said = _text(done)
    lines = f"{said}\n{banner or ''}\n".split("\n")
    failure = find_failure(lines) or Failure("failed", "")
    message = " ".join(said.split())[:300] or f"nvidia-smi said nothing and ended with exit status {done.returncode}"
    report = SmiReport("error", failure.kind, message)
    if failure.kind != MISMATCH:
        return report
    kernel, told = look_at_kernel(root), library_version(lines)
    on_disk = kernel.library_version or ""
    library = on_disk if on_disk.startswith(told or "") else told  # the tool prints two parts of it
    return replace(report, library_version=library or None, module_version=kernel.module_version)
