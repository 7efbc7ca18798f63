"""``envkit cuda remove``."""

from __future__ import annotations

import click

from envkit.cli.options import confirmer, json_option, progress, yes_option
from envkit.cli.render import emit


@click.command("remove")
@click.argument("toolkit", metavar="V|DIR")
@yes_option
@json_option
def command(toolkit: str, *, yes: bool, as_json: bool) -> int:
    """Remove a toolkit that `envkit cuda install` has installed, or forget a folder that was added.

    V is a release or a full version. Environments that switch to it are named, and then it wants --yes.
    """
    from envkit.cli.cuda_install_text import removal_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.cuda_remove import remove_toolkit  # noqa: PLC0415

    with progress(steps=1) as shown:
        result = remove_toolkit(toolkit, confirm=confirmer(yes=yes), progress=shown)
    return emit(result, lambda: removal_lines(result), as_json=as_json)
