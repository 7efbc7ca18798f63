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
        is_doubtful: whether a warning stands for what does not work as far as is known, on facts that may not refuse.
    """

    id: str
    status: Status
    found: str | None = None
    needed: str | None = None
    why: str | None = None
    hint: str | None = None
    source: str | None = None
    known: str | None = None
    is_doubtful: bool = False

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


@dataclass(frozen=True, slots=True)
class Card:
    """GPUs of one kind in a machine, as far as they matter to what runs on them.

    Attributes:
        name: as nvidia-smi shows it, or as the user wrote it; None where it is not known.
        capability: compute capability, "8.6"; None where it is not known.
        known: how well the capability is known; "confirmed" where the driver told it.
        others: capabilities of other chips that are sold under the same name.
        count: how many there are.
    """

    name: str | None
    capability: str | None
    known: str = "confirmed"
    others: tuple[str, ...] = ()
    count: int = 1

    @property
    def short(self) -> str:
        """For people: "2 x NVIDIA A40"."""
        return f"{f'{self.count} x ' if self.count > 1 else ''}{self.name or 'a GPU without a name'}"

    @property
    def title(self) -> str:
        """For people: "2 x NVIDIA A40, compute capability 8.6"."""
        told = "not known" if self.capability is None else " or ".join((self.capability, *self.others))
        return f"{self.short}, compute capability {told}"


def sum_of(checks: Iterable[FitCheck], deciding: Iterable[str]) -> bool | None:
    """Whether a machine fits: false by one failed check, None where a deciding one could not be judged.

    Args:
        checks: all of them.
        deciding: the ids of which one check at least must say that it works ("driver", "compute-capability").
    """
    found = list(checks)
    if any(check.status == "fail" for check in found):
        return False
    working = {
        check.id for check in found if check.status == "ok" or (check.status == "warn" and not check.is_doubtful)
    }
    return True if set(deciding) <= working else None
