"""``envkit cuda list``."""

from __future__ import annotations

import click

from envkit.cli.options import json_option
from envkit.cli.render import emit


@click.command("list")
@json_option
def command(*, as_json: bool) -> int:
    """Show the CUDA toolkits on this machine, newest first: which is in force, and which the machine's default."""
    from envkit.cli.cuda_list_text import toolkit_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.toolkit_list import list_toolkits  # noqa: PLC0415

    result = list_toolkits()
    return emit(result, lambda: toolkit_lines(result), as_json=as_json)
