"""``envkit verify``."""

from __future__ import annotations

import click

from envkit.cli.options import env_argument, json_option, lock_timeout_option, progress
from envkit.cli.render import emit


@click.command("verify")
@env_argument
@click.option(
    "--level",
    type=click.Choice(["import", "device"]),
    default="device",
    help="import: it loads. device (default): it computes on the GPU, or on the CPU for a CPU build.",
)
@lock_timeout_option
@json_option
def command(env: str, *, level: str, lock_timeout: float, as_json: bool) -> int:
    """Prove that an environment computes, layer by layer: import, device, compute, memory.

    Success is written down as a snapshot. Exit status: 0 verified (or level import passed), 6 something is broken,
    10 it cannot be verified here (no GPU, or hidden).
    """
    from envkit.cli.texts import verify_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.verify import verify  # noqa: PLC0415

    with progress(steps=2) as shown:
        result = verify(
            env, level="import" if level == "import" else "device", progress=shown, lock_timeout_s=lock_timeout
        )
    return emit(result, lambda: verify_lines(result), as_json=as_json)
