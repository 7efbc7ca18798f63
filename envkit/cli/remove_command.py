"""``envkit remove``."""

from __future__ import annotations

import click

from envkit.cli.options import (
    break_lock_option,
    confirmer,
    env_argument,
    json_option,
    lock_timeout_option,
    progress,
    yes_option,
)
from envkit.cli.render import emit


@click.command("remove")
@env_argument
@yes_option
@lock_timeout_option
@break_lock_option
@json_option
def command(env: str, *, yes: bool, lock_timeout: float, break_lock: bool, as_json: bool) -> int:
    """Remove an environment; files that no package owns are shown first, and its snapshots stay."""
    from envkit.cli.texts import remove_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.remove import remove  # noqa: PLC0415

    with progress(steps=1) as shown:
        result = remove(
            env, confirm=confirmer(yes=yes), progress=shown, lock_timeout_s=lock_timeout, break_lock=break_lock
        )
    return emit(result, lambda: remove_lines(result), as_json=as_json)
