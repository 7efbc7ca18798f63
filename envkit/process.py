"""Outside programs: argument lists, time limits, a clean environment, nothing left running."""

from __future__ import annotations

import logging
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from envkit.errors import ProgramError
from envkit.model.addresses import redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\r(?=\n)")
_log = logging.getLogger(__name__)

_PR_SET_PDEATHSIG = 1
"""prctl(2): the signal that a process gets when its parent dies."""

LEAKING_VARIABLES = (
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "__PYVENV_LAUNCHER__",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_USER",
    "PIP_PYTHON",
    "PIP_REQUIRE_VIRTUALENV",
)
"""Variables of the caller that would lead a program away from the environment it is meant to work on."""


@dataclass(frozen=True, slots=True)
class CompletedProgram:
    """A program that has ended.

    Attributes:
        argv: the command.
        returncode: its exit status; negative for a signal, as ``subprocess`` has it.
        stdout, stderr: what it wrote, UTF-8 with replacement characters.
    """

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str


def clean_environment(overrides: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """This process's environment without ``LEAKING_VARIABLES``, changed by ``overrides`` (None removes)."""
    environment = {name: value for name, value in os.environ.items() if name not in LEAKING_VARIABLES}
    for name, value in (overrides or {}).items():
        if value is None:
            environment.pop(name, None)
        else:
            environment[name] = value
    return environment


def run(
    argv: Sequence[str | Path],
    *,
    timeout_s: float,
    env: Mapping[str, str | None] | None = None,
    cwd: Path | None = None,
    stdin: str | None = None,
    screen: Callable[[bytes], None] | None = None,
    check: bool = True,
) -> CompletedProgram:
    """Run a program to its end and give what it wrote.

    Args:
        argv: the program and its arguments; no shell reads them.
        timeout_s: seconds after which the program and its children are killed.
        env: changes to the environment; None removes a variable.
        cwd: working folder, by default this process's.
        stdin: text for its standard input; without it the input is empty.
        screen: takes the bytes of standard error as they come; the program then sees a terminal there and draws its
            progress bars. Not on Windows.
        check: whether an exit status other than 0 raises.

    Raises:
        ProgramError: the program could not be started, ran out of time, or (with ``check``) failed.
    """
    command = tuple(str(part) for part in argv)
    terminal = _Terminal(screen) if screen is not None and os.name == "posix" else None
    try:
        child = _start(command, env=env, cwd=cwd, stdin=stdin, stderr=terminal.writer if terminal else subprocess.PIPE)
        if terminal is not None:
            terminal.start()
        out, err = _wait(child, command, stdin, timeout_s)
    finally:
        shown = terminal.close() if terminal is not None else b""
    done = CompletedProgram(command, child.returncode, _text(out), _text(err or shown))
    _log.debug("%s -> %s", shlex.join(command), done.returncode)
    if check and done.returncode != 0:
        raise failure(done)
    return done


def _start(
    command: tuple[str, ...],
    *,
    env: Mapping[str, str | None] | None,
    cwd: Path | None,
    stdin: str | None,
    stderr: int,
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=clean_environment(env),
            cwd=cwd,
            start_new_session=os.name == "posix",
            preexec_fn=die_with_parent(),  # noqa: PLW1509 - no other thread runs when a program is started
        )
    except OSError as error:
        raise ProgramError(
            f"Cannot run {command[0]}: {error.strerror or error}.", argv=command, returncode=None
        ) from error


def _wait(
    child: subprocess.Popen[bytes], command: tuple[str, ...], stdin: str | None, timeout_s: float
) -> tuple[bytes, bytes]:
    try:
        return child.communicate(stdin.encode() if stdin is not None else None, timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        kill_group(child)
        out, err = child.communicate()
        raise ProgramError(
            f"{command[0]} did not end within {timeout_s:g} s and was stopped.",
            argv=command,
            returncode=None,
            stdout=_text(out),
            stderr=_text(err),
            why=redacted(f"The command was: {shlex.join(command)}"),
        ) from error
    except BaseException:
        kill_group(child)
        child.wait()
        raise


def _text(data: bytes | None) -> str:
    return _ESCAPES.sub("", (data or b"").decode("utf-8", "replace"))


class _Terminal:
    """A pseudo-terminal as large as ours, whose output goes to ``screen`` and is kept."""

    def __init__(self, screen: Callable[[bytes], None]) -> None:
        import pty  # noqa: PLC0415 - not on Windows
        import threading  # noqa: PLC0415 - only where bars are drawn
        import tty  # noqa: PLC0415 - not on Windows

        self._reader, self.writer = pty.openpty()
        self._screen = screen
        self._kept: list[bytes] = []
        self._thread = threading.Thread(target=self._copy, daemon=True)
        tty.setraw(self.writer)  # line ends are for the real terminal to translate
        _same_size(self.writer)

    def start(self) -> None:
        """The child has the writing side now."""
        os.close(self.writer)
        self.writer = -1
        self._thread.start()

    def _copy(self) -> None:
        while True:
            try:
                data = os.read(self._reader, 65536)
            except OSError:  # Linux answers EIO when the last writer has gone
                return
            if not data:
                return
            self._kept.append(data)
            self._screen(data)

    def close(self) -> bytes:
        """Everything that was written."""
        if self._thread.is_alive() or self._kept:
            self._thread.join(timeout=5)
        if self.writer >= 0:
            os.close(self.writer)
        os.close(self._reader)
        return b"".join(self._kept)


def _same_size(terminal: int) -> None:
    import fcntl  # noqa: PLC0415 - not on Windows
    import struct  # noqa: PLC0415
    import termios  # noqa: PLC0415

    size = shutil.get_terminal_size()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size.lines, size.columns, 0, 0))


def failure(done: CompletedProgram) -> ProgramError:
    """The error that tells of a program's failure, with the last lines it wrote as the reason."""
    said = (done.stderr.strip() or done.stdout.strip()).splitlines()
    code = f"signal {-done.returncode}" if done.returncode < 0 else f"exit status {done.returncode}"
    return ProgramError(
        f"{done.argv[0]} failed with {code}.",
        argv=done.argv,
        returncode=done.returncode,
        stdout=done.stdout,
        stderr=done.stderr,
        why=redacted("\n".join(said[-12:]) or f"It said nothing. The command was: {shlex.join(done.argv)}"),
    )


def die_with_parent() -> Callable[[], None] | None:
    """What a child on Linux calls before it runs its program, so that it does not outlive a killed envkit.

    An installer that lives on would write into whatever is made at the same place next. None on other systems.
    """
    if sys.platform != "linux":
        return None
    import ctypes  # noqa: PLC0415 - only where a program is started

    set_option = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def ask() -> None:
        set_option(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died in between
            os.kill(os.getpid(), signal.SIGKILL)

    return ask


def kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill ``child``, which leads its own process group where there are such, and all that it has started."""
    if os.name == "posix":
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            return
    else:
        child.kill()
