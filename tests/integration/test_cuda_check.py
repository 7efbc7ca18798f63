"""``envkit cuda check`` as a program."""

from __future__ import annotations

import shutil

import pytest

from tests.support.toolkits import real_toolkit, stub_toolkit

COMPUTES = "printf 'driver 12040\\nruntime 11030\\ndevice 8.6 A GPU\\n'; [ -z \"${1-}\" ] || echo compared 4096"


def test_the_real_toolkit(envkit):
    real = real_toolkit()
    if real is None or shutil.which("g++") is None:
        pytest.skip("no CUDA toolkit with nvcc in /usr/local, or no g++")
    done = envkit("cuda", "check", real, "--json")
    assert done.code == 0, done.err
    assert done.json["command"] == "cuda check"
    assert done.json["toolkit"]["path"] == str(real)
    assert [step["step"] for step in done.json["steps"]] == ["version", "compile", "link", "device", "kernel"]
    assert [step["status"] for step in done.json["steps"]][:3] == ["pass"] * 3


def test_a_gpu(envkit, tmp_path, monkeypatch):
    """nvcc is a stub here, and so is the program that it makes."""
    monkeypatch.setenv("NVCC_CCBIN", "g++")
    done = envkit("cuda", "check", stub_toolkit(tmp_path / "cuda", "11.3", program=COMPUTES))
    assert done.code == 0, done.err
    assert "works: it compiles, links and computes" in done.out
    assert "A GPU (8.6); driver for CUDA 12.4, runtime 11.3" in done.out
    assert "4096 numbers are right" in done.out


def test_a_failure_is_6_and_says_the_step(envkit, tmp_path):
    """nvcc is a stub here."""
    folder = stub_toolkit(tmp_path / "cuda", "11.3", says="11.8")
    done = envkit("cuda", "check", folder)
    assert done.code == 6
    assert "does not work" in done.out
    assert "step version failed" in done.err
    told = envkit("cuda", "check", folder, "--json")
    assert told.code == 6
    assert told.json["error"]["type"] == "VerificationFailed"
    assert [step["status"] for step in told.json["steps"]] == ["fail", "skip", "skip", "skip", "skip"]


def test_an_unknown_toolkit_is_9(envkit):
    done = envkit("cuda", "check", "1.0", "--json")
    assert done.code == 9
    assert done.json["command"] == "cuda check"
    assert done.json["steps"] == []
