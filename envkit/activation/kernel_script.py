"""The script that starts a Jupyter kernel in an environment: it activates it, then becomes the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.activation.conda_switch import default_name, own_variables
from envkit.activation.quoting import quote_posix
from envkit.activation.render import render
from envkit.resources import hooks_dir

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.activation.slots import Slot


def kernel_script(prefix: Path, *, slot: Slot, activate: Path, python: Path) -> bytes:
    """POSIX sh for ``sh start.sh -f CONNECTION-FILE``.

    Args:
        prefix: the environment's folder.
        slot: what kind it is; a conda prefix has no activation script of its own.
        activate: the activation script of a virtual environment.
        python: its interpreter.
    """
    if slot == "VENV":
        values: dict[str, tuple[str, ...]] = {"ACTIVATE": (str(activate),), "PYTHON": (str(python),)}
        template = "kernel.sh"
    else:
        name = default_name(prefix)
        variables = tuple(f"{key}={value}" for key, value in own_variables(prefix).items())
        values = {"PREFIX": (str(prefix),), "NAME": (name,), "PROMPT": (f"({name}) ",), "VARIABLES": variables}
        template = "kernel-conda.sh"
    return render((hooks_dir("run") / template).read_bytes(), identifiers={}, values=values, quote=quote_posix)
