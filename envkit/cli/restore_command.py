"""``envkit restore``."""

from __future__ import annotations

from typing import Any

import click

from envkit.cli.options import complete_env, create_options, progress, to_create_options
from envkit.cli.render import emit


@click.command("restore")
@click.argument("what", metavar="FILE|ENV[@SNAPSHOT]", shell_complete=complete_env)
@create_options
def command(what: str, *, as_json: bool, **values: Any) -> int:  # noqa: ANN401 - click's values
    """Make the same environment again.

    FILE is a lock file, the folder of an exported snapshot, or another tool's file: @EXPLICIT, environment.yml,
    conda-lock.yml, pixi.lock. ENV is restored from its own lock, or, when it has been
    removed, from its newest snapshot. ENV@SNAPSHOT takes a certain one.
    """
    from envkit.cli.texts import create_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.restore import restore  # noqa: PLC0415

    with progress(steps=7) as shown:
        result = restore(what, to_create_options(values), shown)
    return emit(result, lambda: create_lines(result), as_json=as_json)
