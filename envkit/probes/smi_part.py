"""What one layout of nvidia-smi's output tells."""

from __future__ import annotations

import re
from typing import NamedTuple

from envkit.model.driver import DriverVersion, Gpu

_PLACEHOLDER = re.compile(
    r"\[?(?:N/A|ERR!|Not (?:Supported|Found|Available|Active)|Unknown(?: Error)?|Insufficient Permissions"
    r"|(?:Requested functionality has been )?deprecated.*|Function Not Found|GPU is lost.*|GPU requires reset"
    r"|Reset Required|No data|None)\]?",
    re.IGNORECASE,
)
_CUDA = re.compile(r"(\d{1,3}\.\d{1,3})(?![\w.])", re.ASCII)
_NUMBER = re.compile(r"\d{1,9}")
BUS_ID = r"[0-9A-Za-z*]{4,16}:[0-9A-Za-z*]{2}:[0-9A-Za-z*]{2}\.[0-9A-Za-z*]"
"""Of PCI; some people blot it out."""


class Part(NamedTuple):
    """The facts of one layout in a text.

    Attributes:
        gpus: in the text's order.
        driver_version: None where it is not stated.
        cuda_version: likewise.
        is_complete: nothing that belongs to the layout is missing, cut off, or a placeholder of an author.
        error_kind: what went wrong with one of the GPUs, a word of ``SmiReport.error_kind``.
    """

    gpus: tuple[Gpu, ...] = ()
    driver_version: DriverVersion | None = None
    cuda_version: str | None = None
    is_complete: bool = True
    error_kind: str | None = None


def is_placeholder(text: str) -> bool:
    """Whether the tool says that it has no value: N/A, ERR!, [Not Supported], ..."""
    return _PLACEHOLDER.fullmatch(text.strip()) is not None


def number_in(text: str | None) -> int | None:
    """A whole number of a size that a count can have; Python reads none of thousands of digits."""
    found = _NUMBER.fullmatch((text or "").strip())
    return None if found is None else int(found[0])


def mib_in(text: str | None) -> int | None:
    """A size in MiB."""
    return number_in((text or "").strip().removesuffix(" MiB"))


def driver_in(text: str) -> DriverVersion | None:
    """The version that a value begins with; None for a placeholder, of the tool or of an author (580.xx.xx)."""
    try:
        return DriverVersion.parse((text.split() or [""])[0])
    except ValueError:
        return None


def cuda_in(text: str) -> str | None:
    """The CUDA version that a value begins with."""
    found = _CUDA.match(text.strip())
    return None if found is None else found[1]


def name_in(text: str) -> str | None:
    """A GPU's name, or None for a placeholder."""
    name = " ".join(text.split())
    return name if name and not is_placeholder(name) else None


def is_cut_name(name: str | None) -> bool:
    """Whether the table had no room for the whole name."""
    return name is not None and name.endswith(("...", "\u2026"))


def without_repeats(gpus: list[Gpu]) -> tuple[Gpu, ...]:
    """Each index once, as it came first."""
    found: dict[int, Gpu] = {}
    for gpu in gpus:
        found.setdefault(gpu.index, gpu)
    return tuple(found.values())
