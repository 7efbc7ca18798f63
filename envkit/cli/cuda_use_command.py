"""``envkit cuda use``."""

from __future__ import annotations

import sys

import click

from envkit.cli.options import NotesOnStderr

_SHELLS = ("sh", "bash", "zsh", "dash", "ksh", "fish", "tcsh", "csh", "xonsh", "powershell", "pwsh", "cmd")
"""Those of ``envkit.activation.user_shell``; not imported from there, since help has to be quick."""


@click.command("use")
@click.argument("toolkit", metavar="V|DIR|none")
@click.option(
    "--shell",
    type=click.Choice(_SHELLS),
    metavar="SH",
    help="Of this window: " + ", ".join(_SHELLS) + ". Default: of $SHELL.",
)
def command(toolkit: str, *, shell: str | None) -> int:
    """Print the line that switches this window to a toolkit; `none` gives back what was before.

    \b
    bash, zsh, sh:  eval "$(envkit cuda use 11.3 --shell bash)"
    fish:           envkit cuda use 11.3 --shell fish | source
    tcsh:           eval "`envkit cuda use 11.3 --shell tcsh`"
    xonsh:          execx($(envkit cuda use 11.3 --shell xonsh))
    PowerShell:     envkit cuda use 11.3 --shell powershell | Invoke-Expression
    cmd:            for /f "delims=" %L in ('envkit cuda use 11.3 --shell cmd') do @%L
    """  # noqa: D301 - click reads a backspace character
    from envkit.operations.cuda_use import use_toolkit  # noqa: PLC0415 - start-up counts

    click.echo(use_toolkit(toolkit, shell, NotesOnStderr(), is_shown=sys.stdout.isatty()), nl=False)
    return 0
