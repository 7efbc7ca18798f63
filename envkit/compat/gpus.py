"""Compute capability by the name of a GPU, after the matching rules of ``envkit/data/gpus.yaml``."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envkit import resources

if TYPE_CHECKING:
    from collections.abc import Iterable

_ROW = re.compile(r"^- \{name: (.+?), cc: ")
_MIG = re.compile(r"\s+MIG\s+\d+[cg]\..*$", re.IGNORECASE)
_PROFILE = re.compile(r"^(?:GRID |NVIDIA )?(\S.*?)-(?:\d{1,2}-)?\d{1,3}(?:ME)?[ABCQ](?:ME)?$")
"""A vGPU's name, "GRID T4-16Q" and, on a part of a MIG GPU, "NVIDIA A100-1-5C": board, profile.

https://docs.nvidia.com/vgpu/latest/grid-vgpu-user-guide/, "Virtual GPU Types for Supported GPUs"."""
_MEMORY = re.compile(r"[ -]\d{1,3} ?GB$", re.IGNORECASE)
_DOTS = re.compile(r"\s*(?:\.\.\.|\u2026)$")
_BRANDS = ("geforce gtx ", "geforce ", "quadro ", "tesla ", "grid ", "jetson ")
"""What people leave out of a name."""


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
        return _agreed(told, (line for key, line in _lines() if key.startswith(_key(stem))))
    exact = _exact(whole)
    if exact:
        row = min(exact, key=lambda item: item["cc_status"] != "confirmed")
        return GpuFact(row["name"], row["cc"], row["cc_status"], tuple(row.get("cc_other", ())))
    profile = _PROFILE.match(whole)
    if profile is not None:
        board = gpu_fact(profile[1])
        return None if board is None or board.others else GpuFact(told, board.capability, "unconfirmed", ())
    return _loose(told, _key(whole))


def _loose(told: str, key: str) -> GpuFact | None:
    """A name that is not in the table as it stands: without a brand, without what follows, or with a memory size."""
    geforce = [line for other, line in _lines() if other == f"geforce {key}"]
    if len(geforce) == 1:
        row = _row(geforce[0])
        return GpuFact(row["name"], row["cc"], row["cc_status"], tuple(row.get("cc_other", ())))
    if geforce:
        return _agreed(told, geforce)
    bare = _MEMORY.sub("", key)
    for wanted in dict.fromkeys((key, bare)):
        follows = re.compile(re.escape(wanted) + r"(?![a-z0-9])")
        found = [line for other, line in _lines() if any(follows.match(short) for short in (other, *_shortened(other)))]
        if found:
            return _agreed(told, found)
    return None


def _shortened(key: str) -> list[str]:
    return [key.removeprefix(brand) for brand in _BRANDS if key.startswith(brand)]


def _agreed(told: str, lines: Iterable[str]) -> GpuFact | None:
    rows = [_row(line) for line in lines]
    capabilities = {capability for row in rows for capability in (row["cc"], *row.get("cc_other", ()))}
    if len(capabilities) != 1:
        return None
    return GpuFact(rows[0]["name"] if len(rows) == 1 else told, capabilities.pop(), "derived", ())


def _exact(name: str) -> list[dict[str, Any]]:
    key = _key(name)
    return [_row(line) for other, line in _lines() if other == key]


def _key(name: str) -> str:
    return " ".join(name.split()).casefold().removeprefix("nvidia ")


@functools.cache
def _lines() -> tuple[tuple[str, str], ...]:
    """Each row's name for comparison, and its line: to read all of the table as YAML takes 0.1 s, and few are needed.

    That the table has a row per line, and what is found in it is what YAML finds, is tested.
    """
    text = resources.data_file("gpus.yaml").read_text(encoding="utf-8")
    return tuple((_key(found[1]), line) for line in text.splitlines() if (found := _ROW.match(line)))


@functools.cache
def _row(line: str) -> dict[str, Any]:
    import yaml  # noqa: PLC0415 - costs start-up time

    row: dict[str, Any] = yaml.safe_load(line)[0]
    return row
