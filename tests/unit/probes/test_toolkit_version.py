from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
import yaml

from envkit.probes import toolkit_version
from envkit.probes.nvcc import parse_nvcc_version
from envkit.probes.toolkit_version import read_version, release_of
from tests.support.toolkit_folders import make_toolkit, saying, stub_nvcc

DATA = Path(__file__).parents[2] / "data" / "nvcc"
ENTRIES = yaml.safe_load((DATA / "index.yaml").read_text(encoding="utf-8"))["entries"]


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry["file"] for entry in ENTRIES])
def test_parse_nvcc_version_reads_what_people_have_pasted(entry):
    found = parse_nvcc_version((DATA / entry["file"]).read_text(encoding="utf-8"))
    if entry["tool"] != "nvcc" or entry["release"] is None:
        assert found is None
    else:
        assert found == (entry["release"], entry["version"], entry["build"])


def test_the_corpus_is_whole():
    assert len(ENTRIES) == 13
    assert {path.name for path in DATA.glob("*.txt")} == {entry["file"] for entry in ENTRIES}


@pytest.mark.parametrize(
    "text",
    ["", "nvcc fatal : No input files specified", "release 11", "Cuda compilation tools, release x.y", "9" * 9000],
    ids=["nothing", "another message", "no minor", "no number", "digits"],
)
def test_parse_nvcc_version_of_anything_else_is_none(text):
    assert parse_nvcc_version(text) is None


NVCC = "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 11.0, V11.0.194\n"
PTXAS = "ptxas: NVIDIA (R) Ptx optimizing assembler\nCuda compilation tools, release 11.8, V11.8.89\n"


@pytest.mark.parametrize("text", [f"CentOS Linux release 7.9.2009 (Core)\n{NVCC}", PTXAS + NVCC, NVCC + PTXAS])
def test_parse_nvcc_version_among_other_outputs(text):
    assert parse_nvcc_version(text) == ("11.0", "11.0.194", None)


def test_parse_nvcc_version_of_other_releases_is_none():
    assert parse_nvcc_version("CentOS Linux release 7.9.2009 (Core)\n") is None
    assert parse_nvcc_version(PTXAS) is None


def test_parse_nvcc_version_without_the_compilers_number():
    assert parse_nvcc_version("Cuda compilation tools, release 11.3") == ("11.3", None, None)


@pytest.mark.parametrize(
    ("stated", "nvcc", "version"),
    [
        ("11.3.1", "11.3.109", "11.3.1"),
        ("13.0.3", "13.0.88", "13.0.3"),
        ("11.8.20220929", "11.8.89", "11.8.0"),
        ("12.2.20230823", "12.2.140", "12.2.2"),
        ("12.1.20230222", None, "12.1"),
        ("13.0.20250801", "13.0.88", "13.0"),
        ("12.2.140", None, "12.2.2"),
        ("11.8.20220929", "12.2.140", "11.8"),
        ("10.2.89", "10.2.89", "10.2.89"),
        ("12.4", None, "12.4"),
    ],
    ids=[
        "an update",
        "an update that the table does not have",
        "the day of the build",
        "the day of a later build",
        "a day alone",
        "a compiler of several updates",
        "a compiler's number (Jetson)",
        "the compiler of another release",
        "before 11.0",
        "the release",
    ],
)
def test_version_json_may_state_a_day_or_a_compilers_number_for_the_update(tmp_path, stated, nvcc, version):
    content = {"cuda": {"name": "CUDA SDK", "version": stated}}
    if nvcc is not None:
        content["cuda_nvcc"] = {"name": "CUDA NVCC", "version": nvcc}
    (tmp_path / "version.json").write_text(json.dumps(content, indent=3))
    assert read_version(tmp_path) == (version, ())
    assert release_of(version) == ".".join(stated.split(".")[:2])


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("version.json", "{", "is no JSON"),
        ("version.json", "[" * 100_000, "is no JSON"),
        ("version.json", '["cuda"]', "does not tell the toolkit's version"),
        ("version.json", '{"cuda": {"version": "new"}}', "does not tell the toolkit's version"),
        ("version.json", f'{{"cuda": {{"version": "11.{"3" * 5000}"}}}}', "does not tell the toolkit's version"),
        ("version.txt", "garbage", "does not tell the toolkit's version"),
    ],
    ids=["cut", "deep", "a list", "a word", "digits", "version.txt"],
)
def test_a_damaged_file_is_told_and_the_next_one_read(tmp_path, name, content, problem):
    (tmp_path / name).write_text(content)
    (tmp_path / "include").mkdir()
    (tmp_path / "include" / "cuda.h").write_text("#define CUDA_VERSION 11080\n")
    version, problems = read_version(tmp_path)
    assert version == "11.8"
    assert problems == (f"{tmp_path / name} {problem}.",)


def test_bytes_that_are_no_text_and_a_pipe_do_no_harm(tmp_path):
    (tmp_path / "version.txt").write_bytes(b"\xff\xfe\0\x80")
    os.mkfifo(tmp_path / "version.json")
    version, problems = read_version(tmp_path)
    assert version is None
    assert problems == (f"{tmp_path / 'version.txt'} does not tell the toolkit's version.",)


@pytest.mark.parametrize(
    ("header", "macro", "number", "version"),
    [
        ("include/cuda.h", "CUDA_VERSION", 13000, "13.0"),
        ("include/cuda_runtime_api.h", "CUDART_VERSION", 12080, "12.8"),
        ("targets/x86_64-linux/include/cuda.h", "CUDA_VERSION", 9020, "9.2"),
    ],
    ids=["driver interface", "runtime", "conda's packages"],
)
def test_headers_tell_the_release(tmp_path, header, macro, number, version):
    (tmp_path / header).parent.mkdir(parents=True)
    (tmp_path / header).write_text(f"/* {macro} 99990 */\n#define  {macro}   {number}\n")
    assert read_version(tmp_path).version == version


@pytest.mark.parametrize(
    ("release", "number", "version"),
    [
        ("11.3", "11.3.109", "11.3.1"),
        ("13.0", "13.0.88", "13.0"),
        ("11.1", "11.1.74", "11.1"),
        ("99.1", "99.1.5", "99.1"),
    ],
    ids=["one update", "several updates", "not sure", "unknown"],
)
def test_nvcc_is_asked_last_and_its_number_leads_to_the_update_where_only_one_has_it(
    tmp_path, release, number, version
):
    folder = make_toolkit(tmp_path / "x", None, nvcc=saying(release, number))
    assert read_version(folder) == (version, ())


def test_an_nvcc_that_fails_or_says_nothing_is_told(tmp_path):
    folder = make_toolkit(tmp_path / "x", None)
    nvcc = folder / "bin" / "nvcc"
    assert read_version(folder) == (None, (f"`{nvcc} --version` does not tell a version.",))
    nvcc.chmod(0o644)
    assert read_version(folder) == (None, (f"Cannot run {nvcc}: Permission denied.",))


def test_an_nvcc_that_hangs_is_stopped_and_told(tmp_path, monkeypatch):
    monkeypatch.setattr(toolkit_version, "NVCC_TIMEOUT_S", 0.3)
    folder = make_toolkit(tmp_path / "x", None, nvcc="sleep 60\n")
    began = time.monotonic()
    version, problems = read_version(folder)
    assert time.monotonic() - began < 10
    assert version is None
    assert problems == (f"{folder / 'bin' / 'nvcc'} did not end within 0.3 s and was stopped.",)


def test_one_that_envkit_has_installed_has_its_version_in_its_name(tmp_path):
    folder = tmp_path / "cuda-13.2.1"
    stub_nvcc(folder / "bin" / "nvcc")
    assert read_version(folder).version is None
    (folder / ".envkit").mkdir()
    (folder / ".envkit" / "toolkit.yaml").write_text("schema: 1\n")
    assert read_version(folder).version == "13.2.1"


def test_parse_nvcc_version_of_a_wrapper_that_prints_the_release_alone():
    assert parse_nvcc_version("release 11.3\n") == ("11.3", None, None)
    assert parse_nvcc_version("wrapped\n release 11.8, V11.8.89\n") == ("11.8", "11.8.89", None)
