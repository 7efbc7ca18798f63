"""``envkit env``."""

from __future__ import annotations

import os

import click

from envkit.cli.options import NotesOnStderr, env_argument

_SHELLS = ("sh", "bash", "zsh", "dash", "ksh", "fish", "tcsh", "csh", "powershell", "pwsh", "cmd")
"""Those of ``envkit.activation.exports``; not imported from there, since help has to be quick."""


@click.command("env")
@env_argument
@click.option("--shell", type=click.Choice(_SHELLS), metavar="SH", help="Code of this shell. Default: of $SHELL.")
@click.option("--dotenv", "as_dotenv", is_flag=True, help="Lines of a .env file, as IDEs read it.")
def command(env: str, *, shell: str | None, as_dotenv: bool) -> int:
    """Print the variables of an active environment, for scripts and IDEs.

    \b
    eval "$(envkit env ENV --shell bash)"
    envkit env ENV --dotenv >.env
    """  # noqa: D301 - click reads a backspace character
    from envkit.operations.env_variables import environment_code  # noqa: PLC0415 - start-up counts

    text = environment_code(env, NotesOnStderr(), syntax=shell, as_dotenv=as_dotenv)
    click.echo(os.fsencode(text), nl=False)
    return 0
