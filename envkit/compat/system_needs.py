"""What torch and its installers need of a system besides driver, card, Python and C library."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from envkit import resources

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class SystemFact:
    """A row of ``system_needs.yaml``.

    Attributes:
        known: how well it is known.
        source: the address, or the name, of the first source.
        values: what the row states, by its own keys.
    """

    known: str
    source: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def number(self, key: str) -> int:
        """A value that is a whole number."""
        return int(self.values[key])


@functools.cache
def system_fact(name: str) -> SystemFact:
    """The row of that name, "memory".

    Raises:
        KeyError: there is none.
    """
    table = resources.table("system_needs")
    row: dict[str, Any] = table["needs"][name]
    source = table["sources"][row["src"][0]]
    values = {key: value for key, value in row.items() if key not in {"status", "src"}}
    return SystemFact(row["status"], source.get("url") or source["name"], values)
