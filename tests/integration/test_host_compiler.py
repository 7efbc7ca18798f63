"""An environment for a toolkit that takes no gcc as new as the system's; the compilers are stand-ins."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from envkit.model.spec import parse_spec
from tests.support.programs import stub_gcc, stub_program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere gcc is another compiler")
NAME = "torch112_cu113_py39"


@pytest.fixture
def toolkit(tmp_path):
    folder = tmp_path / "kits" / "cuda-11.3"
    stub_program(folder / "bin", "nvcc", "echo 'Cuda compilation tools, release 11.3, V11.3.109'")
    (folder / "include").mkdir()
    (folder / "include" / "cuda.h").write_text("#define CUDA_VERSION 11030\n")
    return folder


def compilers_in(prefix, path):
    script = f'. "{prefix}/bin/activate"; printf "%s," "${{CC-}}" "${{CXX-}}" "${{CUDAHOSTCXX-}}"'
    return subprocess.run(["sh", "-c", script], env={"PATH": path}, capture_output=True, text=True, check=True).stdout


def states(envkit, env):
    return {item["state"] for item in envkit("hooks", "show", NAME, "--json", env=env).json["hooks"]}


def test_the_newest_gcc_that_the_toolkit_takes_is_named(envkit, project, toolkit, tmp_path):
    new, old = stub_gcc(tmp_path / "new", default="12.2.0"), stub_gcc(tmp_path / "old", 9, 10)
    bare = {"PATH": str(new)}  # nothing else, so that no real gcc-10 counts
    both = {"PATH": f"{new}:{old}:{os.environ['PATH']}"}
    done = envkit("create", project.spec, "--no-verify", "--toolkit", toolkit, "--json", env=both)
    assert done.code == 0, done.err
    assert "gcc" not in done.err
    prefix = done.json["environment"]["prefix"]
    assert compilers_in(prefix, both["PATH"]) == "gcc-10,g++-10,g++-10,"
    assert states(envkit, both) == {"current"}

    assert states(envkit, bare) == {"current", "stale"}  # only activate.d names compilers
    findings = {item["id"]: item for item in envkit("doctor", NAME, "--json", env=bare).json["findings"]}
    assert findings["host-compiler-too-new"]["severity"] == "note"
    assert findings["host-compiler-too-new"]["fix"] == [
        f"To compile, install gcc-10 and g++-10, then run `envkit hooks install {NAME}`."
    ]
    again = envkit("hooks", "install", NAME, env=bare)
    assert again.code == 0
    assert "nvcc of CUDA 11.3 takes gcc 10 at most; here it is gcc 12" in again.err
    assert compilers_in(prefix, both["PATH"]) == ",,,"
    assert states(envkit, bare) == {"current"}


def test_a_spec_that_wants_none_of_it(envkit, project, toolkit, tmp_path):
    project.write_spec(host_compiler=False)
    project.write_lock(
        spec_sha256=parse_spec(project.spec.read_text(), "demo.yaml").sha256, host_compiler=False, toolkit="none"
    )
    path = f"{stub_gcc(tmp_path / 'gcc', 9, 10, default='12.2.0')}:{os.environ['PATH']}"
    done = envkit("create", project.spec, "--no-verify", "--toolkit", toolkit, "--json", env={"PATH": path})
    assert done.code == 0, done.err
    prefix = Path(done.json["environment"]["prefix"])
    assert "host_compiler: false\n" in (prefix / ".envkit" / "lock.yaml").read_text()
    assert compilers_in(prefix, path) == ",,,"
    assert states(envkit, {"PATH": path}) == {"current"}
