"""Toolkits of conda channels: real packages of local channels, whose compiler is a stub."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from envkit.model.conda_record import CondaRecord
from envkit.model.toolkit_record import ToolkitRecord
from tests.integration.test_cuda_install import left_behind, said
from tests.support.stub_toolkit import installed_record, stub_channels


@pytest.fixture(scope="module")
def channels(tmp_path_factory):
    return stub_channels(tmp_path_factory.mktemp("cuda-channels"))


@pytest.fixture
def conda(channels, conda_home):
    """The user's ``.condarc`` leads to the channels."""
    conda_home.condarc(channel_alias=channels.as_uri())
    return conda_home


def test_a_toolkit_of_nvidias_channel(envkit, conda):
    done = envkit("cuda", "install", "11.3", "--json")
    assert done.code == 0, done.err
    assert (done.json["installed"], done.json["source"]) == (True, "conda")
    assert [step["status"] for step in done.json["steps"]][:3] == ["pass", "pass", "pass"]
    folder = envkit.home / "toolkits" / "cuda-11.3.1"
    assert done.json["toolkit"]["path"] == str(folder)
    assert done.json["toolkit"]["version"] == "11.3.1"
    assert "release 11.3" in said(folder / "bin" / "nvcc", "--version")
    assert (folder / "lib64" / "libcudart.so").read_text() == "runtime"
    assert (folder / "targets/x86_64-linux/include/cuda.h").is_file()
    assert left_behind(envkit.home) == []
    # it is no environment, and shares no file with the package cache
    assert not (folder / "conda-meta").exists()
    assert envkit("list", "--json").json["environments"] == []
    assert not conda.environments_txt.exists() or str(folder) not in conda.environments_txt.read_text()
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert {path.stat().st_nlink for path in files} == {1}


def test_paths_in_its_files_lead_to_where_it_is(envkit, conda):
    with tempfile.TemporaryDirectory(prefix="e") as short:  # the packages leave room for no more
        for version in ("11.3.1", "11.8.0"):
            done = envkit("cuda", "install", version, env={"ENVKIT_HOME": short})
            assert done.code == 0, done.err
        folders = Path(short) / "toolkits"
        assert (folders / "cuda-11.3.1/share/where.txt").read_text() == f"prefix={folders / 'cuda-11.3.1'}\n"
        data = (folders / "cuda-11.8.0/share/where.bin").read_bytes()
    assert data.startswith(b"\0before\0" + os.fsencode(folders / "cuda-11.8.0") + b"/lib\0")
    assert data.endswith(b"\0after\0")
    assert b".envkit-new-" not in data


def test_a_path_that_is_too_long_for_its_programs_is_told(envkit, conda):
    done = envkit("cuda", "install", "11.8", "--json", env={"ENVKIT_HOME": str(envkit.home / ("x" * 100))})
    assert done.code == 2
    assert "ENVKIT_HOME" in done.json["error"]["hint"]


def test_headers_and_libraries_below_targets_are_where_tools_look(envkit, conda):
    """The label lacks a part: it comes from the channel itself, of that release; nvcc comes from the label alone."""
    done = envkit("cuda", "install", "12.6", "--json")
    assert done.code == 0, done.err
    folder = envkit.home / "toolkits" / "cuda-12.6.3"
    assert "release 12.6" in said(folder / "bin" / "nvcc", "--version")
    assert (folder / "include/cuda.h").is_file()
    assert (folder / "include/cub/cub.cuh").is_file()
    assert (folder / "lib64/libcudart.so").read_text() == "runtime"
    assert (folder / "lib64/libcudart_static.a").read_text() == "static"
    record = installed_record(envkit.home, "12.6.3").read_text()
    assert "cuda-cudart-dev-12.6.77-0.conda" in record
    found = envkit("cuda", "list", "--json").json["toolkits"]
    assert [item["found_via"] for item in found if item["version"] == "12.6.3"] == ["envkit"]


def test_the_same_again_asks_nobody_and_a_record_gives_the_same_files(envkit, conda, tmp_path):
    assert envkit("cuda", "install", "11.3").code == 0
    record = installed_record(envkit.home, "11.3.1")
    conda.condarc(channel_alias=(tmp_path / "nowhere").as_uri())
    again = envkit("cuda", "install", "11.3", "--json")
    assert (again.code, again.json["installed"]) == (0, False)
    kept = tmp_path / "kept.yaml"
    kept.write_bytes(record.read_bytes())
    assert envkit("cuda", "remove", "11.3.1").code == 0
    restored = envkit("cuda", "install", kept, "--offline", "--json")
    assert restored.code == 0, restored.err
    assert record.read_text().partition("packages:")[2] == kept.read_text().partition("packages:")[2]


def test_a_channel_that_is_out_of_reach_or_lacks_it_is_told(envkit, conda, tmp_path):
    lacks = envkit("cuda", "install", "11.7", "--json")
    assert lacks.code == 5
    assert "cuda-11.7.1" in lacks.json["error"]["message"]
    without = envkit("cuda", "install", "12.6", "--with", "cublas", "--json")
    assert without.code == 4
    assert "libcublas-dev" in str(without.json["error"])
    assert left_behind(envkit.home) == []


def test_a_record_with_a_channel_of_somebody_else_is_refused(envkit, tmp_path):
    package = CondaRecord("x", "1", "0", "https://example.org/x", "linux-64", "x-1-0.conda", "a" * 64)
    record = ToolkitRecord("11.3.1", "conda", "linux-64", (), (package,), "2026-11-30T14:59:01Z", "envkit 0.1.0")
    other = tmp_path / "other.yaml"
    other.write_text(record.to_text())
    done = envkit("cuda", "install", other)
    assert done.code == 4
    assert "https://example.org/x" in done.err
