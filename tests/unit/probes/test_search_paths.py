"""CUDA in PATH and libraries in LD_LIBRARY_PATH; toolkits and libraries are stand-ins."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from envkit.probes.search_paths import cuda_on_path, libraries_on_path, packages_in
from tests.support.toolkits import stub_toolkit

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the stand-ins are Linux' own")


def test_compilers_in_order_each_toolkit_once(tmp_path):
    old, new = stub_toolkit(tmp_path / "cuda-10.2", "10.2"), stub_toolkit(tmp_path / "cuda-11.3", "11.3")
    (tmp_path / "cuda").symlink_to(old)
    path = os.pathsep.join(map(str, (old / "bin", new / "bin", tmp_path / "cuda" / "bin", "/usr/bin", "")))
    found = cuda_on_path({"PATH": path})
    assert found.compilers == ((old / "bin" / "nvcc", "10.2"), (new / "bin" / "nvcc", "11.3"))
    assert found.vanished == ()


def test_entries_that_have_gone_are_told_when_they_were_cudas(tmp_path):
    gone = str(tmp_path / "usr" / "cuda-9.0" / "bin")
    assert cuda_on_path({"PATH": f"{gone}:{tmp_path / 'gone'}:{gone}"}).vanished == (gone,)
    assert cuda_on_path({}).compilers == ()


def make(folder, *names):
    folder.mkdir(parents=True)
    for name in names:
        (folder / name).touch()
    return str(folder)


@pytest.mark.parametrize(
    ("names", "libraries"),
    [
        (("libcudart.so.10.2", "libcublasLt.so.11"), ("cublas", "cudart")),
        (("libcudnn.so.8", "libcudnn_ops_infer.so.8.2.1"), ("cudnn",)),
        (("libstdc++.so.6", "libgomp.so.1"), ("gomp", "stdc++")),
        (("libtorch_cuda.so", "libc10.so"), ("c10", "torch")),
        (("libnccl.so.2", "libnvrtc-builtins.so.11.3"), ("nccl", "nvrtc")),
        (("libcuda.so.1", "libnvidia-ml.so.1", "libcudadebugger.so.1"), ()),
        (("libfoo.so", "cudart.txt", "libtorchish.so", "libc10x.so"), ()),
    ],
)
def test_libraries_that_torch_brings_itself(tmp_path, names, libraries):
    folder = make(tmp_path / "lib", *names)
    found = libraries_on_path(folder)
    assert [item.libraries for item in found] == ([libraries] if libraries else [])
    assert all(item.path == folder for item in found)


def test_folders_that_are_not_there_and_the_systems_own_do_not_count(tmp_path):
    assert libraries_on_path(f"{tmp_path}/gone:/usr/lib/x86_64-linux-gnu:/lib64:/usr/lib") == ()
    assert libraries_on_path("") == ()


def test_an_empty_entry_is_the_working_folder(tmp_path):
    found = libraries_on_path(f"{tmp_path}:")
    assert [item.path for item in found] == [""]


def test_whose_a_folder_is_and_stubs(tmp_path):
    (tmp_path / "env" / "conda-meta").mkdir(parents=True)
    folder = make(tmp_path / "env" / "lib", "libstdc++.so.6")
    stubs = make(tmp_path / "cuda" / "lib64" / "stubs", "libcuda.so")
    first, second = libraries_on_path(f"{folder}:{stubs}")
    assert first.prefix == str(tmp_path / "env")
    assert (second.is_stubs, second.prefix, second.libraries) == (True, None, ())


def test_packages_in_a_folder(tmp_path):
    make(tmp_path / "torch", "__init__.py")
    (tmp_path / "numpy.py").touch()
    assert packages_in(tmp_path, ("torch", "numpy", "triton")) == ("torch", "numpy")
    assert packages_in(Path("\0"), ("torch",)) == ()
