"""``envkit run``."""

from __future__ import annotations

import click

from envkit.cli.options import NotesOnStderr, env_argument


@click.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@env_argument
@click.argument("words", nargs=-1, metavar="-- CMD...", type=click.UNPROCESSED)
def command(env: str, *, words: tuple[str, ...]) -> int:
    """Run a command in an environment, as if it were activated.

    The exit status is the command's own (128 + n when signal n ended it). envkit's own failures are 125 (no such
    environment), 126 (the command cannot be executed) and 127 (there is no such command).
    """
    from envkit.operations.run import run_command  # noqa: PLC0415 - start-up counts

    return run_command(env, words[1:] if words[:1] == ("--",) else words, NotesOnStderr())
