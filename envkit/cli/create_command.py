"""``envkit create``."""

from __future__ import annotations

from typing import Any

import click

from envkit.cli.options import complete_spec, create_options, progress, to_create_options
from envkit.cli.render import emit


@click.command("create")
@click.argument("name_or_file", metavar="NAME|FILE", shell_complete=complete_spec)
@create_options
def command(name_or_file: str, *, as_json: bool, **values: Any) -> int:  # noqa: ANN401 - click's values
    """Make an environment from a spec, verify it and take a snapshot.

    NAME is a spec that ships (see `envkit specs`), or torch==V, whose spec --cuda and --python then choose; FILE is a
    spec of your own, a lock file, or another tool's file: an @EXPLICIT list, environment.yml, conda-lock.yml,
    pixi.lock. The same environment again: "already there". Anything that fails leaves nothing behind.
    """
    from envkit.cli.texts import create_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.create import create  # noqa: PLC0415

    with progress(steps=7) as shown:
        result = create(name_or_file, to_create_options(values), shown)
    return emit(result, lambda: create_lines(result), as_json=as_json)
