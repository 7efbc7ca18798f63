"""``envkit matrix``."""

from __future__ import annotations

from typing import Any

import click

from envkit.cli.options import json_option, machine_options
from envkit.cli.render import emit


@click.command("matrix")
@click.option("--torch", metavar="V", help="Only this torch: 1.12.1, 1.12 for all of 1.12, or 1.12.1+cu113.")
@click.option("--cuda", metavar="V", help="Only builds for this CUDA: 11.3, or cpu.")
@click.option("--python", metavar="V", help="Only what has files for this Python: 3.9.")
@click.option("--html", metavar="FILE", help="Write one page with a chooser, which works offline.")
@machine_options
@json_option
def command(html: str | None, *, as_json: bool, **asked: Any) -> int:  # noqa: ANN401 - click's values
    """Show which torch goes with which CUDA build, Python, system and installer, and what fits this machine.

    With --driver, --gpu or --platform another machine is judged. Nothing is asked of any server: the tables ship with
    envkit. The page of --html holds all of it, with what was asked for chosen.
    """
    from envkit.cli.matrix_text import matrix_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.environments import prefix_from  # noqa: PLC0415
    from envkit.operations.matrix import matrix  # noqa: PLC0415

    result = matrix(page=None if html is None else prefix_from(html), **asked)
    return emit(result, lambda: matrix_lines(result), as_json=as_json)
