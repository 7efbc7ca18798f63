"""A Python that has imported envkit, and forks a process for each command.

Run by ``tests.support.forks`` as ``python fork_server.py FD``. Each message on the socket FD is a request: a JSON
object, and four open files: the standard streams of the new process, and where its id and its exit code are written.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    del sys.path[0]  # the folder of this file: its modules would stand in front of others

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import runpy
import socket
import threading
from typing import Any, NoReturn

import envkit

APART = ("envkit.__main__", "envkit.plugins", "envkit.probes.check_env", "envkit.installers.rattler.worker")
"""What a command does not import, by the start of its name."""

LATE = ("rattler", "rich.console", "rich.progress", "virtualenv.seed.wheels.embed", "yaml")
"""What envkit imports only where it is used; it is used a lot."""


COVERAGE = sys.modules["coverage"].Coverage.current() if "coverage" in sys.modules else None
"""What has started with this process, where coverage is measured."""


def import_all() -> None:
    """Import what commands import; none of it depends on variables, folders or the time."""
    for module in pkgutil.walk_packages(envkit.__path__, "envkit."):
        if not module.name.startswith(APART):
            importlib.import_module(module.name)
    for name in LATE:
        importlib.import_module(name)
    if COVERAGE:  # what importing has run; each command starts with nothing
        COVERAGE.stop()
        COVERAGE.save()
    gc.collect()
    gc.freeze()


def serve(control: socket.socket) -> None:
    """Start processes until the other end is closed."""
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass
        try:
            message, files, _, _ = socket.recv_fds(control, 1 << 18, 4)
        except KeyboardInterrupt:  # pytest's
            return
        if not message:
            return
        if os.fork() == 0:
            control.close()
            start(json.loads(message), *files)
        for file in files:
            os.close(file)


def start(request: dict[str, Any], stdin: int, stdout: int, stderr: int, status: int) -> NoReturn:
    """Fork once more: the child goes on as the command, this process tells how that ended."""
    child = os.fork()
    if child == 0:
        os.close(status)
        for number, file in enumerate((stdin, stdout, stderr)):
            os.dup2(file, number)
            os.close(file)
        become(**request)
        sys.exit()
    for file in (0, 1, 2, stdin, stdout, stderr):  # whoever reads these waits for the command alone
        os.close(file)
    os.write(status, f"{child}\n".encode())
    os.write(status, f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n".encode())
    os._exit(0)


def become(argv: list[str], env: dict[str, str], cwd: str, umask: int) -> None:
    """Run ``python -m envkit ARGV`` to the end of this process."""
    os.umask(umask)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.path.insert(0, os.getcwd())
    sys.argv[1:] = argv
    sys.dont_write_bytecode = bool(env.get("PYTHONDONTWRITEBYTECODE"))
    if os.environ.pop("COVERAGE_PROCESS_CONFIG", None) and COVERAGE:  # not for the programs that the command starts
        COVERAGE.start()
    try:
        runpy.run_module("envkit", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if isinstance(ended.code, int):
            leave(ended.code)
        raise


def leave(code: int) -> NoReturn:
    """What Python does at its end, without taking all modules apart, which were not imported by this process."""
    threading._shutdown()
    if COVERAGE:
        COVERAGE.stop()
        COVERAGE._collector.flush_data()  # as save() does, which looks at all files of envkit then
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = 120
    os._exit(code)


if __name__ == "__main__":
    import_all()
    with socket.socket(fileno=int(sys.argv.pop())) as server_end:
        serve(server_end)
