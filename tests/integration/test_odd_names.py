"""Prefixes whose names a shell would read otherwise, with stubs of torch and numpy."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.integration.test_verify import _behave, stub_environment  # noqa: F401 - a fixture

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["my tools", "it's", "a$HOME", "$(touch pwned)", "back`tick", "ünï", "中文"])
def test_activation_line_of_a_prefix_with_an_odd_name(envkit, project, stub_environment, tmp_path, name):  # noqa: F811
    """EK-C08: create, then paste the line that it prints. Once with the real torch: test_main_job.py."""
    envkit.environ.update(_behave())
    place = tmp_path / "place"
    place.mkdir()
    paste_activation_lines(envkit, project.lock, place / name)


def paste_activation_lines(envkit, spec: str | Path, prefix: Path) -> None:
    """Create an environment in ``prefix``, paste the lines that activate it, and use it."""
    done = envkit("create", spec, "--no-verify", "--prefix", prefix, timeout_s=900)
    assert done.code == 0, done.err
    line = re.search(r"Activate it: {2}(.*)", done.out)[1]
    script = f'{line}\nprintf %s "$VIRTUAL_ENV"; deactivate; printf %s "|$VIRTUAL_ENV"'
    for shell in ("bash", "dash", "zsh"):
        if shutil.which(shell) is not None:
            ran = subprocess.run([shell, "-c", script], capture_output=True, text=True, cwd=prefix.parent, check=False)
            assert ran.stdout == f"{prefix}|", (shell, ran.stderr)
    if shutil.which("fish") is not None:
        text = envkit("create", spec, "--prefix", prefix, env={"SHELL": "fish"}).out
        line = re.search(r"Activate it: {2}(.*)", text)[1]
        script = f'{line}; printf %s "$VIRTUAL_ENV"'
        ran = subprocess.run(["fish", "-c", script], capture_output=True, text=True, cwd=prefix.parent, check=False)
        assert ran.stdout == str(prefix), ran.stderr
    assert envkit("run", prefix, "--", "python", "-c", "import sys; print(sys.prefix)").out.strip() == str(prefix)
    assert envkit("verify", prefix, "--level", "import").code == 0
    assert list(prefix.parent.rglob("pwned")) == []
