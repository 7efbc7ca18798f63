"""The C and C++ compiler that nvcc uses for the code that runs on the CPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class HostCompiler:
    """A gcc and its g++ of one major version, by the names that tell it.

    Attributes:
        cc: "gcc-10".
        cxx: "g++-10".
        folder: on PATH; holds both.
    """

    cc: str
    cxx: str
    folder: Path
