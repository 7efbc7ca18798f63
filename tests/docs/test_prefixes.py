"""The commands of docs/prefixes.md, run one after another as they stand there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from envkit.model.toolkit import Toolkit
from tests.support.small_environments import small_environment
from tests.support.toolkits import stub_toolkit

PAGE = (Path(__file__).parents[2] / "docs" / "prefixes.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_commands_of_the_page(tmp_path, monkeypatch):
    toolkit = stub_toolkit(tmp_path / "cuda-11.3", "11.3")
    env = small_environment(tmp_path / "envs" / "demo", Toolkit("11.3", "11.3", toolkit, "test", has_nvcc=True))
    (next(env.glob("lib/python3*/site-packages")) / "ipykernel-7.0.dist-info").mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    lines = [
        line for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE) for line in block.split("\n")
    ]
    commands = [re.sub(r"\bENV\b", "demo", line) for line in lines if line]
    assert len(commands) == 9
    programs = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("CUDA_PATH", str(toolkit))
    script = "\n".join(["set -e", *commands, "cat .env", 'echo "active: $CUDA_HOME"', ". venv/bin/activate", "env"])
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"CUDA 11.3 in {toolkit}" in done.stdout
    assert f"active: {toolkit}\n" in done.stdout
    assert f"VIRTUAL_ENV={tmp_path / 'venv'}\n" in done.stdout
    assert f"_ENVKIT_VENV_TOOLKIT={toolkit}\n" in done.stdout
    kernels = Path(os.environ["XDG_DATA_HOME"]) / "jupyter" / "kernels"
    assert [path.name for path in kernels.iterdir()] == ["demo"]
    assert not (tmp_path / ".venv" / ".envkit").exists()


def test_the_page_tells_what_of_the_configuration():
    from envkit.model.settings import parse_settings  # noqa: PLC0415 - no part of the other test

    (text,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert parse_settings(text, "config.yaml").virtualenv_cuda == "11.3"
