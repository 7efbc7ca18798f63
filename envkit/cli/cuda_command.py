"""``envkit cuda``: the table of its commands."""

from __future__ import annotations

import click

from envkit.cli.lazy_group import LazyGroup

COMMANDS = {
    "list": "Show the CUDA toolkits on this machine.",
    "add": "Tell envkit of a toolkit that it does not find by itself.",
    "use": "Print the code that switches this window to a toolkit.",
    "check": "Compile, link and run with a toolkit.",
    "plan": "Print the commands that install a toolkit, and never the driver.",
    "install": "Install a toolkit without root.",
    "remove": "Remove a toolkit that envkit has installed, or forget one that was added.",
    "cudnn": "Put cuDNN into a toolkit, or take it out again.",
}
"""Every command and its help line; its module is ``envkit.cli.cuda_NAME_command``."""
_MEANT = {"uninstall": "remove", "rm": "remove", "delete": "remove", "forget": "remove", "ls": "list", "switch": "use"}


@click.group("cuda", cls=LazyGroup, commands=COMMANDS, aliases=_MEANT, module="envkit.cli.cuda_{}_command")
def command() -> None:
    """Find, add, install, check and switch CUDA toolkits."""
