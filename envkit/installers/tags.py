"""Which files fit a platform that is not necessarily this one, and which of them fits best."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from packaging import tags as packaging_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

if TYPE_CHECKING:
    from collections.abc import Iterable

UV_PLATFORMS = {
    "linux-64": "x86_64-manylinux_2_28",
    "linux-aarch64": "aarch64-manylinux_2_28",
    "osx-64": "x86_64-apple-darwin",
    "osx-arm64": "aarch64-apple-darwin",
    "win-64": "x86_64-pc-windows-msvc",
}
"""uv's names. glibc 2.28 (2018) is what current PyTorch wheels need; a lock for it fits every newer Linux."""

_GLIBC = range(28, 4, -1)
_LEGACY = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
"""Older names of manylinux tags, by glibc's minor version (PEP 600)."""
_MACOS = (13, 0)
"""What uv takes for a macOS platform without a version."""


@functools.cache
def _ranks(platform: str, python: str) -> dict[packaging_tags.Tag, int]:
    """Tags of a platform and Python, the best as 0, in the order of pip and uv."""
    major, minor = (int(part) for part in python.split(".")[:2])
    platforms = _platform_tags(platform)
    abi = f"cp{major}{minor}{'m' if (major, minor) < (3, 8) else ''}"
    ordered = [
        *packaging_tags.cpython_tags((major, minor), abis=[abi], platforms=platforms),
        *packaging_tags.compatible_tags((major, minor), f"cp{major}{minor}", platforms),
    ]
    return {tag: rank for rank, tag in reversed(list(enumerate(ordered)))}


def _platform_tags(platform: str) -> list[str]:
    if platform == "win-64":
        return ["win_amd64"]
    if platform.startswith("osx"):
        return list(packaging_tags.mac_platforms(_MACOS, "arm64" if platform == "osx-arm64" else "x86_64"))
    machine = "aarch64" if platform == "linux-aarch64" else "x86_64"
    found = []
    for minor in _GLIBC:
        if machine == "aarch64" and minor < 17:  # noqa: PLR2004 - PEP 599: manylinux for aarch64 begins with 2.17
            break
        found.append(f"manylinux_2_{minor}_{machine}")
        if minor in _LEGACY:
            found.append(f"{_LEGACY[minor]}_{machine}")
    return [*found, f"linux_{machine}"]


def wheel_rank(file: str, platform: str, python: str) -> int | None:
    """How well a wheel fits, 0 best; None when it does not, or is no wheel."""
    try:
        file_tags = parse_wheel_filename(file)[3]
    except InvalidWheelFilename:
        return None
    ranks = _ranks(platform, python)
    return min((ranks[tag] for tag in file_tags if tag in ranks), default=None)


def best_wheel(files: Iterable[str], platform: str, python: str) -> str | None:
    """The wheel that pip and uv would take, or None when none fits; among equals the highest build number."""
    fitting = [(rank, file) for file in files if (rank := wheel_rank(file, platform, python)) is not None]
    if not fitting:
        return None
    best = min(rank for rank, _ in fitting)
    return max((file for rank, file in fitting if rank == best), key=lambda file: parse_wheel_filename(file)[2])
