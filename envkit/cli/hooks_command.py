"""``envkit hooks``."""

from __future__ import annotations

import click

from envkit.cli.options import json_option, lock_timeout_option, prefix_argument, progress
from envkit.cli.render import emit


@click.group("hooks")
def command() -> None:
    """Show, write again and remove the hooks that switch the CUDA toolkit on activation."""


@command.command("install")
@prefix_argument
@click.option("--toolkit", metavar="V|DIR|none", help="Toolkit to switch to, instead of the one that the lock names.")
@lock_timeout_option
@json_option
def install(env: str, *, toolkit: str | None, lock_timeout: float, as_json: bool) -> int:
    """Write the hooks of an environment again: its toolkit has moved, another is wanted, or the guard is damaged.

    ENV may be any virtual or conda environment, too: its folder, or its name for conda. Without --toolkit it gets the
    toolkit of the CUDA that its torch is built for.
    """
    from envkit.cli.hooks_text import install_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.hooks import reinstall_hooks  # noqa: PLC0415

    with progress(steps=1) as shown:
        result = reinstall_hooks(env, toolkit, shown, lock_timeout_s=lock_timeout)
    return emit(result, lambda: install_lines(result), as_json=as_json)


@command.command("remove")
@prefix_argument
@lock_timeout_option
@json_option
def remove(env: str, *, lock_timeout: float, as_json: bool) -> int:
    """Take the hooks out of an environment; activating it then switches no toolkit.

    One that envkit did not make is afterwards what it was before, file by file.
    """
    from envkit.cli.hooks_text import removal_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.hooks import uninstall_hooks  # noqa: PLC0415

    with progress(steps=1) as shown:
        result = uninstall_hooks(env, shown, lock_timeout_s=lock_timeout)
    return emit(result, lambda: removal_lines(result), as_json=as_json)


@command.command("show")
@prefix_argument
@json_option
def show(env: str, *, as_json: bool) -> int:
    """Show the hooks of an environment: current, stale (another envkit wrote them) or missing."""
    from envkit.cli.hooks_text import show_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.hooks import show_hooks  # noqa: PLC0415

    result = show_hooks(env)
    return emit(result, lambda: show_lines(result), as_json=as_json)


@command.command("clean-all")
@click.option("--remove", "is_removal", is_flag=True, help="Take these hooks out again.")
@json_option
def clean_all(*, is_removal: bool, as_json: bool) -> int:
    """Give your other conda environments a hook that clears PATH after a switch from one of envkit's.

    Without it conda leaves the entry of the CUDA toolkit in PATH. Left alone are conda's own environment, frozen ones
    and those of other users.
    """
    from envkit.cli.hooks_text import cleanup_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.cleanup import add_cleanup, remove_cleanup  # noqa: PLC0415

    result = remove_cleanup() if is_removal else add_cleanup()
    return emit(result, lambda: cleanup_lines(result), as_json=as_json)
