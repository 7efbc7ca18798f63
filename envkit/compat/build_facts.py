"""What a build of torch and its toolkit were made with: drivers of updates, cuDNN, the runtime's file, channels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from envkit.compat.releases import release_of
from envkit.compat.tables import MACHINES, MAY_REFUSE, build_label, is_candidate, toolkit_row, version_key

if TYPE_CHECKING:
    from collections.abc import Mapping

_FIRST_WITH_FIVE_DIGITS = 9


@dataclass(frozen=True, slots=True)
class CudnnBuild:
    """The cuDNN that a build of torch was compiled with.

    Attributes:
        version: "8.2.0.53".
        number: as ``torch.backends.cudnn.version()`` gives it, 8200.
        known: how well.
    """

    version: str
    number: int
    known: str


def cudnn_of(torch: str, cuda: str, platform: str) -> CudnnBuild | None:
    """The cuDNN of a build, or None where it is not known; what runs may be a later one of the same minor version."""
    release = release_of(torch)
    row = (
        {} if release is None else release.row["builds"].get(MACHINES.get(platform, ""), {}).get(build_label(cuda), {})
    )
    if not row.get("cudnn"):
        return None
    return CudnnBuild(row["cudnn"], cudnn_number(row["cudnn"]), row["cudnn_status"])


def cudnn_number(version: str) -> int:
    """8302 of "8.3.2.44"; 90100 of "9.1.0": https://docs.nvidia.com/deeplearning/cudnn/, ``CUDNN_VERSION``."""
    major, minor, patch = (int(part) for part in version.split(".")[:3])
    return major * (10000 if major >= _FIRST_WITH_FIVE_DIGITS else 1000) + minor * 100 + patch


def toolkit_drivers(release: str, platform: str) -> Mapping[str, str]:
    """The driver that each update of a toolkit was released with, without release candidates: "11.3.1", 465.19.01."""
    system = "windows" if platform == "win-64" else "linux"
    row = toolkit_row(release)
    return {
        part.split()[0]: update[f"driver_{system}"]
        for update in (row or {"updates": []})["updates"]
        if update.get(f"driver_{system}") and update["driver_status"] in MAY_REFUSE and not is_candidate(update)
        for part in update["update"].split(" / ")
    }


def cudart_file(release: str, platform: str) -> str | None:
    """The name of the CUDA runtime's library in a release, or None where not known."""
    row = toolkit_row(release)
    files = {} if row is None else row.get("runtime_files") or {}
    name = files.get("cudart_dll" if platform == "win-64" else "libcudart")
    return None if name is None else str(name)


def conda_channels(torch: str, cuda: str, platform: str) -> tuple[str, ...]:
    """The channels, the most important first, that have a build for conda; empty where it is not the one to take."""
    release = release_of(torch)
    conda = {} if release is None else release.row.get("conda") or {}
    wanted = [f"{name}={cuda}" for name in ("cudatoolkit", "pytorch-cuda")]
    for entry in conda.get("entries", ()):
        is_it = entry["spec"] in wanted and conda.get("prefer", entry["spec"]) == entry["spec"]
        if is_it and MACHINES.get(platform) in entry["platforms"]:
            return tuple(entry["channels"])
    return ()


def lowest_cuda(torch: str, platform: str) -> str | None:
    """The oldest CUDA that a release was published for, or None."""
    release = release_of(torch)
    cudas = [] if release is None else [build.cuda for build in release.builds(platform) if build.cuda is not None]
    return min(cudas, key=version_key, default=None)
