"""``envkit list``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from envkit.cli.options import json_option
from envkit.cli.render import emit

if TYPE_CHECKING:
    from envkit.model.environment import Environment


@dataclass(frozen=True, slots=True)
class _Listing:
    environments: tuple[Environment, ...]

    def to_json(self) -> dict[str, Any]:
        return {"environments": [item.to_json() for item in self.environments]}


@click.command("list")
@json_option
def command(*, as_json: bool) -> int:
    """Show all environments, incomplete and broken ones too."""
    from envkit.cli.texts import list_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.environments import all_environments  # noqa: PLC0415

    listing = _Listing(all_environments())
    return emit(listing, lambda: list_lines(listing.environments), as_json=as_json)
