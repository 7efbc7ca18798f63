"""``envkit cuda check``."""

from __future__ import annotations

import click

from envkit.cli.options import json_option, progress
from envkit.cli.render import emit


@click.command("check")
@click.argument("toolkit", metavar="V|DIR")
@json_option
def command(toolkit: str, *, as_json: bool) -> int:
    """Compile, link and run a small program with a toolkit; change nothing.

    V|DIR is a release such as 11.3, or a toolkit's folder. Exit status: 0 it compiles and links, and computes on the
    GPU where there is one (without a GPU those steps are skipped, and said to be); 6 something does not work.
    """
    from envkit.cli.cuda_check_text import check_lines  # noqa: PLC0415 - start-up counts
    from envkit.model.toolkit_report import STEPS  # noqa: PLC0415
    from envkit.operations.toolkit_check import check  # noqa: PLC0415

    with progress(steps=len(STEPS)) as shown:
        result = check(toolkit, shown)
    return emit(result, lambda: check_lines(result.report), as_json=as_json)
