"""``envkit cuda install``."""

from __future__ import annotations

from typing import Literal

import click

from envkit.cli.options import json_option, progress
from envkit.cli.render import emit


@click.command("install")
@click.argument("what", metavar="V|FILE")
@click.option(
    "--from",
    "source",
    type=click.Choice(["pypi", "conda"]),
    help="Where from. Default: PyPI's wheels where there are any, else NVIDIA's conda channel.",
)
@click.option(
    "--with",
    "libraries",
    multiple=True,
    metavar="NAME",
    help="Also cublas, cufft, cupti, curand, cusolver, cusparse, nvjitlink or nvrtc; libraries: all of them, 1.2 GB.",
)
@click.option("--offline", is_flag=True, help="Use only what is on this disk.")
@click.option(
    "--wheelhouse", type=click.Path(), metavar="DIR", help="Folder with packages; a file there is used by its hash."
)
@json_option
def command(
    what: str,
    *,
    source: Literal["pypi", "conda"] | None,
    libraries: tuple[str, ...],
    offline: bool,
    wheelhouse: str | None,
    as_json: bool,
) -> int:
    """Install a CUDA toolkit into envkit's data folder, without root.

    V is a release (13.2: its newest update) or a full version (13.2.1); FILE is the record of a toolkit that was
    installed this way, DIR/.envkit/toolkit.yaml: the same files are installed again. 13.x comes from PyPI's wheels,
    11.3 to 12.9 from NVIDIA's conda channel. Libraries such as cuBLAS come when they are asked for.
    """
    from envkit.cli.cuda_install_text import install_lines  # noqa: PLC0415 - start-up counts
    from envkit.cli.options import wheelhouse_folder  # noqa: PLC0415
    from envkit.operations.cuda_install import install_toolkit  # noqa: PLC0415
    from envkit.operations.toolkit_choice import InstallOptions  # noqa: PLC0415

    options = InstallOptions(source, libraries, offline, wheelhouse_folder(wheelhouse))
    with progress(steps=6) as shown:
        result = install_toolkit(what, options, shown)
    return emit(result, lambda: install_lines(result), as_json=as_json)
