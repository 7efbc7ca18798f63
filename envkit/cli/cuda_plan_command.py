"""``envkit cuda plan``."""

from __future__ import annotations

import click

from envkit.cli.options import json_option
from envkit.cli.render import emit


@click.command("plan")
@click.argument("version", metavar="V")
@click.option(
    "--system",
    metavar="S",
    help="For another system: ubuntu2204, debian12, rhel9, fedora, opensuse, wsl, windows, conda, or linux for the run "
    "file alone.",
)
@json_option
def command(version: str, system: str | None, *, as_json: bool) -> int:
    """Print the commands that install a CUDA toolkit on this system, and never the driver; run nothing.

    V is a release such as 11.3, or a full version. The output can be saved and pasted: all but commands is a comment.
    Each numbered way is complete by itself.
    """
    from envkit.cli.cuda_plan_text import plan_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.cuda_plan import plan  # noqa: PLC0415

    result = plan(version, system)
    return emit(result, lambda: plan_lines(result), as_json=as_json)
