"""``envkit specs``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from envkit.cli.options import json_option
from envkit.cli.render import emit

if TYPE_CHECKING:
    from envkit.operations.specs import SpecEntry


@dataclass(frozen=True, slots=True)
class _Specs:
    specs: tuple[SpecEntry, ...]

    def to_json(self) -> dict[str, Any]:
        return {"specs": [item.to_json() for item in self.specs]}


@click.command("specs")
@json_option
def command(*, as_json: bool) -> int:
    """Show the specs that ship with envkit: `envkit create NAME` makes the environment of one."""
    from envkit.cli.texts import specs_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.specs import list_specs  # noqa: PLC0415

    result = _Specs(list_specs())
    return emit(result, lambda: specs_lines(result.specs), as_json=as_json)
