"""``envkit add``."""

from __future__ import annotations

import click

from envkit.cli.options import break_lock_option, env_argument, json_option, lock_timeout_option, progress
from envkit.cli.render import emit


@click.command("add")
@env_argument
@click.argument("requirements", metavar="REQUIREMENT...", nargs=-1)
@click.option(
    "-e", "--editable", "editables", multiple=True, metavar="DIR", help="A project's own folder; may be given again."
)
@click.option("--offline", is_flag=True, help="Use only what is on this disk.")
@lock_timeout_option
@break_lock_option
@json_option
def command(
    env: str,
    *,
    requirements: tuple[str, ...],
    editables: tuple[str, ...],
    offline: bool,
    lock_timeout: float,
    break_lock: bool,
    as_json: bool,
) -> int:
    """Add packages to an environment; what is locked in it stays as it is.

    They are written into the environment's own lock, so that `envkit restore` brings them back. All are added, or
    nothing is changed.
    """
    from envkit.cli.texts import add_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.add import add  # noqa: PLC0415

    with progress(steps=4 + len(editables)) as shown:
        result = add(
            env,
            requirements,
            editables=editables,
            offline=offline,
            progress=shown,
            lock_timeout_s=lock_timeout,
            break_lock=break_lock,
        )
    return emit(result, lambda: add_lines(result), as_json=as_json)
