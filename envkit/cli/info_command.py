"""``envkit info``."""

from __future__ import annotations

import click

from envkit.cli.options import env_argument, json_option
from envkit.cli.render import emit


@click.command("info")
@env_argument
@json_option
def command(env: str, *, as_json: bool) -> int:
    """Show one environment: what it was made from, its packages, toolkit and snapshots."""
    from envkit.cli.texts import info_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.inspect import info  # noqa: PLC0415

    result = info(env)
    return emit(result, lambda: info_lines(result), as_json=as_json)
