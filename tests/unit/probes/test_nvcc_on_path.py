from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from envkit.probes import nvcc_on_path
from envkit.probes.nvcc_on_path import nvccs_on_path
from tests.support.toolkit_folders import make_toolkit, stub_nvcc

WRAPPER = Path("/usr/local/bin/nvcc")
DRYRUN = "echo '#$ _SPACE_= ' >&2\necho '#$ TOP={}/bin/..' >&2\n"


@pytest.fixture
def toolkit(tmp_path):
    return make_toolkit(tmp_path / "kits" / "cuda-11.3", nvcc="touch ran\n")


@pytest.fixture
def found(tmp_path):
    """The nvcc in a folder ``wrap``; fails the test when the toolkit's own was run."""

    def _found(*folders):
        path = os.pathsep.join(map(str, folders or (tmp_path / "wrap",)))
        return [(item.folder, item.problem) for item in nvccs_on_path({"PATH": path})]

    yield _found
    assert not (tmp_path / "ran").exists()
    assert not Path("ran").exists()


def test_the_folder_above_the_program_is_the_toolkit(toolkit, found):
    assert found(toolkit / "bin") == [(toolkit, None)]


def test_a_link_to_the_folder_keeps_its_name(toolkit, found):
    link = toolkit.with_name("cuda")
    link.symlink_to("cuda-11.3")
    assert found(link / "bin") == [(link, None)]


def test_a_link_is_followed_to_its_end(toolkit, found, tmp_path):
    (tmp_path / "wrap").mkdir()
    (tmp_path / "alternatives").symlink_to(toolkit / "bin" / "nvcc")
    (tmp_path / "wrap" / "nvcc").symlink_to(tmp_path / "alternatives")
    assert found() == [(toolkit, None)]


def test_a_link_inside_the_same_folder_is_the_compilers_own(toolkit, found):
    (toolkit / "bin" / "nvcc").rename(toolkit / "bin" / "nvcc-11.3")
    (toolkit / "bin" / "nvcc").symlink_to("nvcc-11.3")
    assert found(toolkit / "bin") == [(toolkit, None)]


@pytest.mark.parametrize(
    "text",
    [
        'exec {} "$@"\n',
        'exec "{}" "$@"\n',
        "exec '{}' \"$@\"\n",
        "# not /nowhere/bin/nvcc\nNVCC={};exec $NVCC $@\n",
        'args=()\nfor arg in "$@"; do\n  args+=("$arg")\ndone\n{} -allow-unsupported-compiler "${{args[@]}}"\n',
        'exec ccache {} "$@"\n',
        'if [ -x /no/such/nvcc ]; then exec /no/such/nvcc "$@"; fi\nexec {} "$@"',
    ],
    ids=["plain", "double quotes", "single quotes", "variable", "own options", "ccache", "two, one of which is there"],
)
def test_a_script_is_read_and_not_run(toolkit, found, tmp_path, text):
    stub_nvcc(tmp_path / "wrap" / "nvcc", text.format(toolkit / "bin" / "nvcc"))
    assert found() == [(toolkit, None)]


def test_a_script_may_name_a_folder_with_a_blank_and_another_script(found, tmp_path):
    toolkit = make_toolkit(tmp_path / "my cuda")
    stub_nvcc(tmp_path / "second" / "nvcc", f'exec "{toolkit}/bin/nvcc" "$@"\n')
    stub_nvcc(tmp_path / "wrap" / "nvcc", f"exec {tmp_path}/second/nvcc\n")
    assert found() == [(toolkit, None)]


def test_two_scripts_that_name_each_other_end(found, tmp_path):
    for one, other in (("wrap", "second"), ("second", "wrap")):
        stub_nvcc(tmp_path / one / "nvcc", f"exit 1; exec {tmp_path}/{other}/nvcc\n")
    ((folder, problem),) = found()
    assert folder is None
    assert "is a wrapper" in problem


def test_a_wrapper_that_names_nothing_is_asked(toolkit, found, tmp_path):
    stub_nvcc(tmp_path / "wrap" / "nvcc", DRYRUN.format(toolkit))
    assert found() == [(toolkit, None)]


@pytest.mark.parametrize("text", ["exit 1\n", "echo '#$ TOP=here' >&2\n"], ids=["fails", "names no folder"])
def test_a_wrapper_that_does_not_tell_is_told(found, tmp_path, text):
    nvcc = stub_nvcc(tmp_path / "wrap" / "nvcc", text)
    problem = f"is a wrapper, and of which toolkit cannot be told: `{nvcc} --dryrun` does not name its folder"
    assert found() == [(None, problem)]


def test_a_wrapper_that_hangs_is_stopped_and_asked_once(found, tmp_path, monkeypatch):
    monkeypatch.setattr(nvcc_on_path, "_TIMEOUT_S", 0.3)
    nvcc = stub_nvcc(tmp_path / "wrap" / "nvcc", f"echo x >> {tmp_path}/asked\nsleep 60\n")
    began = time.monotonic()
    for _ in range(2):
        ((folder, problem),) = found()
    assert time.monotonic() - began < 10
    assert (folder, f"{nvcc} did not end within 0.3 s and was stopped" in problem) == (None, True)
    assert (tmp_path / "asked").read_text() == "x\n"


@pytest.mark.parametrize("launcher", ["ccache", "sccache"])
def test_a_compiler_launcher_is_no_toolkit(toolkit, found, tmp_path, launcher):
    stub_nvcc(tmp_path / "usr" / "bin" / launcher, "touch ran\n")
    (tmp_path / "usr" / "include").mkdir()
    (tmp_path / "usr" / "include" / "cuda.h").write_text("")
    (tmp_path / "wrap").mkdir()
    (tmp_path / "wrap" / "nvcc").symlink_to(tmp_path / "usr" / "bin" / launcher)
    assert found(tmp_path / "wrap", toolkit / "bin") == [(None, None), (toolkit, None)]


def test_the_systems_own_bin_is_no_toolkit_whatever_lies_beside(found, tmp_path, monkeypatch):
    make_toolkit(tmp_path / "usr", nvcc="exit 1\n")
    monkeypatch.setattr("envkit.probes.toolkit_files.SYSTEM_BINS", {os.path.realpath(tmp_path / "usr" / "bin")})
    ((folder, problem),) = found(tmp_path / "usr" / "bin")
    assert folder is None
    assert "is a wrapper" in problem


def test_a_folder_with_cuda_in_its_name_is_believed(found, tmp_path):
    stub_nvcc(tmp_path / "cuda-11.3" / "bin" / "nvcc", "exit 1\n")
    assert found(tmp_path / "cuda-11.3" / "bin") == [(tmp_path / "cuda-11.3", None)]


def test_what_is_no_program_is_passed_over(toolkit, found, tmp_path):
    (tmp_path / "wrap" / "nvcc").mkdir(parents=True)
    (toolkit / "bin" / "nvcc").chmod(0o644)
    assert found(tmp_path / "wrap", toolkit / "bin", "", "relative", tmp_path / "none") == []


def test_without_path_there_is_none():
    assert list(nvccs_on_path({})) == []


@pytest.mark.skipif(not WRAPPER.is_file(), reason="no nvcc in /usr/local/bin")
def test_the_real_wrapper_leads_to_the_real_toolkit():
    ((folder, problem),) = ((item.folder, item.problem) for item in nvccs_on_path({"PATH": "/usr/local/bin"}))
    assert problem is None
    assert (folder / "include" / "cuda_runtime.h").is_file()


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")
def test_a_real_nvcc_tells_its_folder_when_it_is_asked():
    real = next(item.folder for item in nvccs_on_path(os.environ) if item.folder is not None)
    assert nvcc_on_path._asked(real / "bin" / "nvcc") == Path(os.path.realpath(real))
