from __future__ import annotations

import os
from pathlib import Path

import pytest

from envkit.model.toolkit import Toolkit
from envkit.probes.toolkits import choose_toolkit, find_toolkits, toolkit_at

NVCC = """#!/bin/sh
cat <<'END'
nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2020 NVIDIA Corporation
Built on Mon_Oct_12_20:09:46_PDT_2020
Cuda compilation tools, release 11.1, V11.1.105
Build cuda_11.1.TC455_06.29190527_0
END
"""


@pytest.fixture
def make(tmp_path):
    def _make(name="cuda-11.3", *, nvcc="#!/bin/sh\nexit 3\n", **files):
        folder = tmp_path / name
        (folder / "bin").mkdir(parents=True)
        if nvcc is not None:
            (folder / "bin" / "nvcc").write_text(nvcc)
            (folder / "bin" / "nvcc").chmod(0o755)
        for file, text in files.items():
            path = folder / {"json": "version.json", "txt": "version.txt", "header": "include/cuda.h"}[file]
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return folder

    return _make


@pytest.mark.parametrize(
    ("files", "version", "release"),
    [
        (
            {"json": '{"cuda": {"name": "CUDA SDK", "version": "11.3.1"}}', "header": "#define CUDA_VERSION 11020"},
            "11.3.1",
            "11.3",
        ),
        ({"txt": "CUDA Version 10.2.89\n"}, "10.2.89", "10.2"),
        ({"header": "/* x */\n#define CUDA_VERSION 11030\n"}, "11.3", "11.3"),
        ({"header": "#define CUDA_VERSION 13000\n"}, "13.0", "13.0"),
        ({"nvcc": NVCC}, "11.1", "11.1"),
        ({"json": "{", "txt": "", "header": "", "nvcc": NVCC}, "11.1", "11.1"),
        ({"json": '{"cuda": {"version": 11}}', "header": "#define CUDA_VERSION 12080"}, "12.8", "12.8"),
        ({"json": '["cuda"]'}, None, None),
    ],
    ids=["json", "txt", "header", "header-13", "nvcc", "broken files", "json of another shape", "no version"],
)
def test_version_is_read_from_the_fullest_source(make, files, version, release):
    toolkit = toolkit_at(make(**files), "--toolkit")
    assert (toolkit.version, toolkit.release, toolkit.has_nvcc) == (version, release, True)


def test_nvcc_is_not_run_when_a_file_tells(make, tmp_path):
    ran = tmp_path / "ran"
    toolkit_at(make(nvcc=f"#!/bin/sh\ntouch {ran}\n", txt="CUDA Version 10.2.89"), "x")
    assert not ran.exists()


def test_an_nvcc_that_cannot_be_run_leaves_the_version_unknown(make):
    folder = make()
    (folder / "bin" / "nvcc").chmod(0o644)
    toolkit = toolkit_at(folder, "x")
    assert (toolkit.version, toolkit.release, toolkit.path) == (None, None, folder)


@pytest.mark.parametrize("shape", ["missing", "file", "empty", "bin only"])
def test_a_folder_without_a_toolkit_is_none(tmp_path, shape):
    place = tmp_path / "cuda-11.3"
    if shape == "file":
        place.write_text("")
    elif shape != "missing":
        (place / "bin").mkdir(parents=True) if shape == "bin only" else place.mkdir()
    assert toolkit_at(place, "x") is None


def test_a_toolkit_without_compiler_says_so(make):
    toolkit = toolkit_at(make(nvcc=None, header="#define CUDA_VERSION 11030"), "x")
    assert (toolkit.release, toolkit.has_nvcc) == ("11.3", False)


def test_path_is_normalised_but_not_resolved(make, tmp_path):
    make("real", txt="CUDA Version 11.3.0")
    (tmp_path / "cuda-11.3").symlink_to("real")
    toolkit = toolkit_at(f"{tmp_path}//cuda-11.3/./bin/../", "x")
    assert str(toolkit.path) == f"{tmp_path}/cuda-11.3"


def test_find_lists_each_once_newest_first(make, tmp_path):
    for version in ("9.2.88", "10.2.89", "11.3.0"):
        make(f"cuda-{version[:4].rstrip('.')}", txt=f"CUDA Version {version}")
    (tmp_path / "cuda").symlink_to("cuda-10.2")
    (tmp_path / "cuda-99-notes").mkdir()
    found = find_toolkits({}, roots=[tmp_path])
    assert [toolkit.version for toolkit in found] == ["11.3.0", "10.2.89", "9.2.88"]
    assert [toolkit.path.name for toolkit in found] == ["cuda-11.3", "cuda-10.2", "cuda-9.2"]
    assert {toolkit.found_via for toolkit in found} == {str(tmp_path)}


def test_find_looks_into_a_folder_of_versions(make, tmp_path):
    make("cuda/12.4", txt="CUDA Version 12.4.1")
    (toolkit,) = find_toolkits({}, roots=[tmp_path])
    assert toolkit.path == tmp_path / "cuda" / "12.4"


def test_find_takes_the_variables_and_ignores_empty_ones(make, tmp_path):
    folder = make("mine", txt="CUDA Version 11.8.0")
    (toolkit,) = find_toolkits({"CUDA_PATH": "", "CUDA_HOME": f"{folder}/"}, roots=[])
    assert (toolkit.path, toolkit.found_via) == (folder, "CUDA_HOME")
    assert find_toolkits({"CUDA_PATH": "", "CUDA_HOME": str(tmp_path / "none")}, roots=[]) == ()


def test_find_reads_this_process_variables_by_default(make, monkeypatch):
    folder = make("mine", txt="CUDA Version 11.8.0")
    monkeypatch.setenv("CUDA_PATH", str(folder))
    assert [toolkit.path for toolkit in find_toolkits(roots=[])] == [folder]


def test_a_variable_that_names_a_known_toolkit_adds_nothing(make, tmp_path):
    folder = make(txt="CUDA Version 11.3.1")
    assert len(find_toolkits({"CUDA_HOME": str(folder), "CUDA_PATH": os.fspath(folder)}, roots=[tmp_path])) == 1


def row(release, *, nvcc=True, name="x"):
    return Toolkit(release, release, Path(name), "test", has_nvcc=nvcc)


def test_choose_takes_the_first_of_the_release_that_compiles():
    rows = [row("13.0"), row("11.3", nvcc=False, name="a"), row("11.3", name="b"), row("11.3", name="c")]
    assert choose_toolkit("11.3", rows).path == Path("b")
    assert choose_toolkit("11.3", rows[:2]).path == Path("a")
    assert choose_toolkit("11.8", rows) is None
    assert choose_toolkit("11.8", [Toolkit(None, None, Path("x"), "test", has_nvcc=True)]) is None
