"""Whether a machine fits what is to be run on it: single checks, their sum, and ways out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable

Status = Literal["ok", "warn", "fail", "unknown"]


@dataclass(frozen=True, slots=True)
class FitCheck:
    """One thing that was looked at.

    Attributes:
        id: "driver", "compute-capability", "python", "glibc", "disk", ...: a word of docs/preflight.md.
        status: "fail": it cannot work; "warn": it may not, or not all of it; "unknown": cannot be told here.
        found: what is there, for people; None: nothing, or not known.
        needed: for people; None where nothing in particular is.
        why: the reason for "fail", "warn" and "unknown".
        hint: what to do about it.
        source: where the fact comes from: an address, or a word for what was read ("the wheel's name").
        known: how well what is needed is known; None where that is no question.
    """

    id: str
    status: Status
    found: str | None = None
    needed: str | None = None
    why: str | None = None
    hint: str | None = None
    source: str | None = None
    known: str | None = None

    def to_json(self) -> dict[str, Any]:
        """An entry of ``checks`` (docs/json.md)."""
        return {
            "id": self.id,
            "status": self.status,
            "found": self.found,
            "needed": self.needed,
            "why": self.why,
            "hint": self.hint,
            "source": self.source,
            "known": self.known,
        }


@dataclass(frozen=True, slots=True)
class Route:
    """A way to something that works.

    Attributes:
        kind: "upgrade-driver" or "use-spec".
        spec: the name of a spec that ships; None for a driver.
        why: for people.
    """

    kind: Literal["upgrade-driver", "use-spec"]
    spec: str | None
    why: str

    def to_json(self) -> dict[str, Any]:
        """An entry of ``routes`` (docs/json.md)."""
        return {"kind": self.kind, "spec": self.spec, "why": self.why}


def sum_of(checks: Iterable[FitCheck], deciding: Iterable[str]) -> bool | None:
    """Whether a machine fits: false by one failed check, None where a deciding one could not be judged.

    Args:
        checks: all of them.
        deciding: the ids of those without which nothing can be said ("driver", "compute-capability").
    """
    found = list(checks)
    if any(check.status == "fail" for check in found):
        return False
    ids = set(deciding)
    return None if any(check.status == "unknown" and check.id in ids for check in found) else True
