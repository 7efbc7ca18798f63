"""Making virtual environments: by uv, or by virtualenv for the pip engine."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from envkit import process
from envkit.errors import ProgramError, UnfitMachineError
from envkit.installers.diagnose import storage_error
from envkit.installers.uv import uv_environment, uv_program
from envkit.model.environment import python_of
from envkit.scratch import scratch_folder

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.backends.pythons import Interpreter

_TIMEOUT_S = 300.0
_UV_OPTIONS = ("--quiet", "--no-project", "--no-config", "--allow-existing")
_APP_DATA = {"VIRTUALENV_APP_DATA", "VIRTUALENV_OVERRIDE_APP_DATA"}


def make_venv(prefix: Path, interpreter: Interpreter, *, engine: str) -> Path:
    """Make a virtual environment in the folder ``prefix``; what is in there stays. Gives its interpreter.

    The prompt is the folder's name, worked out at activation. A prompt of our own (``--prompt``) uv writes into its
    scripts unquoted, and a name such as ``$(...)`` would be executed (tried with uv 0.13.9).

    Raises:
        UnfitMachineError: virtualenv is not installed.
        StorageError: the disk is full or cannot be written.
        ProgramError: uv or virtualenv failed.
    """
    try:
        if engine == "uv":
            _by_uv(prefix, interpreter)
        else:
            _by_virtualenv(prefix, interpreter)
    except ProgramError as error:
        storage = storage_error(error)
        if storage is not None:
            raise storage from error
        if "No module named virtualenv" in error.stderr:
            raise UnfitMachineError(
                "virtualenv is not installed beside envkit.", hint="Install it there, or use --engine uv."
            ) from error
        raise
    return python_of(prefix)


def _by_uv(prefix: Path, interpreter: Interpreter) -> None:
    process.run(
        [uv_program(), "venv", *_UV_OPTIONS, "--python", interpreter.path, prefix],
        timeout_s=_TIMEOUT_S,
        env=uv_environment(),
    )


def _by_virtualenv(prefix: Path, interpreter: Interpreter) -> None:
    """Run virtualenv where no file can stand in for one of its modules: ``-m`` looks into the current folder first.

    ``-I`` would help as well, but hides a virtualenv that was installed with envkit by ``pip install --user``.
    """
    unseeded = ("--no-seed", "--no-periodic-update")  # what goes in comes from the lock alone
    with scratch_folder() as folder:
        settings = folder / "virtualenv.ini"
        settings.touch()
        process.run(
            [sys.executable, "-m", "virtualenv", *unseeded, "--python", interpreter.path, prefix],
            timeout_s=_TIMEOUT_S,
            env=virtualenv_environment(settings),
            cwd=folder,
        )


def virtualenv_environment(settings: Path) -> dict[str, str | None]:
    """Changes of variables under which virtualenv does what it is told.

    virtualenv takes every option from a variable ``VIRTUALENV_NAME`` and from the user's file; only where it keeps its
    data stays his choice.

    Args:
        settings: an empty file, read instead of the user's.
    """
    names = [name for name in os.environ if name.startswith("VIRTUALENV_") and name not in _APP_DATA]
    # the plugin for virtualenv (plugins/virtualenv.py) leaves alone what envkit itself makes
    return dict.fromkeys(names) | {"VIRTUALENV_CONFIG_FILE": str(settings), "VIRTUALENV_CUDA": "none"}
