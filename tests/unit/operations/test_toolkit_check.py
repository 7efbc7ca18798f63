"""Checking a toolkit; what fails here fails through a stub of nvcc, unless a test says that it is the real one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from envkit.errors import NotFoundError, UsageError, VerificationFailedError
from envkit.model.progress import Silent
from envkit.model.toolkit_report import STEPS
from envkit.operations.toolkit_check import CheckResult, _code_for, check, check_toolkit
from envkit.probes.toolkits import toolkit_at
from tests.support.toolkits import linked_toolkit, real_toolkit, stub_toolkit

GPU = "printf 'driver 12040\\nruntime 11030\\ndevice 8.6 NVIDIA GeForce RTX 3090\\n'"
COMPUTES = f'{GPU}; if [ "${{1-}}" = kernel ]; then echo compared 4096; fi'
UNSUPPORTED = "echo 'error: -- unsupported GNU version! gcc versions later than 10 are not supported!' >&2; exit 1"


@pytest.fixture
def real() -> Path:
    """The real toolkit of this machine, with a g++ for it."""
    found = real_toolkit()
    if found is None:
        pytest.skip("no CUDA toolkit with nvcc in /usr/local")
    if shutil.which("g++") is None:
        pytest.skip("g++ is not on PATH")
    return found


@pytest.fixture
def path(tmp_path, monkeypatch):
    """A PATH of its own: the shell's everyday programs, and compilers whose version a test sets."""
    folder = tmp_path / "path"
    folder.mkdir()
    for name in ("sh", "cat", "chmod", "touch", "sleep", "env"):
        (folder / name).symlink_to(shutil.which(name))
    monkeypatch.setenv("PATH", str(folder))

    def add(name: str, version: str) -> None:
        program = folder / name
        program.write_text(f"#!/bin/sh\n# a stub of g++\necho {version}\n")
        program.chmod(0o755)

    return add


class Notes(Silent):
    def __init__(self):
        self.told = []

    def note(self, text):
        self.told.append(text)


def check_stub(folder, release="11.3", *, timeout_s=30, **behaviour):
    toolkit = toolkit_at(stub_toolkit(folder, release, **behaviour), "test")
    return check_toolkit(toolkit, Silent(), timeout_s=timeout_s)


def statuses(report):
    assert [step.step for step in report.steps] == list(STEPS)
    return [step.status for step in report.steps]


def step(report, name):
    return next(item for item in report.steps if item.step == name)


def test_the_real_toolkit(real):
    report = check_toolkit(toolkit_at(real, "test"), Silent())
    assert statuses(report)[:3] == ["pass"] * 3
    assert report.compiles
    assert report.failure is None
    assert report.facts("version")["nvcc"].startswith(report.toolkit.release)
    assert report.facts("compile")["architecture"].startswith("compute_")
    if report.facts("device")["driver_cuda"] is None:
        assert statuses(report)[3:] == ["skip", "skip"]
        assert "driver" in step(report, "device").reason
    assert CheckResult(report).error is None


def test_the_real_toolkit_without_libcudart_does_not_link(real, tmp_path):
    folder = linked_toolkit(tmp_path / "a toolkit", real, without="libcudart*")
    report = check_toolkit(toolkit_at(folder, "test"), Silent())
    assert statuses(report) == ["pass", "pass", "fail", "skip", "skip"]
    assert "cudart" in step(report, "link").reason
    assert "not all there" in step(report, "link").hint
    assert not report.compiles


def test_the_real_toolkit_without_headers_does_not_compile(real, tmp_path):
    folder = linked_toolkit(tmp_path / "toolkit", real, without="cuda_runtime.h")
    report = check_toolkit(toolkit_at(folder, "test"), Silent())
    assert statuses(report) == ["pass", "fail", "skip", "skip", "skip"]
    assert "cuda_runtime.h" in step(report, "compile").reason
    assert "headers" in step(report, "compile").hint


def test_flags_of_the_environment_are_left_out_and_that_is_told(real, monkeypatch):
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "--no-such-flag")
    notes = Notes()
    report = check_toolkit(toolkit_at(real, "test"), notes)
    assert report.compiles
    assert ["NVCC_APPEND_FLAGS" in told for told in notes.told] == [True]


def test_a_gpu_computes(tmp_path):
    report = check_stub(tmp_path / "cuda", program=COMPUTES)
    assert statuses(report) == ["pass"] * 5
    assert report.facts("device")["devices"] == [{"name": "NVIDIA GeForce RTX 3090", "compute_capability": "8.6"}]
    assert report.facts("device")["driver_cuda"] == "12.4"
    assert report.facts("device")["runtime_cuda"] == "11.3"
    assert report.facts("kernel") == {"code": "arch=compute_86,code=sm_86", "compared": 4096}
    compiled = (tmp_path / "cuda" / "compiled.txt").read_text().splitlines()
    assert ["compute_86" in line for line in compiled] == [True, True]
    assert "sm_86" in compiled[1]


def test_the_toolkit_of_the_check_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("CUDA_HOME", "/elsewhere")
    folder = tmp_path / "cuda"
    show = f'printf \'%s\\n\' "$CUDA_HOME" "$CUDA_PATH" "${{PATH%%:*}}" "${{NVCC_CCBIN-none}}" >"{folder}/seen"'
    check_stub(folder, compile=f"{show}; touch check.o", program=COMPUTES)
    assert (folder / "seen").read_text().splitlines() == [str(folder), str(folder), f"{folder}/bin", "none"]


def test_another_release_than_the_folder_says(tmp_path):
    report = check_stub(tmp_path / "cuda", "11.3", says="11.8")
    assert statuses(report) == ["fail", *["skip"] * 4]
    assert "11.8" in report.failure.reason
    assert "11.3" in report.failure.reason
    error = CheckResult(report).error
    assert isinstance(error, VerificationFailedError)
    assert "step version failed" in error.message


@pytest.mark.parametrize(
    ("code", "said"), [("exit 3", "exit status 3"), ("echo hello", "tells no version"), ("kill -SEGV $$", "signal 11")]
)
def test_nvcc_that_does_not_tell_its_version(tmp_path, code, said):
    report = check_stub(tmp_path / "cuda", version=code)
    assert statuses(report) == ["fail", *["skip"] * 4]
    assert said in report.failure.reason


def test_nvcc_of_another_processor(tmp_path):
    folder = stub_toolkit(tmp_path / "cuda", "11.3")
    (folder / "bin" / "nvcc").write_bytes(b"\x7fELF nothing that runs here")
    report = check_toolkit(toolkit_at(folder, "test"), Silent())
    assert report.failure.step == "version"
    assert "Cannot run" in report.failure.reason


def test_a_toolkit_without_nvcc(tmp_path):
    folder = stub_toolkit(tmp_path / "cuda", "11.3")
    (folder / "bin" / "nvcc").unlink()
    report = check_toolkit(toolkit_at(folder, "test"), Silent())
    assert report.failure.step == "version"
    assert "no compiler" in report.failure.reason


def test_nvcc_that_hangs_is_stopped(tmp_path):
    report = check_stub(tmp_path / "cuda", compile="sleep 60", timeout_s=0.5)
    assert statuses(report) == ["pass", "fail", "skip", "skip", "skip"]
    assert "0.5 s" in report.failure.reason


def test_a_compile_failure_tells_what_nvcc_said(tmp_path, path):
    path("gcc", "9.4.0")
    path("g++", "9.4.0")
    report = check_stub(tmp_path / "cuda", compile="echo 'ptxas fatal: out of wishes' >&2; exit 1")
    assert report.failure.step == "compile"
    assert "out of wishes" in report.failure.reason
    assert CheckResult(report).to_json()["steps"][1]["status"] == "fail"


def test_too_new_a_gcc_is_told_as_the_reason(tmp_path, path):
    path("gcc", "12.2.0")
    path("g++", "12.2.0")
    report = check_stub(tmp_path / "cuda", compile=UNSUPPORTED)
    first = report.failure.reason.splitlines()[0]
    assert first.startswith("nvcc of CUDA 11.3 takes gcc 10 at most; here it is gcc 12")
    assert "g++-10" in report.failure.hint
    assert report.facts("compile")["host_limit"] == 10


def test_too_new_a_gcc_that_works_all_the_same_passes(tmp_path, path):
    path("gcc", "12.2.0")
    path("g++", "12.2.0")
    assert check_stub(tmp_path / "cuda", program=COMPUTES).compiles


def test_an_allowed_gcc_beside_too_new_a_one(tmp_path, path):
    path("gcc", "12.2.0")
    path("g++", "12.2.0")
    path("g++-10", "10.1.0")  # without its gcc
    for name in ("gcc-9", "g++-9", "gcc-8", "g++-8"):
        path(name, "9.4.0")
    report = check_stub(tmp_path / "cuda", program=COMPUTES)
    assert report.facts("compile")["host_compiler"] == "g++-9"
    assert f"-ccbin {os.environ['PATH']}/g++-9 " in (tmp_path / "cuda" / "compiled.txt").read_text()


def test_the_users_own_host_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("NVCC_CCBIN", "/opt/gcc 9/bin/g++")
    report = check_stub(tmp_path / "cuda", program=COMPUTES)
    assert report.facts("compile")["host_chosen_by"] == "NVCC_CCBIN"
    assert "-ccbin /opt/gcc 9/bin/g++ " in (tmp_path / "cuda" / "compiled.txt").read_text()


def test_no_host_compiler_at_all(tmp_path, path):
    report = check_stub(tmp_path / "cuda")
    assert report.failure.step == "compile"
    assert "not both on PATH" in report.failure.reason
    assert not (tmp_path / "cuda" / "compiled.txt").exists()


def test_gcc_without_gpp_is_no_host_compiler(tmp_path, path):
    path("gcc", "10.2.1")
    assert "not both on PATH" in check_stub(tmp_path / "cuda").failure.reason


def test_only_compilers_with_a_version_in_their_names(tmp_path, path):
    for name in ("gcc-10", "g++-10"):
        path(name, "10.2.1")
    report = check_stub(tmp_path / "cuda", program=COMPUTES)
    assert report.facts("compile")["host_compiler"] == "g++-10"


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("#error -- unsupported GNU version! gcc versions later than 10 are not supported!", "NVCC_CCBIN"),
        ("nvcc fatal   : Cannot find compiler 'cl.exe' in PATH", "Native Tools"),
        ("check.cu:4:10: fatal error: cuda_runtime.h: No such file or directory", "headers"),
    ],
)
def test_hints_for_failures_that_are_known(tmp_path, monkeypatch, said, hint):
    monkeypatch.setenv("NVCC_CCBIN", "g++")
    report = check_stub(tmp_path / "cuda", compile=f'echo "{said}" >&2; exit 1')
    assert hint in report.failure.hint


def test_no_link(tmp_path, monkeypatch):
    monkeypatch.setenv("NVCC_CCBIN", "g++")
    report = check_stub(tmp_path / "cuda", link="echo '/usr/bin/ld: cannot find -lcudart_static' >&2; exit 1")
    assert statuses(report) == ["pass", "pass", "fail", "skip", "skip"]
    assert "not all there" in report.failure.hint


@pytest.mark.parametrize(
    ("program", "variables", "status", "words"),
    [
        ("echo driver 0; echo error cudaErrorInsufficientDriver; exit 2", {}, "skip", "no NVIDIA driver"),
        ("echo driver 12040; echo error cudaErrorNoDevice; exit 2", {}, "skip", "driver shows none"),
        (
            "echo driver 12040; echo error cudaErrorNoDevice; exit 2",
            {"CUDA_VISIBLE_DEVICES": ""},
            "skip",
            "CUDA_VISIBLE_DEVICES='' hides",
        ),
        (
            "echo driver 11020; echo runtime 13000; echo error cudaErrorInsufficientDriver; exit 2",
            {},
            "fail",
            "serves CUDA 11.2: too old for programs of CUDA 13.0",
        ),
        ("echo driver 12040; echo error x; echo error_text it broke: badly; exit 2", {}, "fail", "it broke: badly"),
        ("kill -SEGV $$", {}, "fail", "signal 11"),
        ("echo driver 12040; exit 0", {}, "fail", "told no reason"),
    ],
)
def test_what_the_program_says_of_the_gpu(tmp_path, monkeypatch, program, variables, status, words):
    monkeypatch.setenv("NVCC_CCBIN", "g++")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    report = check_stub(tmp_path / "cuda", program=program)
    assert step(report, "device").status == status
    assert words in step(report, "device").reason
    assert step(report, "kernel").status == "skip"
    assert report.compiles


def test_a_wrong_result_of_the_kernel(tmp_path, monkeypatch):
    monkeypatch.setenv("NVCC_CCBIN", "g++")
    wrong = f'{GPU}; [ -z "${{1-}}" ] || {{ echo error wrong_result; echo error_text element 3 is 9, not 10; exit 3; }}'
    report = check_stub(tmp_path / "cuda", program=wrong)
    assert statuses(report) == ["pass"] * 4 + ["fail"]
    assert report.failure.reason == "element 3 is 9, not 10"


def test_no_code_for_the_gpu_at_compile_time(tmp_path, monkeypatch):
    monkeypatch.setenv("NVCC_CCBIN", "g++")
    compiling = (
        'case "$*" in *sm_86*) echo "nvcc fatal: Unsupported gpu architecture" >&2; exit 1 ;; esac; touch check.o'
    )
    report = check_stub(tmp_path / "cuda", compile=compiling, program=COMPUTES)
    assert report.failure.step == "kernel"
    assert "Unsupported gpu architecture" in report.failure.reason


def test_a_gpu_that_is_too_old_for_the_toolkit_is_no_failure(tmp_path, monkeypatch):
    monkeypatch.setenv("NVCC_CCBIN", "g++")
    report = check_stub(tmp_path / "cuda", "13.0", program="echo driver 13000; echo device 7.0 Tesla V100")
    assert statuses(report) == ["pass"] * 4 + ["skip"]
    assert "7.0" in step(report, "kernel").reason
    assert report.failure is None


@pytest.mark.parametrize(
    ("capability", "known", "code"),
    [
        (86, (75, 80, 86), "arch=compute_86,code=sm_86"),
        (89, (75, 80, 86), "arch=compute_86,code=compute_86"),
        (120, (75, 80, 86), "arch=compute_86,code=compute_86"),
        (70, (75, 80, 86), None),
        (90, (), "arch=compute_90,code=sm_90"),
    ],
)
def test_code_for_a_gpu(capability, known, code):
    assert _code_for(capability, known) == code


def test_a_release_that_the_tables_do_not_know_is_compiled_with_nvccs_default(tmp_path, monkeypatch):
    monkeypatch.setenv("NVCC_CCBIN", "g++")
    report = check_stub(tmp_path / "cuda", "17.9", program=COMPUTES)
    assert statuses(report) == ["pass"] * 5
    assert report.facts("compile")["architecture"] is None
    assert "-gencode" not in (tmp_path / "cuda" / "compiled.txt").read_text().splitlines()[0]


def test_by_folder_and_by_a_name_that_is_none(tmp_path):
    folder = stub_toolkit(tmp_path / "cuda", "11.3", says="11.4")
    assert isinstance(check(str(folder), Silent()).error, VerificationFailedError)
    with pytest.raises(UsageError):
        check("none", Silent())
    with pytest.raises(NotFoundError):
        check("1.0", Silent())


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setenv("NVCC_CCBIN", "g++")
    check_stub(tmp_path / "cuda", compile="touch check.o rest", program=COMPUTES)
    cache = Path(os.environ["XDG_CACHE_HOME"])
    assert [found for found in cache.rglob("*") if found.is_file()] == []
