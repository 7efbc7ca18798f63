"""What a check means, in few words: for a column of a table, or for a verdict."""

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
