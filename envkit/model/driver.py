"""NVIDIA driver versions, and what ``nvidia-smi`` says of a machine."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True, slots=True, order=True)
class DriverVersion:
    """The version of an NVIDIA driver, compared part by part: 418.87.01 < 450.80.02, 470.82 > 465.19.01.

    Not a CUDA version, and not the version that Windows' device manager shows (31.0.15.2727).

    Attributes:
        parts: the numbers, without zeros at the end: 470.82 and 470.82.00 are one version.
        text: as the driver writes it.
    """

    parts: tuple[int, ...]
    text: str = field(compare=False)

    @classmethod
    def parse(cls, text: str) -> DriverVersion:
        """Read a version of two to four numbers.

        Raises:
            ValueError: ``text`` is none: a placeholder, a word, a single number.
        """
        stripped = text.strip()
        if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9}){1,3}", stripped, re.ASCII) is None:
            raise ValueError(f"not a driver version: {text!r}")
        parts = [int(part) for part in stripped.split(".")]
        while parts[-1:] == [0]:
            parts.pop()
        return cls(tuple(parts), stripped)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as ``nvidia-smi`` lists it; None is not known.

    Attributes:
        index: nvidia-smi's number, which is not always CUDA's.
        name: the marketing name, as it was printed.
        memory_total_mib: MiB.
        compute_capability: such as ``8.6``, as the tool tells it; what a name tells is ``envkit.compat.gpus.gpu_fact``.
        memory_used_mib: MiB.
        mig: the MIG mode, ``Enabled`` or ``Disabled``; None also where the GPU has none.
        name_truncated: the tool's table had no room for the whole name, which ends in three dots.
    """

    index: int
    name: str | None
    memory_total_mib: int | None = None
    compute_capability: str | None = None
    memory_used_mib: int | None = None
    mig: str | None = None
    name_truncated: bool = False

    def to_json(self) -> dict[str, Any]:
        """An object of ``gpus`` in ``envkit gpu --json``."""
        return {
            "index": self.index,
            "name": self.name,
            "name_truncated": self.name_truncated,
            "memory_total_mib": self.memory_total_mib,
            "memory_used_mib": self.memory_used_mib,
            "mig": self.mig,
            "compute_capability": self.compute_capability,
        }


@dataclass(frozen=True, slots=True)
class SmiReport:
    """What ``nvidia-smi`` answered.

    Attributes:
        status: ``ok``; ``partial``: usable, but incomplete; ``error``: no data.
        error_kind: a word for the failure, those of the error catalogue (``command-not-found``, ``driver-not-loaded``,
            ``nvml-driver-library-mismatch``, ``no-devices``, ...), ``timeout``, or ``failed`` for an unknown one.
        message: what it said on failing, on one line, or what happened instead of an answer.
        driver_version: None when it did not tell.
        gpus: those it listed, in its order.
        banner: the text that plain ``nvidia-smi`` prints, on failure what it said; None when it was not found or run.
        exit_status: that of the query; None when it did not end by itself.
        found_at: the program that was run.
        cuda_version: the newest CUDA that the driver serves ("12.2"); not what is installed.
        library_version: with ``nvml-driver-library-mismatch``: that of NVIDIA's library, as far as it is told.
        module_version: likewise: that of the kernel module that is loaded.
    """

    status: Literal["ok", "partial", "error"]
    error_kind: str | None = None
    message: str | None = None
    driver_version: DriverVersion | None = None
    gpus: tuple[Gpu, ...] = ()
    banner: str | None = None
    exit_status: int | None = None
    found_at: str | None = None
    cuda_version: str | None = None
    library_version: str | None = None
    module_version: str | None = None

    @property
    def as_text(self) -> str:
        """What it said, for a record; where it failed, with the failure's word and the exit status."""
        said = self.banner or self.message or "nvidia-smi said nothing"
        if self.status != "error":
            return f"{said.rstrip()}\n"
        ended = "" if self.exit_status is None else f", exit status {self.exit_status}"
        return f"{said.rstrip()}\n[nvidia-smi gave no data: {self.error_kind}{ended}]\n"
