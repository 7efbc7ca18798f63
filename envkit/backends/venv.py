"""Making virtual environments: by uv, or by virtualenv for the pip engine."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from envkit import process
from envkit.errors import ProgramError, UnfitMachineError
from envkit.installers.uv import UV_ENVIRONMENT, uv_program
from envkit.model.environment import python_of

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.backends.pythons import Interpreter

_TIMEOUT_S = 300.0


def make_venv(prefix: Path, interpreter: Interpreter, *, engine: str) -> Path:
    """Make a virtual environment in the missing or empty folder ``prefix``; gives its interpreter.

    The prompt is the folder's name, worked out at activation. A prompt of our own (``--prompt``) uv writes into its
    scripts unquoted, and a name such as ``$(...)`` would be executed (tried with uv 0.13.9).

    Raises:
        UnfitMachineError: virtualenv is not installed.
        ProgramError: uv or virtualenv failed.
    """
    if engine == "uv":
        process.run(
            [uv_program(), "venv", "--quiet", "--no-project", "--no-config", "--python", interpreter.path, prefix],
            timeout_s=_TIMEOUT_S,
            env=UV_ENVIRONMENT,
        )
        return python_of(prefix)
    unseeded = ("--no-seed", "--no-periodic-update")  # what goes in comes from the lock alone
    try:
        process.run(
            [sys.executable, "-m", "virtualenv", *unseeded, "--python", interpreter.path, prefix],
            timeout_s=_TIMEOUT_S,
        )
    except ProgramError as error:
        if "No module named virtualenv" in error.stderr:
            raise UnfitMachineError(
                "virtualenv is not installed beside envkit.", hint="Install it there, or use --engine uv."
            ) from error
        raise
    return python_of(prefix)
