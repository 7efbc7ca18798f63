"""Commands of envkit as processes that need not start Python and import all first: ``tests.support.fork_server``.

They are whole processes, with their own exit code, streams, folder and variables. What differs: in a list of processes
their command line is the server's. Where a variable differs that Python reads at its start, ``python -m envkit`` runs.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

READ_AT_START = re.compile(r"PYTHON(?!UNBUFFERED$|DONTWRITEBYTECODE$)|LC_|LANG|LD_|COVERAGE|MALLOC_|GLIBC_|TZ$")
"""Not the two that a command can be given later, or that make no difference to one that runs to its end."""

MAX_REQUEST, MAX_STDIN = 100_000, 60_000
"""Bytes that go through a socket, and a pipe, at once."""


class Server:
    """The process that forks, and this end of its socket."""

    def __init__(self) -> None:
        self.socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.variables = read_at_start(os.environ)
        with other:
            self.process = subprocess.Popen(
                [sys.executable, Path(__file__).with_name("fork_server.py"), str(other.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[other.fileno()],
            )
        atexit.register(self.close)

    def send(self, request: bytes, files: Sequence[BinaryIO]) -> None:
        """Ask for a process that gets these files."""
        try:
            socket.send_fds(self.socket, [request], [file.fileno() for file in files])
        except BrokenPipeError:
            said = self.process.communicate()[1].decode(errors="replace")
            raise AssertionError(f"the server ended with {self.process.returncode}: {said}") from None

    def close(self) -> None:
        """Let it end."""
        self.socket.close()
        self.process.communicate()


@functools.cache
def server() -> Server:
    """That of this process."""
    return Server()


def read_at_start(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that count when an interpreter starts."""
    return {name: value for name, value in environ.items() if READ_AT_START.match(name)}


def run_envkit(
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    stdin: str = "",
    timeout_s: float,
    errors: str = "strict",
) -> subprocess.CompletedProcess[str]:
    """Run ``python -m envkit ARGUMENTS`` to its end and give what it wrote."""
    argv = [sys.executable, "-m", "envkit", *arguments]
    request = json.dumps({"argv": list(arguments), "env": dict(env), "cwd": str(cwd), "umask": _umask()}).encode()
    given = stdin.encode()
    can_fork = sys.platform == "linux" and len(request) <= MAX_REQUEST and len(given) <= MAX_STDIN
    if not can_fork or read_at_start(env) != server().variables:
        return subprocess.run(
            argv,
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            errors=errors,
            env=env,
            cwd=cwd,
            timeout=timeout_s,
            check=False,
        )
    with contextlib.ExitStack() as stack:
        files = _Files(stack)
        server().send(request, files.theirs)
        for file in files.theirs:
            file.close()
        files.stdin.write(given)
        files.stdin.close()
        code, out, err = files.wait(argv, timeout_s)
    texts = (io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors=errors).read() for data in (out, err))
    return subprocess.CompletedProcess(argv, code, *texts)


class _Files:
    """Pipes to and from a process."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        def pipe() -> tuple[BinaryIO, BinaryIO]:
            reading, writing = os.pipe()
            return stack.enter_context(open(reading, "rb")), stack.enter_context(open(writing, "wb", buffering=0))

        (stdin, self.stdin), (self.stdout, stdout), (self.stderr, stderr), (self.status, status) = (
            pipe() for _ in range(4)
        )
        self.theirs = (stdin, stdout, stderr, status)

    def wait(self, argv: list[str], timeout_s: float) -> tuple[int, bytes, bytes]:
        """The exit code, and what came out of the two streams."""
        said: dict[BinaryIO, bytes] = {}
        readers = [
            threading.Thread(target=lambda file=file: said.update({file: file.read()}), daemon=True)
            for file in (self.stdout, self.stderr)
        ]
        for reader in readers:
            reader.start()
        child = int(self.status.readline())
        timer = threading.Timer(timeout_s, os.kill, (child, signal.SIGKILL))
        timer.start()
        try:
            code = int(self.status.readline())
            for reader in readers:
                reader.join()
        finally:
            timer.cancel()
        if timer.finished.is_set() and code == -signal.SIGKILL:
            raise subprocess.TimeoutExpired(argv, timeout_s)
        return code, said[self.stdout], said[self.stderr]


def _umask() -> int:
    mask = os.umask(0o77)
    os.umask(mask)
    return mask
