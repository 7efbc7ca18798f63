"""Compute capability of a GPU by its name."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from envkit.compat.tables import gpus_table


@dataclass(frozen=True, slots=True)
class GpuFact:
    """What the table says of a name."""

    name: str
    capability: str
    known: str
    others: tuple[str, ...]


@functools.cache
def _by_name() -> dict[str, GpuFact]:
    return {
        row["name"].removeprefix("NVIDIA "): GpuFact(
            row["name"], row["cc"], row["cc_status"], tuple(row.get("cc_other", ()))
        )
        for row in gpus_table()["gpus"]
    }


def gpu_fact(name: str | None) -> GpuFact | None:
    """The fact of a name, with or without "NVIDIA " before it; None for one that is not in the table."""
    return None if name is None else _by_name().get(name.removeprefix("NVIDIA "))
