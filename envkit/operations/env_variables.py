"""Env: the variables of an active environment, for programs that cannot activate one."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING

from envkit import process
from envkit.activation.exports import SHELL_NAMES, dotenv, exports
from envkit.activation.user_shell import user_shell
from envkit.errors import UsageError
from envkit.operations.environments import EnvironmentStateError, usable_environment
from envkit.operations.run import RunError, entering
from envkit.scratch import scratch_folder

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.environment import Environment
    from envkit.model.progress import Progress

_TIMEOUT_S = 60.0
_DUMP = "import os, sys; open(sys.argv[1], 'wb').write(b'\\0'.join(k + b'=' + v for k, v in os.environb.items()))"
_LEFT_OUT = re.compile(
    r"_ENVKIT_|_OLD_VIRTUAL_|__CONDA_SHLVL_|(?:_|SHLVL|PWD|OLDPWD|PS1|CONDA_PROMPT_MODIFIER|VIRTUAL_ENV_PROMPT|VIRTUAL_ENV_DISABLE_PROMPT)$"
)
"""What a shell changes by itself, its prompt, and notes by which `deactivate` puts things back: whoever sets variables
has no `deactivate`, and a later activation in his shell would take these notes for its own."""
_ALWAYS = (
    "PATH",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "CUDA_HOME",
    "CUDA_PATH",
    "LD_LIBRARY_PATH",
    "CC",
    "CXX",
    "CUDAHOSTCXX",
    "UV_CONSTRAINT",
    "PYTHONNOUSERSITE",
)
"""What is told in a shell too where that very environment is active, so that nothing differs."""


def environment_code(env: str, progress: Progress, *, syntax: str | None = None, as_dotenv: bool = False) -> str:
    """The variables of an active environment as text.

    Args:
        env: name or path.
        progress: told what hooks say, and which variables a ``.env`` file cannot unset.
        syntax: name of the shell that is to evaluate it; None: the user's own.
        as_dotenv: lines of a ``.env`` file instead.

    Raises:
        NotFoundError: there is no such environment.
        EnvironmentStateError: it cannot be activated.
        UsageError: both forms are asked for, or a value cannot be written in the form.
    """
    if syntax is not None and as_dotenv:
        raise UsageError("--shell and --dotenv are two forms of the same.", hint="Choose one.")
    told, unset = changed_variables(usable_environment(env, progress), progress)
    if not as_dotenv:
        return exports(syntax or user_shell(SHELL_NAMES) or "sh", told, unset)
    if unset:
        progress.note(f"A .env file cannot unset what the environment unsets: {', '.join(unset)}.")
    return dotenv(told)


def changed_variables(environment: Environment, progress: Progress) -> tuple[dict[str, str], tuple[str, ...]]:
    """What an active environment changes of this process's variables: what it sets, and the names that it unsets.

    Raises:
        EnvironmentStateError: it cannot be activated.
    """
    before = dict(os.environ)
    after = {name: value for name, value in _entered(environment, progress).items() if not _LEFT_OUT.match(name)}
    unset = tuple(name for name in before if name not in after and not _LEFT_OUT.match(name))
    is_active = str(environment.prefix) in {before.get("VIRTUAL_ENV"), before.get("CONDA_PREFIX")}
    changed = {
        name: value for name, value in after.items() if before.get(name) != value or (is_active and name in _ALWAYS)
    }
    return changed, unset


def _entered(environment: Environment, progress: Progress) -> dict[str, str]:
    """All variables of a process in the environment, by entering it as ``envkit run`` does."""
    with scratch_folder() as folder:
        file = folder / "variables"
        try:
            command, variables = entering(environment, [sys.executable, "-I", "-S", "-c", _DUMP, str(file)])
        except RunError as error:
            raise EnvironmentStateError(error.message, why=error.why, hint=error.hint) from error
        if os.name == "nt":  # nothing is run to enter it
            return dict(variables)
        done = process.run(command, timeout_s=_TIMEOUT_S, env=variables)
        for line in done.stderr.splitlines():
            progress.note(line.removeprefix("envkit: "))
        return _read(file)


def _read(file: Path) -> dict[str, str]:
    pairs = (entry.partition(b"=") for entry in file.read_bytes().split(b"\0") if entry)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}
