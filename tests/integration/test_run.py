"""Run and shell: the command's own status and streams, envkit's own failures apart."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.integration.conftest import start

NAME = "torch112_cu113_py39"


@pytest.fixture
def environment(envkit, project, tmp_path):
    """An environment with a toolkit (a folder with a script for nvcc)."""
    toolkit = tmp_path / "tool kits" / "cuda-11.3"
    (toolkit / "bin").mkdir(parents=True)
    (toolkit / "include").mkdir()
    (toolkit / "version.json").write_text('{"cuda": {"name": "CUDA SDK", "version": "11.3.1"}}')
    nvcc = toolkit / "bin" / "nvcc"
    nvcc.write_text("#!/bin/sh\necho release 11.3\n")
    nvcc.chmod(0o755)
    done = envkit("create", project.spec, "--no-verify", "--toolkit", toolkit, "--json")
    assert done.code == 0, done.err
    assert done.json["environment"]["toolkit"] == {"version": "11.3.1", "release": "11.3", "path": str(toolkit)}
    return done.json["environment"]


def test_run_gives_the_status_of_the_command(envkit, environment):
    assert envkit("run", NAME, "--", "sh", "-c", "exit 7").code == 7
    assert envkit("run", NAME, "true").code == 0
    assert envkit("run", NAME, "--", "sh", "-c", "kill -TERM $$").code == 128 + signal.SIGTERM
    assert envkit("run", NAME, "--", "sh", "-c", "kill -KILL $$").code == 128 + signal.SIGKILL


def test_run_is_an_activated_environment(envkit, environment):
    script = 'printf "%s\\n" "$VIRTUAL_ENV" "$CUDA_HOME" "$CUDA_PATH" "$(command -v python)" "$(nvcc)"'
    done = envkit("run", NAME, "--", "sh", "-c", script)

    toolkit = environment["toolkit"]["path"]
    assert done.out.splitlines() == [
        environment["prefix"],
        toolkit,
        toolkit,
        f"{environment['prefix']}/bin/python",
        "release 11.3",
    ]


def test_run_hands_arguments_and_streams_through(envkit, environment):
    arguments = ["a b", "$HOME", "it's", "--json", "-x", "", "*"]
    done = envkit("run", NAME, "--", "python", "-c", "import sys; print(sys.argv[1:])", *arguments)
    assert done.out.strip() == repr(arguments)
    big = envkit("run", NAME, "--", "python", "-c", "import sys; sys.stdout.write('x' * 2**20)")
    assert big.out == "x" * 2**20
    assert envkit("run", NAME, "--", "cat", stdin="given").out == "given"
    assert envkit("run", NAME, "--", "python", "--version").out.startswith("Python 3.9")


def test_runs_own_failures(envkit, environment, tmp_path):
    assert envkit("run", "nope", "--", "true").code == 125
    assert envkit("run", NAME, "--", "no-such-command").code == 127
    plain = tmp_path / "plain.txt"
    plain.write_text("no program")
    assert envkit("run", NAME, "--", plain).code == 126
    assert envkit("run", NAME, "--", tmp_path).code == 126
    assert envkit("run", NAME).code == envkit("run", NAME, "--").code == 125
    assert envkit("run").code == 125
    (Path(environment["prefix"]) / "bin" / "activate").unlink()
    assert envkit("run", NAME, "--", "true").code == 125


def test_run_hands_signals_on(envkit, environment, tmp_path):
    ready, got = tmp_path / "ready", tmp_path / "got"
    script = (
        "import pathlib, signal, sys, time\n"
        f"signal.signal(signal.SIGTERM, lambda *_: (pathlib.Path({str(got)!r}).touch(), sys.exit(3)))\n"
        f"pathlib.Path({str(ready)!r}).touch()\n"
        "time.sleep(60)\n"
    )
    child = start(envkit, "run", NAME, "--", "python", "-c", script)
    end = time.monotonic() + 30
    while not ready.exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    child.send_signal(signal.SIGTERM)
    child.communicate(timeout=30)

    assert child.returncode == 3
    assert got.exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "dash"])
def test_shell_is_an_activated_interactive_shell(envkit, environment, shell):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    rc = {"bash": ".bashrc", "zsh": ".zshrc"}.get(shell)
    if rc:
        Path(os.environ["HOME"], rc).write_text("export OWN_FILE=read\n")
    done = subprocess.run(
        envkit.argv("shell", NAME),
        input='echo "$VIRTUAL_ENV:$CUDA_HOME:$OWN_FILE"\nexit 5\n',
        capture_output=True,
        text=True,
        env=envkit.variables({"SHELL": program, "TERM": "dumb"}),
        timeout=60,
        check=False,
        start_new_session=True,
    )
    own = "read" if rc else ""
    assert f"{environment['prefix']}:{environment['toolkit']['path']}:{own}" in done.stdout.replace("\r", "")
    assert done.returncode == 5


@pytest.mark.parametrize("shell", ["/bin/csh", "/no/such/shell", "/usr/bin/python3"])
def test_shell_says_which_shells_it_cannot_start(envkit, environment, shell):
    done = envkit("shell", NAME, env={"SHELL": shell})
    assert done.code == 2
    assert shell in done.err
    assert "SHELL=/bin/bash" in done.err
