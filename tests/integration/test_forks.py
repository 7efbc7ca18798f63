"""Forked commands (tests/support/forks.py) do what the program does that is started anew."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tests.support.forks import run_envkit


def anew(envkit, *arguments) -> tuple[int, str, str]:
    done = subprocess.run(
        envkit.argv(*arguments), env=envkit.variables(), cwd=envkit.cwd, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "arguments", [["--version"], ["list", "--json"], ["list", "--no-such"], ["info", "nothing", "--json"], ["specs"]]
)
def test_the_same_comes_out_with_the_same_code(envkit, arguments):
    forked = envkit(*arguments)
    assert (forked.code, forked.out, forked.err) == anew(envkit, *arguments)


def test_folder_variables_input_and_umask_are_those_of_the_call(envkit, project, tmp_path):
    before = os.umask(0o027)
    try:
        made = envkit(
            "create", "demo.yaml", "--no-verify", cwd=project.folder, env={"ENVKIT_HOME": str(tmp_path / "o")}
        )
    finally:
        os.umask(before)
    assert made.code == 0, made.err
    prefix = tmp_path / "o" / "envs" / "torch112_cu113_py39"
    assert (prefix / "bin").stat().st_mode & 0o777 == 0o750
    shown = envkit("run", prefix, "--", "sh", "-c", 'cat; pwd; echo "$MINE"; exit 7', stdin="in\n", env={"MINE": "é"})
    assert (shown.code, shown.out) == (7, f"in\n{envkit.cwd}\né\n")


def test_one_that_takes_too_long_is_killed_and_one_that_is_killed_says_so(envkit, project):
    prefix = project.folder / "env"
    assert envkit("create", project.spec, "--no-verify", "--prefix", prefix).code == 0
    with pytest.raises(subprocess.TimeoutExpired):
        envkit("run", prefix, "--", "sh", "-c", "exec sleep 5 > /dev/null 2>&1", timeout_s=1)
    done = run_envkit(
        ["run", str(prefix), "--", "sh", "-c", "kill -9 $$"], env=envkit.variables(), cwd=envkit.cwd, timeout_s=60
    )
    assert done.returncode in {-signal.SIGKILL, 128 + signal.SIGKILL}
