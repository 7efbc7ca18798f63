"""What nvidia-smi says, here or in a text that somebody saved, with the compute capability of each GPU."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envkit.compat.gpus import gpu_fact
from envkit.errors import EnvkitError, InvalidFileError, NotFoundError, NotVerifiableError
from envkit.model.smi_failures import SmiFailure, explained
from envkit.probes.smi_bytes import texts_in
from envkit.probes.smi_text import parse_smi

if TYPE_CHECKING:
    from envkit.model.driver import Gpu, SmiReport

MAXIMUM_BYTES = 64 << 20
BY_THE_TOOL = "nvidia-smi"
UNKNOWN_TEXT = "unknown-text"
_SAVE = "Save the output with `nvidia-smi > FILE`, then `envkit gpu --from FILE`."
_OF_WINDOWS = re.compile(
    r"^\W*GPU  Name .*(?:TCC/WDDM|Driver-Model)|^\W*(?:Current|Pending)\s+: (?:WDDM|TCC|MCDM)\b", re.MULTILINE
)
"""Words of its table's head and of ``nvidia-smi -q`` that it prints on Windows alone."""
_GIVEN_OPEN = ("/dev/fd/", "/proc/self/fd/", "/dev/stdin")


@dataclass(frozen=True, slots=True)
class ListedGpu:
    """A GPU and its compute capability.

    Attributes:
        gpu: as nvidia-smi lists it.
        capability: as the tool tells it, or else the table by the GPU's name; None: not known, or not which of several.
        known: how: ``nvidia-smi``, or how well the table knows it; None where ``capability`` is.
        others: capabilities of which the GPU may have any, where several chips have its name.
    """

    gpu: Gpu
    capability: str | None
    known: str | None
    others: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """An object of ``gpus`` in ``envkit gpu --json``."""
        return self.gpu.to_json() | {"compute_capability": self.capability, "capability_known": self.known}


@dataclass(frozen=True, slots=True)
class GpuResult:
    """What is known of driver and GPUs.

    Attributes:
        report: what nvidia-smi said.
        gpus: those it listed, in its order.
        source: the file that was read, as the user named it; None: this machine was asked.
        platform: "win-64" where a text shows Windows' driver models, which Linux has not; None: not told.
    """

    report: SmiReport
    gpus: tuple[ListedGpu, ...]
    source: str | None
    platform: str | None = None

    @property
    def failure(self) -> SmiFailure | None:
        """What went wrong, for people."""
        return explained(self.report)

    @property
    def error(self) -> EnvkitError | None:
        """The failure that the command ends with: this machine gives no answer, or a text is not nvidia-smi's.

        A text of nvidia-smi is read, also where it tells of a failure.
        """
        if self.source is not None:
            return _no_output(self.source) if self.report.error_kind == UNKNOWN_TEXT else None
        if self.report.status != "error":
            return None
        failure = self.failure or SmiFailure("nvidia-smi gave no data.", "Run it by hand.")
        found = (
            f"nvidia-smi at {self.report.found_at} gives no data" if self.report.found_at else "nvidia-smi is not here"
        )
        return NotVerifiableError(
            f"{found} ({self.report.error_kind}).",
            why="\n".join(filter(None, (failure.cause, self.report.found_at and f"It says: {self.report.message}"))),
            hint=failure.remedy,
        )

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit gpu --json`` (docs/json.md)."""
        report = self.report
        return {
            "status": report.status,
            "error_kind": report.error_kind,
            "message": report.message,
            "driver_version": None if report.driver_version is None else str(report.driver_version),
            "cuda_version": report.cuda_version,
            "gpus": [item.to_json() for item in self.gpus],
            "library_version": report.library_version,
            "module_version": report.module_version,
            "found_at": report.found_at,
        }


def show_gpus(source: str | None = None) -> GpuResult:
    """Ask this machine's nvidia-smi, or read what it, or another machine's, has printed.

    Args:
        source: a file with that text; ``-`` is standard input; None: this machine.

    Raises:
        NotFoundError: there is no such file.
        InvalidFileError: it cannot be read, or holds no text.
    """
    report, platform = (_ask(), None) if source is None else _read(source)
    return GpuResult(report, tuple(_listed(gpu) for gpu in report.gpus), source, platform)


def _ask() -> SmiReport:
    from envkit.probes.nvidia_smi import query_gpus  # noqa: PLC0415 - not needed to read a text, and start-up counts

    return query_gpus()


def _listed(gpu: Gpu) -> ListedGpu:
    if gpu.compute_capability is not None:
        return ListedGpu(gpu, gpu.compute_capability, BY_THE_TOOL)
    fact = gpu_fact(gpu.name)
    if fact is None:
        return ListedGpu(gpu, None, None)
    if fact.others:
        return ListedGpu(gpu, None, None, (fact.capability, *fact.others))
    return ListedGpu(gpu, fact.capability, fact.known)


def _read(source: str) -> tuple[SmiReport, str | None]:
    reports = []
    for text in texts_in(_bytes_of(source, _shown(source))):
        reports.append(parse_smi(text))
        if reports[-1].error_kind != UNKNOWN_TEXT:
            return reports[-1], "win-64" if _OF_WINDOWS.search(text) else None
    if not reports:
        raise InvalidFileError(_shown(source), "it holds no text.", hint=_SAVE)
    return reports[0], None


def _no_output(source: str) -> InvalidFileError:
    return InvalidFileError(_shown(source), "it holds nothing that nvidia-smi prints.", hint=_SAVE)


def _shown(source: str) -> str:
    return "standard input" if source == "-" else source


def _bytes_of(source: str, shown: str) -> bytes:
    try:
        if source == "-":
            return sys.stdin.buffer.read(MAXIMUM_BYTES)
        path = Path(source)
        if not source.startswith(_GIVEN_OPEN) and path.exists() and not path.is_file() and not path.is_dir():
            raise InvalidFileError(shown, "this is a named pipe or a device, no file.")
        with path.open("rb") as file:
            return file.read(MAXIMUM_BYTES)
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {shown}.") from None
    except (OSError, ValueError) as error:
        raise InvalidFileError(shown, f"it cannot be read: {getattr(error, 'strerror', None) or error}.") from error
