"""Ways to install a CUDA toolkit, as commands that a person runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Route:
    """One way; none of them installs or changes the NVIDIA driver.

    Attributes:
        kind: ``envkit``, ``packages``, ``runfile``, ``runfile-user``, ``windows``, ``conda``; or ``default``, which
            makes a toolkit that is there the machine's default.
        title: for people.
        commands: in their order; empty when a name is not known.
        needs_root: whether some of them need administrator's rights.
        known: how well the names in them are known.
        source: where they are from, an address, or None.
        notes: what to know before running them.
    """

    kind: str
    title: str
    commands: tuple[str, ...]
    needs_root: bool
    known: str
    source: str | None = None
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The route as an object of ``routes`` in ``envkit cuda plan --json``."""
        return {
            "kind": self.kind,
            "title": self.title,
            "commands": list(self.commands),
            "needs_root": self.needs_root,
            "known": self.known,
            "source": self.source,
            "notes": list(self.notes),
        }
