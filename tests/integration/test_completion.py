"""Completion scripts, in the shells themselves where they are installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script_is_read_by_its_shell(envkit, tmp_path, shell):
    done = envkit("completion", shell)
    assert done.code == 0
    assert "_ENVKIT_COMPLETE" in done.out
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "completion"
    script.write_text(done.out)
    checked = subprocess.run([program, "-n", script], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_an_unknown_shell_is_wrong_usage(envkit):
    assert envkit("completion", "cmd").code == 2


@pytest.mark.parametrize(
    ("words", "expected"),
    [("envkit cre", "create"), ("envkit create torch213", "torch213-cpu"), ("envkit snapshot ex", "export")],
)
def test_completion_offers_commands_and_specs(envkit, words, expected):
    done = subprocess.run(
        [Path(sys.executable).with_name("envkit")],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "_ENVKIT_COMPLETE": "bash_complete",
            "COMP_WORDS": words,
            "COMP_CWORD": str(len(words.split()) - 1),
        },
        check=False,
    )
    assert f"plain,{expected}" in done.stdout.split()
