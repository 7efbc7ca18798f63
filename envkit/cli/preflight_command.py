"""``envkit preflight``."""

from __future__ import annotations

import click

from envkit.cli.options import json_option
from envkit.cli.render import emit


@click.command("preflight")
@click.argument("spec", metavar="[SPEC|FILE]", required=False)
@click.option("--driver", metavar="V", help="Driver version of another machine, as in 535.54.03.")
@click.option("--gpu", "gpus", multiple=True, metavar="NAME", help="Name of a GPU of that machine; may be repeated.")
@click.option("--platform", metavar="P", help="Platform of that machine, as in linux-64 or win-64.")
@click.option("--network", is_flag=True, help="Ask indexes and channels as well, and the proxies on the way.")
@click.option("--all", "is_whole", is_flag=True, help="Show the checks that are in order, too.")
@json_option
def command(
    spec: str | None,
    driver: str | None,
    gpus: tuple[str, ...],
    platform: str | None,
    *,
    network: bool,
    is_whole: bool,
    as_json: bool,
) -> int:
    """Say whether a spec, or what a lock holds, will work here, and if not, what will; change nothing.

    Without SPEC: what this machine has, and the newest build that fits it. With --driver, --gpu or --platform it
    answers for another machine, of which nothing else is known.
    """
    from envkit.cli.preflight_text import preflight_lines  # noqa: PLC0415 - start-up counts
    from envkit.cli.progress import PlainProgress  # noqa: PLC0415
    from envkit.operations.preflight import preflight  # noqa: PLC0415

    result = preflight(spec, PlainProgress(), driver=driver, gpus=gpus, platform=platform, network=network)
    return emit(result, lambda: preflight_lines(result, is_whole=is_whole), as_json=as_json, lines_tell_why=True)
