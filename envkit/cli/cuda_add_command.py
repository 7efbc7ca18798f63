"""``envkit cuda add``."""

from __future__ import annotations

import click

from envkit.cli.options import json_option
from envkit.cli.render import emit


@click.command("add")
@click.argument("folder", metavar="DIR", type=click.Path())
@json_option
def command(folder: str, *, as_json: bool) -> int:
    """Tell envkit of the toolkit in DIR, which it does not find by itself."""
    from envkit.cli.cuda_list_text import added_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.toolkits import add_toolkit  # noqa: PLC0415

    result = add_toolkit(folder)
    return emit(result, lambda: added_lines(result), as_json=as_json)
