"""The commands of docs/gpu.md, run as they stand there beside a stub of nvidia-smi, and its table of failures."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from envkit.model.smi_failures import _FAILURES, MISMATCH
from tests.support.smi import DATA

PAGE = (Path(__file__).parents[2] / "docs" / "gpu.md").read_text(encoding="utf-8")


def test_the_commands_of_the_page(tmp_path, monkeypatch):
    if os.name != "posix":
        pytest.skip("the stub of nvidia-smi is a shell script")
    said = (DATA / "020-580-two-a100.txt").read_text()
    (tmp_path / "said.txt").write_text(said)
    stub = tmp_path / "bin" / "nvidia-smi"
    stub.parent.mkdir()
    stub.write_text(f'#!/bin/sh\ncat "{tmp_path}/said.txt"\n')
    stub.chmod(0o755)
    programs = (stub.parent, Path(sys.executable).parent)
    monkeypatch.setenv("PATH", os.pathsep.join([*map(str, programs), os.environ["PATH"]]))
    commands = [
        line
        for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
        for line in block.splitlines()
    ]
    assert len(commands) == 5
    script = "\n".join(["set -e", *commands])
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Driver 580.126.09, serves CUDA 13.0 at most") == 3
    assert done.stdout.count('"driver_version": "580.126.09"') == 2


def test_the_page_tells_every_kind_of_failure():
    kinds = {
        kind for row in re.findall(r"^\| (`[^|]+) \|", PAGE, re.MULTILINE) for kind in re.findall(r"`([^`]+)`", row)
    }
    assert kinds == {*_FAILURES, MISMATCH, "failed"}
