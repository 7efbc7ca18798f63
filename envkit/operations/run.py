"""Run and shell: a command, or an interactive shell, in an activated environment."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from envkit import process
from envkit.activation.conda_switch import conda_switch, default_name, own_variables, shell_text
from envkit.errors import EnvkitError, ExitCode, UsageError
from envkit.installers.guard import constraint_entry, constraints_of
from envkit.model.environment import scripts_of
from envkit.operations.environments import usable_environment, word_for
from envkit.resources import hooks_dir

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from envkit.model.environment import Environment
    from envkit.model.progress import Progress

_ACTIVATE_AND_RUN = '. "$1" || exit 125; shift; exec "$@"'
_INTERACTIVE = ("bash", "zsh", "fish", "sh", "dash", "ksh", "mksh", "ash")
"""Shells that can be started with an environment activated."""
_CONDA_FOLDERS_ON_WINDOWS = ("Library/mingw-w64/bin", "Library/usr/bin", "Library/bin", "Scripts", "bin")
"""What conda puts into PATH there, behind the prefix (conda/activate.py, ``_get_path_dirs``, at commit 0f64223f)."""
_FORWARDED = tuple(
    getattr(signal, name)
    for name in ("SIGHUP", "SIGINT", "SIGQUIT", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGCONT", "SIGWINCH")
    if hasattr(signal, name)
)


class RunError(EnvkitError):
    """``envkit run`` itself failed; 125, so that it cannot be taken for the command's own status."""

    exit_code = ExitCode.RUN_ENVKIT


class NotExecutableError(EnvkitError):
    """The command is there and cannot be executed."""

    exit_code = ExitCode.RUN_NOT_EXECUTABLE


class CommandNotFoundError(EnvkitError):
    """There is no such command in the environment or on PATH."""

    exit_code = ExitCode.RUN_NOT_FOUND


def run_command(env: str, command: Sequence[str], progress: Progress) -> int:
    """Run a command in an environment as if it were activated; standard streams are the caller's.

    Returns:
        The command's own exit status; 128 + n when signal n ended it.

    Raises:
        RunError: there is no such environment, or it is not usable.
        NotExecutableError, CommandNotFoundError: the command could not be started.
    """
    try:
        environment = usable_environment(env, progress)
    except EnvkitError as error:
        raise RunError(error.message, why=error.why, hint=error.hint) from error
    if not command:
        raise RunError("There is no command to run.", hint=f"Write it behind two dashes: `envkit run {env} -- CMD`.")
    return _wait(*entering(environment, command))


def entering(environment: Environment, command: Sequence[str]) -> tuple[list[str], Mapping[str, str]]:
    """The command line that enters an environment and becomes ``command``, and the variables to start it with.

    Raises:
        RunError: its activation script is gone.
        NotExecutableError, CommandNotFoundError: the command could not be started there.
    """
    if os.name == "nt":
        _check_command(environment, command[0], os.environ.get("PATH", ""))
        return list(command), _activated_on_windows(environment)
    if environment.backend == "conda":
        return _entering_conda_prefix(environment, command), os.environ
    _check_command(environment, command[0], os.environ.get("PATH", ""))
    activate = scripts_of(environment.prefix) / "activate"
    if not activate.is_file():
        hint = f"Make the environment again: `envkit restore {word_for(environment)} --replace`."
        raise RunError(f"{activate} is gone, so the environment cannot be activated.", hint=hint)
    return ["/bin/sh", "-c", _ACTIVATE_AND_RUN, "envkit-run", str(activate), *command], _quiet_prompt()


def _entering_conda_prefix(environment: Environment, command: Sequence[str]) -> list[str]:
    """As ``conda run``, which takes bash where it can: the hooks of some packages are not for other shells."""
    switch = conda_switch(environment.prefix, os.environ)
    _check_command(environment, command[0], switch.variables["PATH"])
    exported = [f"{name}={value}" for name, value in switch.variables.items()]
    steps = [*map(str, switch.leave), "--", *exported, "--", *map(str, switch.enter), "--"]
    return [shutil.which("bash") or "/bin/sh", str(hooks_dir("run") / "conda.sh"), *steps, *command]


def _check_command(environment: Environment, program: str, path: str) -> None:
    own = [str(scripts_of(environment.prefix)), *([str(environment.prefix)] if os.name == "nt" else [])]
    path = os.pathsep.join([*own, *_toolkit_bin(environment), path])
    if shutil.which(program, path=path) is not None:
        return
    there = shutil.which(program, mode=os.F_OK, path=path)
    if there is None and "/" in program and Path(program).exists():
        there = program
    if there is not None:
        raise NotExecutableError(f"Cannot execute {there}.", why="It is a folder, or not marked as executable.")
    raise CommandNotFoundError(
        f"There is no command {program!r} in {environment.name} or on PATH.", hint="Write it as after activation."
    )


def _toolkit_bin(environment: Environment) -> list[str]:
    return [] if environment.toolkit is None else [str(environment.toolkit.path / "bin")]


def _activated_on_windows(environment: Environment) -> dict[str, str]:
    variables, prefix = dict(os.environ), environment.prefix
    if environment.backend == "conda":
        name = default_name(prefix)
        variables |= {"CONDA_PREFIX": str(prefix), "CONDA_DEFAULT_ENV": name, "CONDA_SHLVL": "1"} | own_variables(
            prefix
        )
        own = [str(prefix), *(str(prefix / folder) for folder in _CONDA_FOLDERS_ON_WINDOWS)]
        if environment.guard:
            variables["PYTHONNOUSERSITE"] = "1"
    else:
        variables["VIRTUAL_ENV"] = str(prefix)
        variables.pop("PYTHONHOME", None)
        own = [str(scripts_of(prefix))]
    variables["PATH"] = os.pathsep.join([*_toolkit_bin(environment), *own, variables.get("PATH", "")])
    if environment.toolkit is not None:
        variables["CUDA_HOME"] = variables["CUDA_PATH"] = str(environment.toolkit.path)
    constraints = constraints_of(prefix)
    if environment.guard and constraints.is_file():
        own_value = variables.get("UV_CONSTRAINT")
        entry = constraint_entry(constraints)
        variables["UV_CONSTRAINT"] = f"{own_value} {entry}" if own_value else entry
    return variables


def _quiet_prompt() -> dict[str, str]:
    """A command has no prompt: PS1 stays as it was."""
    return {**os.environ, "VIRTUAL_ENV_DISABLE_PROMPT": os.environ.get("VIRTUAL_ENV_DISABLE_PROMPT", "1")}


def _wait(command: list[str], variables: Mapping[str, str]) -> int:
    """Start a command in our own process group, hand signals on to it, and give its status as a shell would."""
    child = subprocess.Popen(command, env=dict(variables), preexec_fn=process.die_with_parent())  # noqa: PLW1509 - one thread

    def _hand_on(number: int, _frame: object) -> None:
        # A terminal sends Ctrl-C to the whole group, so the child has it already.
        if number != signal.SIGINT or not sys.stdin.isatty():
            with contextlib.suppress(ValueError):  # Windows knows few signals
                child.send_signal(number)

    previous = {number: signal.signal(number, _hand_on) for number in _FORWARDED}
    try:
        status = child.wait()
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return 128 - status if status < 0 else status


def run_shell(env: str, progress: Progress) -> int:
    """Start the user's own shell, interactive, with an environment activated; gives its exit status.

    Raises:
        EnvironmentStateError: the environment is not usable.
        NotFoundError: there is none.
        UsageError: ``SHELL`` is no shell that this can be done with.
    """
    environment = usable_environment(env, progress)
    if os.name == "nt":
        return _wait([os.environ.get("COMSPEC", "cmd.exe")], _activated_on_windows(environment))
    shell = os.environ.get("SHELL") or "/bin/sh"
    if Path(shell).name not in _INTERACTIVE or shutil.which(shell) is None:
        raise UsageError(
            f"`envkit shell` cannot start {shell}.",
            why=f"It serves {', '.join(_INTERACTIVE)}." if shutil.which(shell) else "There is no such program.",
            hint=f"Start another one: `SHELL=/bin/bash envkit shell {env}`.",
        )
    with tempfile.TemporaryDirectory(prefix="envkit-shell-") as folder:
        command, variables = _interactive(shell, environment, Path(folder))
        return _wait(command, {**os.environ, **variables})


def _interactive(shell: str, environment: Environment, folder: Path) -> tuple[list[str], dict[str, str]]:
    """The command and variables that start a shell which first reads the user's own files, then activates."""
    kind = Path(shell).name
    activate = _activation_script(environment, "fish" if kind == "fish" else "sh", folder)
    source = f". {shlex.quote(str(activate))}\n"
    if kind == "bash":
        rc = folder / "bashrc"
        rc.write_text(f"[ -f ~/.bashrc ] && . ~/.bashrc\n{source}", encoding="utf-8")
        return [shell, "--rcfile", str(rc), "-i"], {}
    if kind == "zsh":
        own = os.environ.get("ZDOTDIR") or str(Path.home())
        for name in (".zshenv", ".zprofile", ".zlogin"):
            text = f"[[ -f {shlex.quote(own)}/{name} ]] && . {shlex.quote(own)}/{name}\n"
            (folder / name).write_text(text, encoding="utf-8")
        back = f"ZDOTDIR={shlex.quote(own)}\n[[ -f $ZDOTDIR/.zshrc ]] && . $ZDOTDIR/.zshrc\n"
        (folder / ".zshrc").write_text(back + source, encoding="utf-8")
        return [shell, "-i"], {"ZDOTDIR": str(folder)}
    if kind == "fish":
        return [shell, "--init-command", 'source "$ENVKIT_ACTIVATE"; set -e ENVKIT_ACTIVATE'], {
            "ENVKIT_ACTIVATE": str(activate)
        }
    rc = folder / "shrc"
    rc.write_text(source, encoding="utf-8")
    return [shell, "-i"], {"ENV": str(rc)}


def _activation_script(environment: Environment, extension: str, folder: Path) -> Path:
    """What an interactive shell sources; a conda prefix has no script of its own, so one is made in ``folder``."""
    if environment.backend != "conda":
        return scripts_of(environment.prefix) / ("activate" if extension == "sh" else f"activate.{extension}")
    script = folder / f"activate.{extension}"
    script.write_bytes(shell_text(environment.prefix, extension))
    return script
