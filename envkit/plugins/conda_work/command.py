"""The command ``envkit``: where it is, to become it, and to ask it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SETTING = "envkit_command"
"""Name of conda's setting: ``plugins: {envkit_command: PATH}`` in .condarc, CONDA_PLUGINS_ENVKIT_COMMAND."""
NOT_FOUND = 127
"""Exit status when there is no such command, as shells have it."""
_WINDOWS = os.name == "nt"
_GRACE_S = 3.0
"""How long a command that is stopped may clean up."""


class NoEnvkitError(Exception):
    """There is no ``envkit`` command, or it gives no answer. The text says which, and what to do."""


def find_envkit(setting: str, environment_folders: Iterable[str] = ()) -> str:
    """The path of the ``envkit`` command.

    In this order: the setting, the environment that runs conda, PATH, where pipx and uv put commands, a conda
    environment that is called envkit.

    Args:
        setting: value of the setting; empty where it is not set.
        environment_folders: conda's ``envs_dirs``.

    Raises:
        NoEnvkitError: there is none, or the setting names something else.
    """
    if setting:
        found = shutil.which(str(Path(setting).expanduser()))
        if found is None:
            raise NoEnvkitError(
                f"conda's setting plugins.{SETTING} names {setting}, which is no program.\n"
                "`conda config --show-sources` tells where it is set."
            )
        return found
    before, after = [_programs_of(Path(sys.prefix))], _usual_folders(environment_folders)
    for path in (os.pathsep.join(before), None, os.pathsep.join(after)):
        found = shutil.which("envkit", path=path)
        if found is not None:
            return found
    raise NoEnvkitError(
        "The command envkit is not found: not beside conda, not on PATH, not in ~/.local/bin.\n"
        "Install it in an environment of its own, not in base, or name its place: "
        f"`conda config --set plugins.{SETTING} PATH`."
    )


def become(command: str, arguments: Sequence[str]) -> int:
    """Run the command in the place of this process: terminal, signals and exit status are its own.

    Returns:
        Its exit status, on Windows; elsewhere this does not return.

    Raises:
        NoEnvkitError: it cannot be started.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    argv = [command, *arguments]
    try:
        if not _WINDOWS:
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and programs inherit that
            os.execv(command, argv)  # noqa: S606 - an argument list, no shell
        return _wait_for(argv)
    except OSError as error:
        raise NoEnvkitError(f"{command} cannot be started: {error.strerror}.") from error


def _wait_for(argv: Sequence[str]) -> int:
    with subprocess.Popen(argv) as process:
        while process.returncode is None:
            with suppress(KeyboardInterrupt):  # Ctrl-C reaches the command as well, which ends in its own way
                process.wait()
    return process.returncode


def ask(command: str, arguments: Sequence[str], *, timeout_s: float) -> dict[str, Any]:
    """The object that ``envkit ... --json`` answers; also a failure is one.

    Raises:
        NoEnvkitError: it does not start, says nothing within the time, or something else.
    """
    shown = " ".join(["envkit", *arguments[:1]])
    try:
        output = _output([command, *arguments, "--json"], timeout_s)
        answer = json.loads(output)
    except subprocess.TimeoutExpired as error:
        raise NoEnvkitError(f"`{shown}` gave no answer within {timeout_s:g} seconds and was stopped.") from error
    except OSError as error:
        raise NoEnvkitError(f"{command} cannot be started: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise NoEnvkitError(f"`{shown}` gave an answer that is no JSON ({command}).") from error
    if not isinstance(answer, dict) or not isinstance(answer.get("ok"), bool):
        raise NoEnvkitError(f"{command} gave an answer that is not envkit's.")
    return answer


def _output(argv: Sequence[str], timeout_s: float) -> str:
    """What a program writes; it and all that it started are stopped at the time limit and at Ctrl-C."""
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        errors="replace",
        start_new_session=not _WINDOWS,
    ) as process:
        try:
            return process.communicate(timeout=timeout_s)[0]
        except BaseException:
            _stop(process)
            raise


def _stop(process: subprocess.Popen[str]) -> None:
    if _WINDOWS:
        process.kill()
    else:
        with suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(timeout=_GRACE_S)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.stdout is not None:
        process.stdout.close()  # nobody reads what is left; a child that got away may hold the other end


def _programs_of(prefix: Path) -> str:
    return str(prefix / ("Scripts" if _WINDOWS else "bin"))


def _usual_folders(environment_folders: Iterable[str]) -> list[str]:
    """Where commands lie that are not on PATH: pipx and uv (https://docs.astral.sh/uv/reference/storage/), conda."""
    variables = (os.environ.get(name) for name in ("UV_TOOL_BIN_DIR", "PIPX_BIN_DIR", "XDG_BIN_HOME"))
    own = str(Path("~/.local/bin").expanduser())
    of_conda = (_programs_of(Path(folder, "envkit")) for folder in environment_folders)
    return [folder for folder in (*variables, own, *of_conda) if folder]
