"""Toolkits installed from the default index: a real one, and stubs for what goes wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """
#include <cstdio>
#include <cuda_runtime.h>
#include <cub/version.cuh>
__global__ void add(int *x) { *x += 1; }
int main() { std::printf("%d %d\\n", CUDART_VERSION, CUB_VERSION > 0); add<<<1, 1>>>(nullptr); return 0; }
"""


def said(*command: object, cwd: Path | None = None) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def left_behind(home: Path) -> list[str]:
    """What is in the folder of toolkits besides whole ones."""
    folder = home / "toolkits"
    return [name for name in os.listdir(folder) if not name.startswith("cuda-")] if folder.is_dir() else []


@pytest.mark.network
def test_a_real_toolkit_compiles_and_links(real_toolkit_132, tmp_path):
    if shutil.which("g++") is None:
        pytest.skip("needs a host compiler")
    nvcc = real_toolkit_132 / "bin" / "nvcc"
    assert "release 13.2" in said(nvcc, "--version")
    (tmp_path / "a.cu").write_text(SOURCE)
    said(nvcc, "a.cu", "-o", "static", cwd=tmp_path)
    assert said("./static", cwd=tmp_path) == "13020 1\n"
    (tmp_path / "b.cpp").write_text("#include <cuda_runtime.h>\nint main() { int n; cudaGetDeviceCount(&n); }\n")
    said(
        "g++",
        "b.cpp",
        f"-I{real_toolkit_132}/include",
        f"-L{real_toolkit_132}/lib64",
        "-lcudart",
        "-o",
        "b",
        cwd=tmp_path,
    )
    assert "libcudart.so.13" in said("ldd", tmp_path / "b")


@pytest.mark.network
def test_a_real_toolkit_is_there_already_and_shares_no_file_with_the_cache(envkit, real_toolkit_132):
    home = real_toolkit_132.parents[1]
    done = envkit("cuda", "install", "13.2", "--json", env={"ENVKIT_HOME": str(home)})
    assert done.code == 0, done.err
    assert (done.json["installed"], done.json["source"]) == (False, "pypi")
    assert done.json["toolkit"]["path"] == str(real_toolkit_132)
    assert done.json["toolkit"]["version"] == real_toolkit_132.name.removeprefix("cuda-")
    assert {path.stat().st_nlink for path in real_toolkit_132.rglob("*") if path.is_file()} == {1}
    assert left_behind(home) == []
