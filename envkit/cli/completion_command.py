"""``envkit completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> int:
    """Print the completion script of a shell.

    \b
    bash:  eval "$(envkit completion bash)"                in ~/.bashrc
    zsh:   eval "$(envkit completion zsh)"                 in ~/.zshrc, behind compinit
    fish:  envkit completion fish > ~/.config/fish/completions/envkit.fish
    """  # noqa: D301 - click reads a backspace character
    from envkit.cli.main import cli  # noqa: PLC0415 - main imports nothing of a command, and a command little of main

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"click has no completion for {shell}.")
    click.echo(kind(cli, {}, "envkit", "_ENVKIT_COMPLETE").source())
    return 0
