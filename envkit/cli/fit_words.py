"""What a check means, in few words: for a column of a table, a verdict, a margin."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from envkit.model.fit import FitCheck

_WARNINGS = {
    "numpy": "numpy 2 may come, with which this torch exchanges no arrays",
    "cpu": "the processor has no AVX2",
    "memory": "there is little memory",
    "cache": "cache and environments are on two file systems",
    "disk": "the disk has little room",
}
_KNOWN = {
    "confirmed": "well known",
    "single": "known from one source",
    "derived": "derived",
    "unconfirmed": "not confirmed",
    "ambiguous": "several GPUs have that name",
}
_BY_PTX = " and newer by PTX"
_A_ROW = 3
"""So many entries are told by their ends."""


def few_words(check: FitCheck) -> str | None:
    """What a warning means; None where its paragraph has to be read."""
    if check.status != "warn":
        return None
    if check.id == "driver":
        toolkit = re.search(r"came with driver ([\d.]*\d)", check.why or "")
        return None if toolkit is None else f"driver older than the toolkit's {toolkit[1]}"
    if check.id in {"host-compiler", "toolkit"}:
        needed = (check.needed or "").partition(",")[0]
        return f"to compile something, {needed} is needed" if needed else None
    return _WARNINGS.get(check.id)


def reserve(checks: Sequence[FitCheck]) -> str:
    """The first of some checks that has something to say, in the first clause of its reason if need be."""
    for check in checks:
        words = few_words(check) or re.split(r"(?<=[.:;]) ", check.why or "")[0].rstrip(".:;")
        if words:
            return words
    return ""


def reserves(checks: Sequence[FitCheck]) -> str:
    """All warnings for a verdict; those without few words by their ids."""
    warned = [check for check in checks if check.status == "warn"]
    told = dict.fromkeys(words for check in warned if (words := few_words(check)) is not None)
    others = dict.fromkeys(check.id for check in warned if few_words(check) is None)
    return "; ".join([*told, *([f"see {', '.join(others)}"] if others else [])])


def known_words(check: FitCheck) -> str:
    """How well what is needed is known, and by what; empty where that is no question."""
    if check.source is None or check.known not in _KNOWN:
        return ""
    return f" ({_KNOWN[check.known]}: {check.source})"


def needed_words(check: FitCheck) -> str:
    """What is needed; of GPU code the ends of a row without gaps: "code for 3.7 to 8.6; PTX of 3.7"."""
    if check.id != "compute-capability" or check.needed is None:
        return check.needed or ""
    entries = check.needed.split(", ")
    ptx = [entry.removesuffix(_BY_PTX) for entry in entries if entry.endswith(_BY_PTX)]
    code = [entry for entry in entries if not entry.endswith(_BY_PTX)]
    if not all(re.fullmatch(r"\d+\.\d+", entry) for entry in (*code, *ptx)):
        return check.needed
    told = [f"code for {_row(code)}"] if code else []
    return "; ".join([*told, *([f"PTX of {', '.join(ptx)}"] if ptx else [])])


def _row(code: list[str]) -> str:
    """The ends of a row where every GPU between them has its code, else all of it."""
    from envkit.compat.gpus import capabilities  # noqa: PLC0415 - the table, which only this text needs

    pairs = sorted(_pair(entry) for entry in code)
    between = [pair for pair in map(_pair, capabilities()) if pairs[0] <= pair <= pairs[-1]]
    served = all(any(entry[0] == pair[0] and entry <= pair for entry in pairs) for pair in between)
    return f"{code[0]} to {code[-1]}" if served and len(code) >= _A_ROW else ", ".join(code)


def _pair(capability: str) -> tuple[int, int]:
    major, _, minor = capability.partition(".")
    return int(major), int(minor)
