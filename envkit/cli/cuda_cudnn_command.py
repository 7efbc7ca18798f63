"""``envkit cuda cudnn``."""

from __future__ import annotations

import click

from envkit.cli.options import json_option, progress
from envkit.cli.render import emit


@click.command("cudnn")
@click.argument("what", metavar="V|ARCHIVE", required=False)
@click.option("--into", required=True, metavar="V|DIR", help="The toolkit: a release such as 11.3, or its folder.")
@click.option("--undo", is_flag=True, help="Take out exactly what was put, as far as it is unchanged.")
@json_option
def command(what: str | None, into: str, *, undo: bool, as_json: bool) -> int:
    """Put cuDNN into a CUDA toolkit: all of its files, or none.

    V is a version such as 8.9.7, which comes from PyPI; ARCHIVE is one that was downloaded from NVIDIA, or a wheel. A
    cuDNN that is there already is never overwritten, unless envkit itself has put it there. For a toolkit that you may
    not change the commands are printed that do it, and nothing is done.
    """
    if (what is None) != undo:
        raise click.UsageError("Name a version or an archive, or give --undo.")
    from envkit.cli.cuda_cudnn_text import cudnn_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.cudnn import put_cudnn, remove_cudnn  # noqa: PLC0415

    with progress(steps=2) as shown:
        result = remove_cudnn(into, shown) if what is None else put_cudnn(what, into, shown)
    return emit(result, lambda: cudnn_lines(result), as_json=as_json)
