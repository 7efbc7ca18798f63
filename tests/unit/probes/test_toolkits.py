from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from envkit.model.toolkit import Toolkit
from envkit.probes.toolkits import choose_toolkit, find_toolkits, look_at, search_toolkits, toolkit_at
from tests.support.toolkit_folders import add_cudnn, make_toolkit, saying

NOBODY = 65534
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
        ({"nvcc": NVCC}, "11.1.1", "11.1"),
        ({"json": "{", "txt": "", "header": "", "nvcc": NVCC}, "11.1.1", "11.1"),
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
    monkeypatch.setenv("PATH", "")
    assert [toolkit.path for toolkit in find_toolkits(roots=[])] == [folder]


def test_a_variable_that_names_a_known_toolkit_adds_nothing(make, tmp_path):
    folder = make(txt="CUDA Version 11.3.1")
    assert len(find_toolkits({"CUDA_HOME": str(folder), "CUDA_PATH": os.fspath(folder)}, roots=[tmp_path])) == 1


def messages(found):
    return [note.message for note in found.notes]


def test_a_partial_toolkit_says_what_it_lacks(tmp_path):
    headers = make_toolkit(tmp_path / "cuda-11.3", "11.3.1", nvcc=None)
    compiler = make_toolkit(tmp_path / "cuda-11.8", "11.8.0", headers=False)
    runtime = make_toolkit(tmp_path / "cuda-12.4", "12.4.1", nvcc=None, headers=False)
    (runtime / "targets" / "x86_64-linux" / "lib").mkdir(parents=True)
    (runtime / "targets" / "x86_64-linux" / "lib" / "libcudart.so.12").write_bytes(b"")
    found = search_toolkits({}, roots=[tmp_path])
    assert [(item.path, item.lacks(), item.is_complete) for item in found.toolkits] == [
        (runtime, "no nvcc, no headers", False),
        (compiler, "no headers", False),
        (headers, "no nvcc", False),
    ]
    assert found.notes == ()


def test_cudnn_is_looked_for_in_each(tmp_path):
    add_cudnn(make_toolkit(tmp_path / "cuda-11.3"))
    make_toolkit(tmp_path / "cuda-11.8", "11.8.0")
    with_it, without = sorted(find_toolkits({}, roots=[tmp_path]), key=lambda item: item.path)
    assert with_it.cudnn.version == "8.2.1"
    assert without.cudnn is None


ODD = {
    "dangling": "is a link to cuda-9.9, which is not there",
    "loop": "is a link that leads in a circle",
    "file": "is a file, and no folder",
    "empty": "holds no CUDA toolkit: neither bin/nvcc, nor CUDA's headers, nor its runtime library",
}


@pytest.mark.parametrize("oddity", ODD)
@pytest.mark.parametrize("name", ["cuda", "cuda-11.8", "CUDA_HOME"])
def test_an_odd_place_is_told_and_does_not_matter(tmp_path, oddity, name):
    good = make_toolkit(tmp_path / "cuda-11.3")
    place = tmp_path / name
    if oddity == "dangling":
        place.symlink_to("cuda-9.9")
    elif oddity == "loop":
        place.symlink_to(tmp_path / "round")
        (tmp_path / "round").symlink_to(place)
    elif oddity == "file":
        place.write_text("")
    else:
        place.mkdir()
    environ = {"CUDA_HOME": str(place)} if name == "CUDA_HOME" else {}
    found = search_toolkits(environ, roots=[tmp_path])
    assert [item.path for item in found.toolkits] == [good]
    assert messages(found) == [f"{place} {ODD[oddity]}."]
    assert [note.to_json()["found_via"] for note in found.notes] == ["CUDA_HOME" if environ else str(tmp_path)]


def test_a_variable_that_names_nothing_is_told(tmp_path):
    found = search_toolkits({"CUDA_HOME": str(tmp_path / "gone"), "CUDA_PATH": "/" + "x" * 300}, roots=[])
    assert found.toolkits == ()
    assert messages(found) == [f"/{'x' * 300} is not there.", f"{tmp_path / 'gone'} is not there."]


def test_names_that_promise_no_toolkit_are_passed_over(tmp_path):
    (tmp_path / "cuda-samples").mkdir()
    (tmp_path / "cuda_11.8.0_520.61.05_linux.run").write_text("")
    found = search_toolkits({}, roots=[tmp_path])
    assert (found.toolkits, found.notes) == ((), ())


@pytest.mark.parametrize("closed", ["cuda-11.3", "."])
def test_a_closed_folder_is_told_and_a_closed_root_passed_over(closed, monkeypatch):
    with tempfile.TemporaryDirectory() as name:  # not tmp_path, whose parents are closed to others than root
        root = Path(name)
        monkeypatch.setenv("ENVKIT_HOME", "/nowhere")
        monkeypatch.setenv("ENVKIT_CONFIG", "/nowhere/config.yaml")
        root.chmod(0o755)
        folder = make_toolkit(root / "cuda-11.3")
        environ = {"CUDA_HOME": str(folder)}
        (root / closed).chmod(0)
        before = os.geteuid()
        os.seteuid(NOBODY if before == 0 else before)  # root may look into every folder
        try:
            found = search_toolkits(environ, roots=[root])
        finally:
            os.seteuid(before)
            (root / closed).chmod(0o755)
    told = f"{folder} cannot be looked into: you have no permission for it."
    assert found.toolkits == ()
    assert [(note.found_via, note.message) for note in found.notes] == [
        *([(str(root), told)] if closed == "cuda-11.3" else []),
        ("CUDA_HOME", told),
    ]


def test_what_is_wrong_with_a_toolkits_files_is_told(tmp_path):
    folder = make_toolkit(tmp_path / "cuda-11.3", None, nvcc=saying("11.3", "11.3.109"))
    (folder / "version.json").write_text("{")
    found = search_toolkits({}, roots=[tmp_path])
    assert [item.version for item in found.toolkits] == ["11.3.1"]
    assert messages(found) == [f"{folder / 'version.json'} is no JSON."]


def test_a_link_without_a_release_gives_way_to_what_it_leads_to(tmp_path):
    """Administrators move `cuda` and `cuda-11`, so a hook must not record them."""
    real = make_toolkit(tmp_path / "elsewhere" / "kit-11.8", "11.8.0")
    named = make_toolkit(tmp_path / "root" / "cuda-11.3")
    (tmp_path / "root" / "cuda").symlink_to(real)
    (tmp_path / "root" / "cuda-11").symlink_to("cuda-11.3")
    found = find_toolkits({}, roots=[tmp_path / "root"])
    assert [item.path for item in found] == [real, named]


def test_a_link_with_a_release_keeps_its_name_before_a_link_to_it(tmp_path):
    make_toolkit(tmp_path / "store" / "x")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "cuda-11.3").symlink_to(tmp_path / "store" / "x")
    (tmp_path / "root" / "cuda").symlink_to("cuda-11.3")
    (toolkit,) = find_toolkits({}, roots=[tmp_path / "root"])
    assert toolkit.path == tmp_path / "root" / "cuda-11.3"


def test_the_systems_own_folder_is_none(tmp_path, monkeypatch):
    folder = make_toolkit(tmp_path / "usr")
    monkeypatch.setattr("envkit.probes.toolkit_files.SYSTEM_BINS", {os.path.realpath(folder / "bin")})
    assert "its bin is the system's" in look_at(folder, "CUDA_HOME").why_not
    (linked := tmp_path / "cuda-9.1").mkdir()
    (linked / "bin").symlink_to(folder / "bin")
    assert toolkit_at(linked, "x") is None


@pytest.mark.parametrize("mark", ["conda-meta", "pyvenv.cfg"])
def test_a_part_of_an_environment_is_known_as_such(tmp_path, mark):
    (tmp_path / "env" / mark).mkdir(parents=True)
    inside = make_toolkit(tmp_path / "env" / "lib" / "cu13", "13.0.1")
    (tmp_path / "cuda-13.0").symlink_to(inside)
    for path in (inside, tmp_path / "cuda-13.0"):
        toolkit = toolkit_at(path, "CUDA_HOME")
        assert (toolkit.environment, toolkit.is_shared) == (tmp_path / "env", False)
        assert choose_toolkit("13.0", [toolkit]) is None
    assert toolkit_at(inside, "added").is_shared
    (inside / ".envkit").mkdir()
    (inside / ".envkit" / "toolkit.yaml").write_text("")
    assert toolkit_at(inside, "CUDA_HOME").environment is None


def row(release, *, nvcc=True, name="x"):
    return Toolkit(release, release, Path(name), "test", has_nvcc=nvcc)


def test_choose_takes_the_first_of_the_release_that_compiles():
    rows = [row("13.0"), row("11.3", nvcc=False, name="a"), row("11.3", name="b"), row("11.3", name="c")]
    assert choose_toolkit("11.3", rows).path == Path("b")
    assert choose_toolkit("11.3", rows[:2]).path == Path("a")
    assert choose_toolkit("11.8", rows) is None
    assert choose_toolkit("11.8", [Toolkit(None, None, Path("x"), "test", has_nvcc=True)]) is None


def test_choose_takes_a_complete_one_before_one_without_headers():
    bare = Toolkit("11.3.1", "11.3", Path("a"), "test", has_nvcc=True, has_headers=False)
    assert choose_toolkit("11.3", [bare, row("11.3.0", nvcc=False), row("11.3", name="c")]).path == Path("c")
    assert choose_toolkit("11.3", [row("11.3", nvcc=False), bare]) is bare


@pytest.mark.parametrize(
    ("wanted", "path"),
    [("11.3", "a"), ("11.3.1", "a"), ("11.3.0", "b"), ("11.3.2", "c"), ("11.8.0", None), ("11", None), ("x.y", None)],
)
def test_choose_compares_a_full_version_as_far_as_it_is_known(wanted, path):
    rows = [row("11.3.1", name="a"), row("11.3.0", name="b"), row("11.3", name="c"), row("11.8.1", name="d")]
    chosen = choose_toolkit(wanted, rows)
    assert (None if chosen is None else str(chosen.path)) == path
