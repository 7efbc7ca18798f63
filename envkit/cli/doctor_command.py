"""``envkit doctor``."""

from __future__ import annotations

import click

from envkit.cli.options import complete_env, json_option, progress
from envkit.cli.render import emit


@click.command("doctor")
@click.argument("env", required=False, shell_complete=complete_env)
@json_option
def command(env: str | None, *, as_json: bool) -> int:
    """Say what is wrong, why, and what to do about it; change nothing.

    With ENV: its state, its packages, each of their files by its hash, its hooks. Without: which environments are
    incomplete or broken. Exit status: 6 when something is broken, else 0.
    """
    from envkit.cli.doctor_text import doctor_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.doctor import doctor  # noqa: PLC0415

    with progress(steps=0 if env is None else 1) as shown:
        result = doctor(env, shown)
    return emit(result, lambda: doctor_lines(result), as_json=as_json)
