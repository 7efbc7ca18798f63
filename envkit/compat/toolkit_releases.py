"""What the tables know of the CUDA toolkits that NVIDIA has released."""

from __future__ import annotations

import re

from envkit.compat.tables import toolkit_row, toolkit_rows, version_key


def releases() -> tuple[str, ...]:
    """All releases in the table, newest first: "13.5", ..., "9.2". There is no 12.7."""
    return tuple(sorted((row["toolkit"] for row in toolkit_rows()), key=version_key, reverse=True))


def architectures(release: str | None) -> tuple[int, ...]:
    """The compute capabilities that a release's nvcc makes code for, ascending: 75 for 7.5; empty where not known."""
    row = toolkit_row(release) if release is not None else None
    listed = (re.fullmatch(r"sm_(\d+)", name) for name in (row or {"sm": {"list": []}})["sm"]["list"])
    return tuple(sorted(int(match[1]) for match in listed if match))


def cudnn_used_with(release: str | None) -> tuple[str, ...]:
    """The cuDNN versions that torch was built with for a release, as far as each is known exactly: "8.2.1"."""
    row = toolkit_row(release) if release is not None else None
    listed = (row or {"cudnn": {"versions": []}})["cudnn"]["versions"]
    return tuple(version for version in listed if re.fullmatch(r"\d+\.\d+\.\d+", version))
