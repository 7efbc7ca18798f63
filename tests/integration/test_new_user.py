"""What somebody meets who has read the README and types something near to what is right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.toolkit_folders import make_toolkit


def test_doctor_without_any_environment(envkit):
    done = envkit("doctor")
    assert done.code == 0
    assert "There is no environment yet." in done.out
    assert "Nothing is wrong" not in done.out


@pytest.mark.parametrize(("typed", "meant"), [("uninstall", "remove"), ("rm", "remove"), ("instal", "install")])
def test_a_command_that_other_tools_have(envkit, typed, meant):
    done = envkit("cuda", typed, "13.2")
    assert done.code == 2
    assert f"Did you mean {meant!r}?" in done.err


def test_remove_of_a_folder_inside_a_toolkit_names_the_toolkit(envkit, tmp_path):
    toolkit = make_toolkit(tmp_path / "cuda-11.3")
    assert envkit("cuda", "add", toolkit).code == 0
    done = envkit("cuda", "remove", toolkit / "bin")
    assert done.code == 2
    assert f"the one above: {toolkit}." in done.err


@pytest.mark.skipif(sys.platform == "win32", reason="a path of Linux")
def test_doctor_of_a_venv_that_envkit_did_not_make(envkit, tmp_path):
    toolkit, venv = make_toolkit(tmp_path / "cuda-11.3"), tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    (packages,) = Path(venv).glob("lib/python3*/site-packages")
    (packages / "torch-1.12.1+cu113.dist-info").mkdir()
    assert envkit("hooks", "install", venv, "--toolkit", toolkit).code == 0
    done = envkit("doctor", venv)
    assert done.code == 0, done.err
    python = ".".join(map(str, sys.version_info[:2]))
    assert f"venv: torch 1.12.1+cu113 (CUDA 11.3), Python {python}" in done.out
    assert f"switches to CUDA 11.3.1 in {toolkit}" in done.out
