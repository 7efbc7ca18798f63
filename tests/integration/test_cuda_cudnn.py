"""``envkit cuda cudnn`` as a program. The toolkits are stubs, the archives small."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.conftest import tree
from tests.support.cudnn import cudnn_tar
from tests.support.toolkits import stub_toolkit

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="archives for Linux")
DIE_AT = Path(__file__).parents[1] / "support" / "die_at.py"


@pytest.fixture
def toolkit(tmp_path):
    folder = stub_toolkit(tmp_path / "cuda-11.3", "11.3")
    (folder / "lib64").mkdir()
    return folder


@pytest.fixture
def archive(tmp_path):
    return cudnn_tar(tmp_path / "cudnn-linux-x86_64-8.9.7.29_cuda11-archive.tar.xz", "8.9.7", root="x")


def test_put_and_undo(envkit, toolkit, archive):
    done = envkit("cuda", "cudnn", archive, "--into", toolkit, "--json")
    assert done.code == 0, done.err
    assert done.json["command"] == "cuda cudnn"
    assert done.json["version"] == "8.9.7"
    assert done.json["done"]
    assert done.json["plan"] == []
    assert "lib64/libcudnn.so" in done.json["files"]
    told = envkit("cuda", "cudnn", archive, "--into", toolkit)
    assert "already" in told.out
    undone = envkit("cuda", "cudnn", "--undo", "--into", toolkit)
    assert undone.code == 0
    assert "Took cuDNN 8.9.7 out" in undone.out
    assert envkit("cuda", "cudnn", "--undo", "--into", toolkit).code == 9


def test_usage_and_failures(envkit, toolkit, archive):
    assert envkit("cuda", "cudnn", "--into", toolkit).code == 2
    assert envkit("cuda", "cudnn", archive, "--undo", "--into", toolkit).code == 2
    failed = envkit("cuda", "cudnn", "no-such-file", "--into", toolkit, "--json")
    assert failed.code == 9
    assert failed.json["files"] == []
    (toolkit / "include" / "cudnn.h").write_text("mine")
    assert envkit("cuda", "cudnn", archive, "--into", toolkit).code == 11
    archive.write_bytes(archive.read_bytes()[:200])
    assert envkit("cuda", "cudnn", archive, "--into", toolkit).code == 4


def test_killed_at_any_moment_the_next_run_does_it(envkit, toolkit, archive, tmp_path):
    """SIGKILL right before a change of a file in the toolkit; some of the changes stand for all."""
    before, log = tree(toolkit), tmp_path / "log"
    words = ["cuda", "cudnn", str(archive), "--into", str(toolkit)]
    whole = None
    for number in (9, 26, 34, 42):
        argv = [sys.executable, str(DIE_AT), str(number), str(toolkit), str(log), *words]
        died = subprocess.run(argv, env=envkit.variables(), capture_output=True, check=False)
        assert died.returncode == -9, died.stderr
        left = tree(toolkit)
        assert left != before
        done = envkit(*words)
        assert done.code == 0, done.err
        there = {name: data for name, data in tree(toolkit).items() if name != ".envkit/cudnn.yaml"}
        assert whole in (None, there)
        whole = there
        envkit("cuda", "cudnn", "--undo", "--into", toolkit)
    assert tree(toolkit) == before
