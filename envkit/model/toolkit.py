"""A CUDA toolkit folder on this machine, and where toolkits usually lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

RECORD = ".envkit/toolkit.yaml"
"""Where the record of a toolkit that envkit has installed lies in its folder."""

NAMED_BY_USER = ("added", "config.yaml")
"""What led to a toolkit that the user has named; it may be a part of an environment and is meant all the same."""


@dataclass(frozen=True, slots=True)
class Cudnn:
    """cuDNN in a toolkit's folder.

    Attributes:
        version: as its header says, "8.2.1"; None where no header tells.
        missing: what of ``bin`` (Windows only), ``include`` and ``lib`` has no part of it; empty: complete.
    """

    version: str | None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Toolkit:
    """A CUDA toolkit: compiler, headers, libraries. Not the driver, and not the CUDA runtime inside a torch wheel.

    Attributes:
        version: as full as known, ``11.3.1`` or only ``11.3``; None when the folder does not tell.
        release: major and minor, ``11.3``; None together with ``version``.
        path: the folder, normalised but not resolved: ``/usr/local/cuda-11.3`` even where that is a link.
        found_via: what led to it: ``CUDA_HOME``, ``/usr/local``, ``--toolkit``.
        has_nvcc: whether it can compile; a folder of the runtime libraries alone cannot.
        has_headers: whether ``cuda.h`` or ``cuda_runtime.h`` is there.
        cudnn: cuDNN in it, or None.
        environment: the conda prefix or virtual environment that it is a part of and goes with; None: of none.
    """

    version: str | None
    release: str | None
    path: Path
    found_via: str
    has_nvcc: bool
    has_headers: bool = True
    cudnn: Cudnn | None = None
    environment: Path | None = None

    @property
    def is_complete(self) -> bool:
        """Whether it has both the compiler and the headers."""
        return self.has_nvcc and self.has_headers

    @property
    def is_shared(self) -> bool:
        """Whether other environments may switch to it unasked: it does not go with one, or the user has named it."""
        return self.environment is None or self.found_via in NAMED_BY_USER

    def lacks(self) -> str:
        """What is missing, in words: "no nvcc", "no headers", "no nvcc, no headers"; empty when complete."""
        parts = (("nvcc", self.has_nvcc), ("headers", self.has_headers))
        return ", ".join(f"no {name}" for name, is_there in parts if not is_there)

    def to_json(self) -> dict[str, str | None]:
        """The facts that a record keeps and that ``--json`` shows."""
        return {"version": self.version, "release": self.release, "path": str(self.path)}

    def to_full_json(self) -> dict[str, Any]:
        """All facts, as the commands of ``envkit cuda`` show them."""
        return {
            **self.to_json(),
            "found_via": self.found_via,
            "has_nvcc": self.has_nvcc,
            "has_headers": self.has_headers,
            "cudnn": None if self.cudnn is None else self.cudnn.version,
            "cudnn_missing": None if self.cudnn is None else list(self.cudnn.missing),
            "environment": None if self.environment is None else str(self.environment),
        }


def means(asked: str, version: str) -> bool:
    """Whether a version is one that ``asked`` means: 11.3.1 is meant by 11.3.1, 11.3 and 11, but 11.30 is not."""
    wanted = asked.split(".")
    return version.split(".")[: len(wanted)] == wanted


def usual_folders(version: str | None, release: str | None) -> tuple[str, ...]:
    """Where a toolkit of that version usually lies on Linux, likeliest first; nothing for an unknown version.

    NVIDIA's packages and run files install to ``/usr/local/cuda-11.3``; clusters often use ``/opt``. A bare
    ``/usr/local/cuda`` is not among them: its version is anybody's guess.
    """
    names = dict.fromkeys(name for name in (release, version) if name is not None)
    return tuple(pattern + name for name in names for pattern in ("/usr/local/cuda-", "/opt/cuda-", "/opt/cuda/"))


def windows_folders(release: str | None) -> tuple[str, ...]:
    """Where NVIDIA's installer puts a toolkit of that release on Windows; nothing for an unknown one.

    Source: https://docs.nvidia.com/cuda/cuda-installation-guide-microsoft-windows/
    """
    return () if release is None else (rf"C:\Program Files\NVIDIA GPU Computing Toolkit\CUDA\v{release}",)
