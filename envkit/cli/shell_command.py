"""``envkit shell``."""

from __future__ import annotations

import click

from envkit.cli.options import NotesOnStderr, env_argument


@click.command("shell")
@env_argument
def command(env: str) -> int:
    """Start your shell ($SHELL) with an environment activated; leave it with `exit`."""
    from envkit.operations.run import run_shell  # noqa: PLC0415 - start-up counts

    return run_shell(env, NotesOnStderr())
