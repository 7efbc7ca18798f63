"""``envkit verify``."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from envkit.cli.options import env_argument, json_option, lock_timeout_option, progress
from envkit.cli.render import emit

if TYPE_CHECKING:
    from envkit.model.report import Level


@click.command("verify")
@env_argument
@click.option(
    "--level",
    type=click.Choice(["import", "device", "full"]),
    default="device",
    help="import: it loads. device (default): it computes on the GPU, or on the CPU for a CPU build. "
    "full: and each file is what its package says.",
)
@lock_timeout_option
@json_option
def command(env: str, *, level: str, lock_timeout: float, as_json: bool) -> int:
    """Prove that an environment computes, layer by layer: import, device, compute, memory, at level full also files.

    Success is written down as a snapshot. Exit status: 0 verified (or level import passed), 6 something is broken,
    10 it cannot be verified here (no GPU, or hidden).
    """
    from envkit.cli.texts import verify_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.verify import verify  # noqa: PLC0415

    with progress(steps=3 if level == "full" else 2) as shown:
        result = verify(env, level=cast("Level", level), progress=shown, lock_timeout_s=lock_timeout)
    return emit(result, lambda: verify_lines(result), as_json=as_json)
