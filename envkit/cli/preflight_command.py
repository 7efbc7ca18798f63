"""``envkit preflight``."""

from __future__ import annotations

from typing import Any

import click

from envkit.cli.options import json_option, machine_options
from envkit.cli.render import emit


@click.command("preflight")
@click.argument("spec", metavar="[SPEC|FILE]", required=False)
@click.option("--cuda", metavar="V|auto", help="With torch==V: the build; auto, or nothing: the best that fits.")
@click.option("--python", metavar="V", help="Python, instead of the spec's.")
@machine_options
@click.option("--network", is_flag=True, help="Ask indexes and channels as well, and the proxies on the way.")
@click.option("--all", "is_whole", is_flag=True, help="Show the checks that are in order, too.")
@json_option
def command(spec: str | None, *, network: bool, is_whole: bool, as_json: bool, **asked: Any) -> int:  # noqa: ANN401 - click's values
    """Say whether a spec, or what a lock holds, will work here, and if not, what will; change nothing.

    SPEC is a name or torch==V, as for `envkit create`. Without SPEC: what this machine has, and the newest build that
    fits it. With --driver, --gpu or --platform it answers for another machine, of which nothing else is known.
    """
    from envkit.cli.preflight_text import preflight_lines  # noqa: PLC0415 - start-up counts
    from envkit.cli.progress import PlainProgress  # noqa: PLC0415
    from envkit.operations.preflight import preflight  # noqa: PLC0415

    result = preflight(spec, PlainProgress(), network=network, **asked)
    return emit(result, lambda: preflight_lines(result, is_whole=is_whole), as_json=as_json, lines_tell_why=True)
