from __future__ import annotations

import re

import pytest
import yaml
from packaging.utils import parse_wheel_filename

from envkit import resources
from envkit.compat.tables import version_key
from envkit.compat.toolkit_wheels import newest_wheel_toolkit, toolkit_wheels, wheel_libraries, wheel_toolkits

TABLE = yaml.load(resources.data_file("toolkit_wheels.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
PLATFORMS = {"linux-64": "x86_64.whl", "linux-aarch64": "aarch64.whl", "win-64": "win_amd64.whl"}
NEEDED = {"nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-crt", "nvidia-cuda-cccl", "nvidia-cuda-runtime"}


def test_toolkits_are_once_there_and_newest_first():
    versions = list(wheel_toolkits())
    assert versions == sorted(set(versions), key=version_key, reverse=True)
    assert all(re.fullmatch(r"13\.\d+\.\d+", version) for version in versions)
    assert {"13.0.2", "13.2.2", "13.5.0"} <= set(versions)
    assert not {row["toolkit"] for row in TABLE["left_out"]} & set(versions)


@pytest.mark.parametrize("row", TABLE["toolkits"], ids=[row["toolkit"] for row in TABLE["toolkits"]])
def test_each_toolkit_cites_its_sources_and_has_whole_entries(row):
    assert row["status"] == "confirmed"
    assert set(row["src"]) == set(TABLE["sources"])
    assert set(row["platforms"]) == set(PLATFORMS)
    for platform, files in row["platforms"].items():
        names = [entry["name"] for entry in files["packages"]]
        assert names == sorted(set(names))
        assert {name for extra in files["extras"].values() for name in extra} == set(names)
        assert set(names) >= NEEDED
        for entry in files["packages"]:
            assert set(entry) == {"name", "version", "file", "sha256", "size"}
            name, version = parse_wheel_filename(entry["file"])[:2]
            assert (name, str(version)) == (entry["name"], entry["version"])
            assert entry["file"].endswith(PLATFORMS[platform])
            assert re.fullmatch(r"[0-9a-f]{64}", entry["sha256"])
            assert entry["size"] > 0


def test_no_file_has_two_hashes():
    entries = [entry for row in TABLE["toolkits"] for files in row["platforms"].values() for entry in files["packages"]]
    assert len({(entry["file"], entry["sha256"]) for entry in entries}) == len({entry["file"] for entry in entries})


@pytest.mark.parametrize(
    ("asked", "meant"), [("13.2", "13.2.2"), ("13.2.1", "13.2.1"), ("13.5", "13.5.0"), ("13.0.0", None), ("12.4", None)]
)
def test_a_release_means_its_newest_update(asked, meant):
    assert newest_wheel_toolkit(asked) == meant


def test_libraries_come_when_they_are_asked_for_with_those_that_they_need():
    plain = {item.name for item in toolkit_wheels("13.2.2", "linux-64")}
    assert plain >= NEEDED
    assert not any("cublas" in name or "cusolver" in name for name in plain)
    more = {item.name for item in toolkit_wheels("13.2.2", "linux-64", ("cusolver",))}
    assert more - plain == {"nvidia-cusolver", "nvidia-cublas", "nvidia-cusparse", "nvidia-nvjitlink"}
    every = {item.name for item in toolkit_wheels("13.2.2", "win-64", wheel_libraries())}
    assert {"nvidia-cufft", "nvidia-curand", "nvidia-cuda-nvrtc", "nvidia-cuda-cupti"} <= every


def test_the_compiler_and_what_it_needs_are_a_small_download():
    assert sum(item.size for item in toolkit_wheels("13.2.2", "linux-64")) < 150_000_000


def test_there_is_none_for_other_systems_and_versions():
    assert toolkit_wheels("13.2.2", "osx-arm64") is None
    assert toolkit_wheels("12.4.1", "linux-64") is None
