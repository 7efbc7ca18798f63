"""``envkit export``."""

from __future__ import annotations

import click

from envkit.cli.options import complete_env, json_option, progress
from envkit.cli.render import emit


@click.command("export")
@click.argument("what", metavar="ENV[@SNAPSHOT]", shell_complete=complete_env)
@click.option(
    "--format",
    "format_name",
    required=True,
    type=click.Choice(["explicit", "environment.yml", "pixi.lock", "conda-lock.yml"]),
    help="Whose format.",
)
@click.option("-o", "--output", metavar="FILE", help="File to write; by default it is printed.")
@click.option("--platform", metavar="P", help="A platform of the lock, as linux-64; by default this machine's.")
@json_option
def command(what: str, *, format_name: str, output: str | None, platform: str | None, as_json: bool) -> int:
    """Write what an environment is locked to for another tool; what its format cannot hold is said.

    ENV@SNAPSHOT exports a snapshot's lock. `envkit create` and `envkit restore` take such files back.
    """
    from envkit.cli.texts import export_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.environments import prefix_from  # noqa: PLC0415 - start-up counts
    from envkit.operations.export import export  # noqa: PLC0415 - start-up counts

    with progress(steps=1) as shown:
        path = None if output is None else prefix_from(output)
        result = export(what, format_name, output=path, platform=platform, progress=shown)
        for lost in result.lost:
            shown.note(f"{format_name} cannot hold {lost}.")
    return emit(result, lambda: export_lines(result), as_json=as_json)
