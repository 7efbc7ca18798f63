"""Editable projects: a user's own folder, from which an environment imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit import process
from envkit.errors import ProgramError
from envkit.installers.conda_meta import is_conda_prefix
from envkit.installers.indexes import for_uv, uv_default_arguments, uv_index_environment
from envkit.installers.uv import literal_dollars, uv_environment, uv_program
from envkit.installers.uv_settings import write_connection_settings
from envkit.scratch import scratch_folder

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.installers.indexes import PipConfig
    from envkit.model.progress import Progress

_TIMEOUT_S = 3600.0
"""A project may compile."""


def install_editable(python: Path, folder: Path, config: PipConfig, *, offline: bool, progress: Progress) -> None:
    """Install the project in ``folder`` into the environment of ``python``, without what it depends on.

    uv does it whichever engine the environment has; what the build itself needs comes from the user's default index, or
    from uv's cache where that has it.

    Raises:
        ProgramError: it cannot be built.
    """
    config = for_uv(config)
    with scratch_folder() as scratch:
        command: list[str | Path] = [uv_program(), "pip", "install", "--python", python, "--no-deps", "--reinstall"]
        command += [*write_connection_settings(scratch), *uv_default_arguments(config)]
        if is_conda_prefix(python.parent.parent):  # past envkit's own EXTERNALLY-MANAGED, for this process alone
            command.append("--break-system-packages")
        environment = uv_environment() | uv_index_environment(config) | literal_dollars(python.parent.parent)
        ends: list[str | Path] = ["--editable", folder]
        cached = process.run(
            [*command, "--offline", "--quiet", *ends],
            timeout_s=_TIMEOUT_S,
            env=environment,
            cwd=scratch,
            check=False,
        )
        if cached.returncode == 0:
            return
        try:
            if offline:
                raise process.failure(cached)
            process.run([*command, *ends], timeout_s=_TIMEOUT_S, env=environment, cwd=scratch, screen=progress.screen())
        except ProgramError as error:
            error.message = f"The project in {folder} could not be installed."
            error.hint = "What its build needs comes from your default index; does it build with `uv build`?"
            raise
