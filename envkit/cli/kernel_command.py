"""``envkit kernel``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from envkit.cli.options import NotesOnStderr, env_argument, json_option
from envkit.cli.render import emit

if TYPE_CHECKING:
    from envkit.operations.kernel import KernelResult


@click.command("kernel")
@env_argument
@click.option("--name", metavar="N", help="Name of the kernel, instead of the environment's.")
@click.option("--display-name", metavar="D", help="What Jupyter shows, instead of the environment's name.")
@click.option("--remove", "is_removal", is_flag=True, help="Take the kernel away; the environment stays.")
@json_option
def command(env: str, *, name: str | None, display_name: str | None, is_removal: bool, as_json: bool) -> int:
    """Make a Jupyter kernel for you that runs in an environment, activated, with its CUDA toolkit.

    The environment needs ipykernel: `envkit add ENV ipykernel`. Jupyter itself may be anywhere.
    """
    from envkit.operations.kernel import make_kernel, remove_kernel  # noqa: PLC0415 - start-up counts

    result = remove_kernel(env, name) if is_removal else make_kernel(env, name, display_name, NotesOnStderr())
    return emit(result, lambda: _lines(result), as_json=as_json)


def _lines(result: KernelResult) -> list[str]:
    if result.is_removed:
        return [f"Removed the kernel {result.name} in {result.path}."]
    return [f"Made the kernel {result.name} in {result.path}. Jupyter shows it as {result.display_name}."]
