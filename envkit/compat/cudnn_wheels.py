"""Which wheels of the default index hold which cuDNN."""

from __future__ import annotations

from typing import Any

from envkit.compat.tables import cudnn_wheels_table, version_key
from envkit.model.locked import LockedPackage

_PROJECT = "nvidia-cudnn-cu"
_FIRST_WITH_ALL = 12
"""The first CUDA major of which wheels hold every cuDNN."""


def cudnn_wheel(asked: str, cuda_major: str, platform: str) -> LockedPackage | None:
    """The wheel of a cuDNN, the newest where several have that number; None where there is none.

    Args:
        asked: "8.9.7", or with NVIDIA's build number "8.9.7.29".
        cuda_major: of the toolkit, "12".
        platform: conda's name.
    """
    wanted = asked.split(".")
    rows = [row for row in _rows(cuda_major, platform) if row["version"].split(".")[: len(wanted)] == wanted]
    if not rows:
        return None
    row = max(rows, key=lambda row: version_key(row["version"]))
    return LockedPackage(row["project"], row["version"], row["file"], row["sha256"], row["size"])


def cudnn_versions(cuda_major: str, platform: str) -> tuple[str, ...]:
    """All cuDNN that wheels hold for a CUDA major, newest first: "9.10.2", ..."""
    short = {".".join(row["version"].split(".")[:3]) for row in _rows(cuda_major, platform)}
    return tuple(sorted(short, key=version_key, reverse=True))


def cudnn_majors(asked: str) -> tuple[str, ...]:
    """The CUDA majors for which wheels hold that cuDNN, on any platform: ("11", "12")."""
    wanted = asked.split(".")
    rows = [row for row in cudnn_wheels_table()["wheels"] if row["version"].split(".")[: len(wanted)] == wanted]
    return tuple(sorted({row["project"].removeprefix(_PROJECT) for row in rows}, key=int))


def may_be_an_archive(asked: str, cuda_major: str) -> bool:
    """Whether NVIDIA may have an archive of a cuDNN for a CUDA major of which there is no wheel here.

    The wheels of CUDA 12 and later begin with the first cuDNN for that major; older majors had archives before there
    were wheels: https://developer.nvidia.com/rdp/cudnn-archive
    """
    rows = [row for row in cudnn_wheels_table()["wheels"] if row["project"] == f"{_PROJECT}{cuda_major}"]
    known = sorted(version_key(row["version"])[:3] for row in rows)
    key = version_key(asked)[:3]
    if not known:
        return int(cuda_major) < _FIRST_WITH_ALL
    return key <= known[-1] and (int(cuda_major) < _FIRST_WITH_ALL or key >= known[0])


def _rows(cuda_major: str, platform: str) -> list[dict[str, Any]]:
    project = f"{_PROJECT}{cuda_major}"
    return [row for row in cudnn_wheels_table()["wheels"] if row["project"] == project and row["platform"] == platform]
