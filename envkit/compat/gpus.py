"""Compute capability by the name of a GPU, after the matching rules of ``envkit/data/gpus.yaml``."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import NamedTuple

from envkit.compat.tables import gpus_table

_MIG = re.compile(r"\s+MIG\s+\d+[cg]\..*$", re.IGNORECASE)
_PROFILE = re.compile(r"^(?:GRID |NVIDIA )?(\S.*?)-(?:\d{1,2}-)?\d{1,3}(?:ME)?[ABCQ](?:ME)?$")
"""A vGPU's name, "GRID T4-16Q" and, on a part of a MIG GPU, "NVIDIA A100-1-5C": board, profile.

https://docs.nvidia.com/vgpu/latest/grid-vgpu-user-guide/, "Virtual GPU Types for Supported GPUs"."""
_MEMORY = re.compile(r"[ -]\d{1,3} ?GB$", re.IGNORECASE)
_DOTS = re.compile(r"\s*(?:\.\.\.|\u2026)$")
_BRANDS = ("geforce gtx ", "geforce ", "quadro ", "tesla ", "grid ", "jetson ")
"""What people leave out of a name."""


class _Row(NamedTuple):
    """A row of the table, as far as it is needed here."""

    name: str
    capability: str
    status: str
    others: tuple[str, ...]

    @property
    def key(self) -> str:
        return _key(self.name)


@dataclass(frozen=True, slots=True)
class GpuFact:
    """What the table knows of a GPU by its name.

    Attributes:
        name: as the table has it; where several names fit, as it was given.
        capability: the compute capability, ``8.6``.
        known: how well: ``confirmed``; ``derived``: of the chip, or of all GPUs whose names fit; ``unconfirmed``;
            ``ambiguous``: several chips have that name, and ``capability`` is the newest one's.
        others: with ``ambiguous``: the other capabilities under that name.
    """

    name: str
    capability: str
    known: str
    others: tuple[str, ...]


@functools.lru_cache(maxsize=1024)
def gpu_fact(name: str | None) -> GpuFact | None:
    """The compute capability of a GPU by its name; None: the table does not know it, nothing is guessed.

    Args:
        name: as nvidia-smi or torch writes it, whole or cut ("GeForce RTX 208..."), with or without "NVIDIA", also of
            a MIG device or a vGPU; or as people write it ("RTX 4090").
    """
    told = " ".join((name or "").split())
    whole = _MIG.sub("", told).removesuffix(" (nvgpu)")
    if not re.search(r"\d", whole) and not _exact(whole):
        return None
    stem = _DOTS.sub("", whole)
    if stem != whole:
        return _agreed(told, [row for row in _rows() if row.key.startswith(_key(stem))])
    exact = _exact(whole)
    if exact:
        return _fact(min(exact, key=lambda row: row.status != "confirmed"))
    profile = _PROFILE.match(whole)
    if profile is not None:
        board = gpu_fact(profile[1])
        return None if board is None or board.others else GpuFact(told, board.capability, "unconfirmed", ())
    return _loose(told, _key(whole))


def capabilities() -> set[str]:
    """All compute capabilities in the table."""
    return {capability for row in _rows() for capability in (row.capability, *row.others)}


def near_names(name: str) -> tuple[str, ...]:
    """The names in the table that are written much like one that it does not have, the nearest first; at most three."""
    from difflib import get_close_matches  # noqa: PLC0415 - for names that are not known

    def bare(key: str) -> str:
        return re.sub(r"\b(?:geforce|nvidia)\b|\W", "", key)

    names = {bare(row.key): row.name for row in reversed(_rows())}
    return tuple(names[key] for key in get_close_matches(bare(_key(name)), names, n=3, cutoff=0.75))


def _loose(told: str, key: str) -> GpuFact | None:
    """A name that is not in the table as it stands: without a brand, without what follows, or with a memory size."""
    geforce = [row for row in _rows() if row.key == f"geforce {key}"]
    if geforce:
        return _fact(geforce[0]) if len(geforce) == 1 else _agreed(told, geforce)
    for wanted in dict.fromkeys((key, _MEMORY.sub("", key))):
        follows = re.compile(re.escape(wanted) + r"(?![a-z0-9])")
        found = [row for row in _rows() if any(follows.match(short) for short in (row.key, *_shortened(row.key)))]
        if found:
            return _agreed(told, found)
    return None


def _shortened(key: str) -> list[str]:
    return [key.removeprefix(brand) for brand in _BRANDS if key.startswith(brand)]


def _fact(row: _Row) -> GpuFact:
    return GpuFact(row.name, row.capability, row.status, row.others)


def _agreed(told: str, rows: list[_Row]) -> GpuFact | None:
    capabilities = {capability for row in rows for capability in (row.capability, *row.others)}
    if len(capabilities) != 1:
        return None
    return GpuFact(rows[0].name if len(rows) == 1 else told, capabilities.pop(), "derived", ())


def _exact(name: str) -> list[_Row]:
    return [row for row in _rows() if row.key == _key(name)]


def _key(name: str) -> str:
    return " ".join(name.split()).casefold().removeprefix("nvidia ")


@functools.cache
def _rows() -> tuple[_Row, ...]:
    return tuple(
        _Row(row["name"], row["cc"], row["cc_status"], tuple(row.get("cc_other", ()))) for row in gpus_table()["gpus"]
    )
