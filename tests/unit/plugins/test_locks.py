"""Locks for conda: read for ``conda env create``, written for ``conda export``."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from envkit.model.conda_record import _KEYS
from envkit.model.lock import parse_lock
from envkit.model.lock_text import render_lock as render
from envkit.model.spec import PLATFORMS
from envkit.plugins.conda_work import lock_text
from envkit.plugins.conda_work.lock_file import CondaLock, LockProblemError, looks_like_lock, read_lock
from envkit.plugins.conda_work.lock_text import (
    NotExportableError,
    build_cuda,
    conda_only,
    managed_lock,
    render_lock,
)
from envkit.plugins.conda_work.record import Managed

ROOT = Path(__file__).parents[3]
PYTHON = {
    "name": "python", "version": "3.9.18", "build": "h0755675_1_cpython", "channel": "conda-forge",
    "subdir": "linux-64", "file": "python-3.9.18-h0755675_1_cpython.conda", "sha256": "a" * 64, "size": 23_000_000,
    "md5": "b" * 32, "build_number": 1, "depends": ["bzip2 >=1.0.8,<2.0a0", "libffi >=3.4,<4.0a0"],
    "constrains": ["python_abi 3.9.* *_cp39"], "timestamp": 1_693_000_000_000, "license": "Python-2.0",
    "requested": "python 3.9.*", "python_site_packages_path": "lib/python3.9/site-packages",
}  # fmt: skip
TORCH = {
    "name": "pytorch", "version": "1.12.1", "build": "py3.9_cuda11.3_cudnn8.3.2_0", "channel": "pytorch",
    "subdir": "linux-64", "file": "pytorch-1.12.1-py3.9_cuda11.3_cudnn8.3.2_0.tar.bz2", "sha256": "c" * 64,
    "depends": ["python"], "build_number": 0, "noarch": None, "track_features": ["x"],
}  # fmt: skip


def content(**changes) -> dict:
    platforms = {"linux-64": {"needs": {}, "packages": [PYTHON, TORCH], "base": []}}
    return {"schema": 1, "spec": "x", "installer": "conda", "python": "3.9", "platforms": platforms} | changes


def test_what_is_written_envkit_reads():
    lock = parse_lock(render_lock("mine", "conda 26.7.1", {"linux-64": [TORCH, PYTHON]}), "x")
    assert (lock.spec, lock.spec_sha256, lock.created_by) == ("mine", None, "conda 26.7.1")
    assert (lock.installer, lock.python, lock.cuda, lock.toolkit) == ("conda", "3.9", "11.3", "11.3")
    kept = {key: value for key, value in TORCH.items() if value not in (None, 0)}
    assert [record.to_dict() for record in lock.platforms["linux-64"].base] == [PYTHON, kept]


def test_what_envkit_writes_is_read():
    text = render(parse_lock(render_lock("mine", "a test", {"linux-64": [PYTHON, TORCH]}), "x"))
    assert looks_like_lock(text)
    records = {record["name"]: record for record in read_lock(yaml.safe_load(text), "x").packages("linux-64")}
    expected = {key: value for key, value in PYTHON.items() if key not in {"file", "requested"}}
    assert records["python"] == expected | {"fn": PYTHON["file"], "track_features": []}
    assert records["pytorch"]["build_number"] == 0


def test_the_keys_and_platforms_are_envkits():
    assert set(lock_text._KEYS) == _KEYS
    assert lock_text.PLATFORMS == PLATFORMS


@pytest.mark.parametrize("text", ["1_0", "1e3", "yes", "0x1F", "12:30:45", "~", "2024-01-01", "null", '"', "a: b"])
def test_all_versions_of_yaml_read_the_same_text(text):
    entry = PYTHON | {"license": text}
    data = yaml.safe_load(render_lock("mine", "a test", {"linux-64": [entry]}))
    assert data["platforms"]["linux-64"]["packages"][0]["license"] == text


@pytest.mark.parametrize(
    ("build", "cuda"),
    [
        ("py3.9_cuda11.3_cudnn8.3.2_0", "11.3"),
        ("cuda112py39h13de421_1", "11.2"),
        ("cuda92py37h1", "9.2"),
        ("cuda126_generic_py312_h1_200", "12.6"),
        ("cuda130_mkl_py313_1", "13.0"),
        ("cpu_mkl_py312_h1_100", None),
        ("py3.11_cpu_0", None),
    ],
)
def test_build_cuda_is_read_from_the_build(build, cuda):
    assert build_cuda([PYTHON, TORCH | {"build": build}]) == cuda
    assert build_cuda([PYTHON, {"name": "cudatoolkit", "build": build}]) is None


@pytest.mark.parametrize(
    ("platforms", "told"),
    [
        ({"linux-ppc64le": [PYTHON]}, "makes no environments for linux-ppc64le"),
        ({"linux-64": [TORCH]}, "holds no Python"),
        ({"linux-64": [PYTHON, TORCH | {"sha256": None}]}, "the sha256 of pytorch is not known"),
        ({"linux-64": [PYTHON], "win-64": [PYTHON | {"version": "3.10.1"}]}, "different Pythons: 3.10, 3.9"),
    ],
)
def test_what_a_lock_cannot_hold_is_told(platforms, told):
    with pytest.raises(NotExportableError, match=told):
        render_lock("mine", "a test", platforms)


def test_pip_packages_cannot_be_exported():
    conda_only([])
    with pytest.raises(NotExportableError, match=r"\(a==1, b==2\)"):
        conda_only(["b==2", "a==1", "a==1"])


def test_the_own_lock_is_given_as_it_is(tmp_path):
    managed = Managed(str(tmp_path), name="mine", installer="pip")
    with pytest.raises(NotExportableError, match="cannot be read"):
        managed_lock(managed, ["linux-64"])
    managed.lock.parent.mkdir()
    managed.lock.write_text("what: else\n")
    with pytest.raises(NotExportableError, match="is damaged"):
        managed_lock(managed, ["linux-64"])
    text = (ROOT / "lockfiles" / "torch213-cpu.lock.yaml").read_text()
    managed.lock.write_text(text)
    assert managed_lock(managed, ["linux-64"]) == text
    with pytest.raises(NotExportableError, match="holds linux-64, and not win-64, osx-64"):
        managed_lock(managed, ["linux-64", "win-64", "osx-64"])
    managed.lock.write_bytes(b"\xff")
    with pytest.raises(NotExportableError, match="cannot be read"):
        managed_lock(managed, ["linux-64"])


@pytest.mark.parametrize("path", sorted((ROOT / "lockfiles").glob("*.yaml")), ids=lambda path: path.name)
def test_locks_are_told_from_other_files(path):
    assert looks_like_lock(path.read_text()) is path.name.endswith(".lock.yaml")


@pytest.mark.parametrize("text", ["", "name: x\ndependencies: [python]\n", "version: 1\npackage: []\n", "@EXPLICIT\n"])
def test_other_programs_files_are_no_locks(text):
    assert not looks_like_lock(text)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (None, "is no lock"),
        ([], "is no lock"),
        (content(platforms=[]), "is no lock"),
        (content(schema=2), "has schema 2, this plugin reads 1"),
        (content(schema="1"), "has schema 1, this plugin reads 1"),
        (content(installer="pip"), "conda would run pip without the hashes"),
        (content(installer="npm"), "the installer is 'npm'"),
        (content(platforms={"linux-64": {"packages": "x"}}), "the packages for linux-64 are no list"),
    ],
)
def test_locks_that_conda_cannot_install_are_refused(data, told):
    with pytest.raises(LockProblemError, match=told):
        read_lock(data, "x.lock.yaml")


def test_the_pip_locks_that_ship_name_the_command():
    path = ROOT / "lockfiles" / "torch213-cpu.lock.yaml"
    with pytest.raises(LockProblemError, match=r"Use envkit: `envkit restore 'a b/x\.lock\.yaml'`"):
        read_lock(yaml.safe_load(path.read_text()), "a b/x.lock.yaml")


def test_a_missing_platform_is_told():
    lock = read_lock(content(), "x")
    with pytest.raises(LockProblemError, match=r"holds no packages for win-64\. It holds: linux-64"):
        lock.packages("win-64")
    with pytest.raises(LockProblemError, match="It holds: none"):
        CondaLock("x", {}).packages("win-64")
    assert read_lock(content(platforms={"win-64": "junk"}), "x").platforms == {"win-64": []}


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("python", "package 1 .*it is no mapping"),
        ({}, "its name is None"),
        (PYTHON | {"name": "../x"}, "its name is '../x'"),
        (PYTHON | {"version": 3.9}, "its version is 3.9"),
        (PYTHON | {"build": "a/b"}, "its build is 'a/b'"),
        (PYTHON | {"subdir": "../noarch"}, "its subdir is"),
        (PYTHON | {"sha256": None}, "its sha256 is None"),
        (PYTHON | {"sha256": "A" * 64}, "its sha256 is"),
        (PYTHON | {"channel": "ftp://x"}, "its channel is"),
        (PYTHON | {"channel": "/etc"}, "its channel is"),
        (PYTHON | {"channel": "https://host/a/../b"}, "its channel is"),
        (PYTHON | {"file": "python-3.9.18-other.conda"}, "its file is"),
        (PYTHON | {"file": ["x"]}, "its file is"),
        (PYTHON | {"python_site_packages_path": "../x"}, "outside of the environment"),
    ],
)
def test_entries_that_are_no_records_are_refused(entry, told):
    lock = read_lock(content(platforms={"linux-64": {"packages": [entry]}}), "x")
    with pytest.raises(LockProblemError, match=told):
        lock.packages("linux-64")


@pytest.mark.parametrize("channel", ["conda-forge", "nvidia/label/cuda-11.3.0", "https://host/a", "file:///a/b%20c"])
def test_channels(channel):
    lock = read_lock(content(platforms={"linux-64": {"packages": [PYTHON | {"channel": channel}]}}), "x")
    assert lock.packages("linux-64")[0]["channel"] == channel


def test_a_package_locked_twice_is_refused():
    lock = read_lock(content(platforms={"linux-64": {"packages": [PYTHON], "base": [PYTHON]}}), "x")
    with pytest.raises(LockProblemError, match="python is locked twice"):
        lock.packages("linux-64")
