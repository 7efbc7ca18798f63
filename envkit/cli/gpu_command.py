"""``envkit gpu``."""

from __future__ import annotations

import click

from envkit.cli.options import json_option
from envkit.cli.render import emit


@click.command("gpu")
@click.option(
    "--from",
    "source",
    metavar="FILE",
    help="Read what nvidia-smi printed, here or elsewhere, in any of its forms; - is standard input.",
)
@json_option
def command(*, source: str | None, as_json: bool) -> int:
    """Show what nvidia-smi says: the driver, the newest CUDA that it serves, GPUs, memory."""
    from envkit.cli.gpu_text import gpu_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.gpu import show_gpus  # noqa: PLC0415

    result = show_gpus(source)
    return emit(result, lambda: gpu_lines(result), as_json=as_json)
