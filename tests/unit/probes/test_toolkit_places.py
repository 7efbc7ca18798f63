"""What leads to a toolkit, one test for each: folders that only look like one, in places of the test's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envkit.errors import InvalidFileError, StorageError
from envkit.probes.toolkits import find_toolkits, search_toolkits
from tests.support.toolkit_folders import make_toolkit


def found(environ=None, roots=(), prefixes=()):
    return [(item.path, item.found_via) for item in search_toolkits(environ or {}, roots, prefixes).toolkits]


def configure(*patterns):
    file = Path(os.environ["ENVKIT_CONFIG"])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("schema: 1\ntoolkits:\n" + "".join(f'- "{pattern}"\n' for pattern in patterns))


@pytest.mark.parametrize("name", ["CUDA_HOME", "CUDA_PATH", "CUDA_PATH_V11_3"])
def test_a_variable(tmp_path, name):
    folder = make_toolkit(tmp_path / "mine")
    assert found({name: str(folder)}) == [(folder, name)]


@pytest.mark.parametrize("name", ["CUDA_PATH_V11", "CUDA_PATHS", "NVHPC", "NVHPC_ROOT"])
def test_a_variable_of_another_meaning_is_none(tmp_path, name):
    assert found({name: str(make_toolkit(tmp_path / "mine"))}) == []


@pytest.mark.parametrize("name", ["cuda", "cuda-11.3", "cuda-11", "cuda/11.3", "cuda_11.3"])
def test_a_folder_in_a_root(tmp_path, name):
    folder = make_toolkit(tmp_path / name)
    assert found(roots=[tmp_path]) == [(folder, str(tmp_path))]


def test_a_root_that_is_not_there_or_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    assert found(roots=[tmp_path / "none", tmp_path / "file"]) == []


def test_debians_package(tmp_path):
    """The real nvcc lies beside neither headers nor libraries, and /usr/lib/cuda has folders and no nvcc."""
    root = tmp_path / "usr" / "lib"
    folder = make_toolkit(root / "nvidia-cuda-toolkit", None, headers=False)
    (tmp_path / "usr" / "include").mkdir()
    (tmp_path / "usr" / "include" / "cuda.h").write_text("#define CUDA_VERSION 11080\n")
    for name in ("bin", "include", "lib64", "nvvm"):
        (root / "cuda" / name).mkdir(parents=True)
    (toolkit,) = search_toolkits({}, [root]).toolkits
    assert (toolkit.path, toolkit.found_via, toolkit.version) == (folder, str(root), "11.8")
    assert toolkit.is_complete
    assert search_toolkits({}, [root]).notes == ()


def test_the_hpc_sdk(tmp_path):
    release = tmp_path / "nvidia" / "hpc_sdk" / "Linux_x86_64" / "23.11"
    old, new = make_toolkit(release / "cuda" / "11.8", "11.8.0"), make_toolkit(release / "cuda" / "12.3", "12.3.1")
    (release / "cuda" / "include").mkdir()
    assert found(roots=[tmp_path]) == [(new, "HPC SDK"), (old, "HPC SDK")]
    assert found({"NVHPC_ROOT": str(release)}) == [(new, "NVHPC_ROOT"), (old, "NVHPC_ROOT")]
    assert found({"NVHPC": str(release.parents[1])}) == [(new, "NVHPC"), (old, "NVHPC")]
    (note,) = search_toolkits({"NVHPC_ROOT": str(tmp_path)}, []).notes
    assert note.message == f"{tmp_path} holds no CUDA toolkit of the NVIDIA HPC SDK."


def test_windows_program_files(tmp_path):
    """The folders as on Windows, looked at here; nvcc has its name here."""
    folder = make_toolkit(tmp_path / "NVIDIA GPU Computing Toolkit" / "CUDA" / "v11.3")
    assert found({"ProgramFiles": str(tmp_path)}) == [(folder, "ProgramFiles")]


def test_nvcc_on_path(tmp_path):
    folder = make_toolkit(tmp_path / "mine")
    assert found({"PATH": f"/nowhere{os.pathsep}{folder}/bin"}) == [(folder, "PATH")]


def test_a_wrapper_on_path_that_leads_nowhere_is_told(tmp_path):
    folder = make_toolkit(tmp_path / "x", None, nvcc="exit 1\n", headers=False)
    (note,) = search_toolkits({"PATH": f"{folder}/bin"}, []).notes
    assert note.message.startswith(f"{folder}/bin/nvcc is a wrapper, and of which toolkit cannot be told: ")
    assert note.found_via == "PATH"


@pytest.mark.parametrize("variable", ["CONDA_PREFIX", None])
def test_a_conda_prefix_with_nvcc(tmp_path, variable):
    prefix = make_toolkit(tmp_path / "env", None, headers=False)
    (prefix / "conda-meta").mkdir()
    (prefix / "targets" / "x86_64-linux" / "include").mkdir(parents=True)
    (prefix / "targets" / "x86_64-linux" / "include" / "cuda.h").write_text("#define CUDA_VERSION 12040\n")
    given = ({variable: str(prefix)}, (), ()) if variable else ({}, (), [prefix])
    (toolkit,) = search_toolkits(*given).toolkits
    assert (toolkit.path, toolkit.found_via, toolkit.version) == (prefix, "conda", "12.4")
    assert toolkit.environment == prefix
    assert toolkit.is_complete


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX", None])
def test_pypis_layout_in_an_environment(tmp_path, variable):
    prefix = tmp_path / "env"
    site = prefix / "lib" / "python3.11" / "site-packages" / "nvidia"
    folder = make_toolkit(site / "cu13", "13.0.1")
    (prefix / "pyvenv.cfg").write_text("")
    (prefix / "lib64").symlink_to("lib")
    make_toolkit(site / "cuda_nvcc", None, nvcc=None, headers=False)  # of CUDA 11 and 12: ptxas, no nvcc
    make_toolkit(site / "cu14", "14.0.0", nvcc=None)  # the libraries that torch needs
    given = ({variable: str(prefix)}, (), ()) if variable else ({}, (), [prefix])
    (toolkit,) = search_toolkits(*given).toolkits
    assert (toolkit.path, toolkit.found_via, toolkit.environment) == (folder, "site-packages", prefix)


def test_patterns_of_the_configuration(tmp_path):
    home = Path.home()
    module = make_toolkit(tmp_path / "apps" / "cuda" / "11.3.1")
    spack = make_toolkit(home / "spack" / "gcc-12" / "cuda-11.8-abcdef", "11.8.0")
    (tmp_path / "apps" / "cuda" / "modulefiles").mkdir()
    configure(f"{tmp_path}/apps/cuda/*", "~/spack/*/cuda-*", f"{tmp_path}/none/*", "relative/*", f"{tmp_path}/gone")
    assert found() == [(spack, "config.yaml"), (module, "config.yaml")]
    assert [note.message for note in search_toolkits({}, []).notes] == [
        f"{tmp_path}/none/* matches nothing on this machine.",
        "relative/* is no absolute path, so it is not looked at.",
        f"{tmp_path}/gone is not there.",
    ]


def test_a_link_that_leads_nowhere_among_those_of_a_pattern_is_told(tmp_path):
    (tmp_path / "cuda-11.3").symlink_to("gone")
    configure(f"{tmp_path}/cuda-*")
    (note,) = search_toolkits({}, []).notes
    assert note.message == f"{tmp_path}/cuda-11.3 is a link to gone, which is not there."


def test_a_broken_configuration_is_no_empty_one():
    configure("[")
    Path(os.environ["ENVKIT_CONFIG"]).write_text("schema: 1\ntoolkit: [x]\n")
    with pytest.raises(InvalidFileError, match="unknown key 'toolkit'"):
        find_toolkits({}, [])


def test_what_envkit_has_installed_and_what_was_added(tmp_path):
    toolkits = Path(os.environ["ENVKIT_HOME"]) / "toolkits"
    whole = make_toolkit(toolkits / "cuda-13.2.1", None)
    (whole / ".envkit").mkdir()
    (whole / ".envkit" / "toolkit.yaml").write_text("schema: 1\n")
    make_toolkit(toolkits / "cuda-13.0.1", None)  # cut off
    added = make_toolkit(tmp_path / "mine")
    (toolkits / "added.yaml").write_text(f"schema: 1\ntoolkits: ['{added}', '{tmp_path}/gone']\n")
    assert found({"CUDA_HOME": str(added)}) == [(whole, "envkit"), (added, "added")]
    (note,) = search_toolkits({}, []).notes
    assert (note.message, note.found_via) == (f"{tmp_path}/gone is not there.", "added")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("toolkits: [", "added.yaml:"),
        ("schema: 1\ntoolkits: [mine]\n", "'mine' is no absolute path"),
        ("schema: 1\ntoolkits: {}\n", "expected a list"),
        ("schema: 9\n", "this envkit reads up to 1"),
        (b"\xff\xfe", "cannot be read"),
    ],
    ids=["no YAML", "relative", "no list", "newer", "no text"],
)
def test_a_damaged_list_says_what_to_do(text, problem):
    file = Path(os.environ["ENVKIT_HOME"]) / "toolkits" / "added.yaml"
    file.parent.mkdir()
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InvalidFileError, match=r"added\.yaml") as caught:
        find_toolkits({}, [])
    assert problem in caught.value.message
    assert caught.value.hint


def test_a_list_that_must_not_be_read_is_not_called_damaged(monkeypatch):
    monkeypatch.setenv("ENVKIT_HOME", f"/{'x' * 300}")  # for root, too, no permission is needed to be refused so
    with pytest.raises(StorageError, match=r"Cannot use .*added\.yaml"):
        find_toolkits({}, [])


def test_of_two_names_the_users_own_is_kept(tmp_path):
    folder = make_toolkit(tmp_path / "cuda-11.3")
    (tmp_path / "mine").symlink_to(folder)
    configure(f"{tmp_path}/mine")
    assert found({"CUDA_HOME": str(folder)}, [tmp_path]) == [(tmp_path / "mine", "config.yaml")]
