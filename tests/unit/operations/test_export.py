"""Exports of environments that only their own lock is known of."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from envkit.errors import DownloadError, UsageError
from envkit.model.conda_record import CondaRecord
from envkit.model.environment import Environment
from envkit.model.lock import Lock, LockedPlatform
from envkit.model.lock_text import render_lock
from envkit.model.locked import LockedPackage
from envkit.model.progress import Silent
from envkit.operations import foreign
from envkit.operations.conda_export import conda_texts
from envkit.operations.environments import read_environment
from envkit.operations.export import export
from envkit.operations.options import CreateOptions
from envkit.probes.host import current_platform

SHA256 = "ab" * 32
RECORD = {
    "schema": 1, "id": "0123abcd", "name": "mine", "spec": "x", "lock_sha256": "0" * 64, "installer": "conda",
    "backend": "conda", "engine": "rattler", "python": "3.11.7", "build_cuda": "11.3", "toolkit": None,
    "created_at": "2026-11-30T14:59:01Z", "verified_at": None, "last_verify": None, "guard": True,
    "envkit_version": "0.1.0",
}  # fmt: skip
PYTHON = CondaRecord(
    "python", "3.11.7", "0", "conda-forge", "linux-64", "python-3.11.7-0.conda", SHA256, size=3, md5="cd" * 16
)


def make(prefix, platforms, **values):
    """An environment of which there are the record and the lock."""
    lock = Lock(
        "x",
        None,
        "a test",
        **({"installer": "conda", "python": "3.11", "cuda": "11.3", "toolkit": "11.3"} | values),
        platforms=platforms,
    )
    (prefix / ".envkit").mkdir(parents=True)
    (prefix / "conda-meta").mkdir()
    (prefix / ".envkit" / "lock.yaml").write_text(render_lock(lock))
    (prefix / ".envkit" / "environment.json").write_text(json.dumps(RECORD | {"prefix": str(prefix)}))
    return str(prefix)


def run(what, name, **options):
    return export(what, name, **({"output": None, "platform": None, "progress": Silent()} | options))


def test_conda_lock_wants_md5_sums(tmp_path):
    record = CondaRecord(
        **{**PYTHON.to_dict(), "md5": None, "depends": (), "name": "libx", "version": "1", "file": "libx-1-0.conda"}
    )
    env = make(tmp_path / "e", {current_platform(): LockedPlatform((), base=(PYTHON, record))})
    with pytest.raises(UsageError, match="none of libx"):
        run(env, "conda-lock.yml")
    assert f"libx-1-0.conda#sha256:{SHA256}" in run(env, "explicit").text


def test_the_only_platform_of_a_lock_is_taken(tmp_path):
    other = "win-64" if current_platform() != "win-64" else "linux-64"
    env = make(tmp_path / "e", {other: LockedPlatform((), base=(replace(PYTHON, subdir=other),))})
    assert run(env, "explicit").platform == other
    assert run(env, "explicit", platform=other).platform == other
    with pytest.raises(UsageError, match="nothing for osx-64"):
        run(env, "explicit", platform="osx-64")


def test_what_is_lost_is_said(tmp_path):
    source = "https://download.pytorch.org/whl/cu113"
    torch = LockedPackage(
        "torch", "1.12.1+cu113", "torch-1.12.1+cu113-cp311-cp311-linux_x86_64.whl", None, source=source
    )
    needs = {
        "driver": {"minimum": "450.80.02", "known": "confirmed"},
        "glibc": {"minimum": "2.17", "known": "confirmed"},
    }
    env = make(tmp_path / "e", {current_platform(): LockedPlatform((torch,), needs)}, installer="pip")
    result = run(env, "environment.yml", output=tmp_path / "environment.yml")
    assert result.lost == (
        "what the files need of a machine: driver, glibc",
        "the CUDA toolkit that activation switches to: 11.3",
        "the hashes, and which file it is where a version has several",
    )
    assert (tmp_path / "environment.yml").read_text() == result.text
    assert result.to_json()["file"] == str(tmp_path / "environment.yml")
    assert result.to_json()["text"] is None


def test_the_conda_texts_of_a_prefix_without_conda_are_none(tmp_path):
    make(tmp_path / "e", {current_platform(): LockedPlatform((), base=(PYTHON,))})
    environment = read_environment(tmp_path / "e")
    assert isinstance(environment, Environment)
    assert conda_texts(environment, Lock("x", None, "", "pip", "3.11", None, None, {}), "linux-64") == {}


def test_a_file_that_no_channel_tells_of(monkeypatch):
    monkeypatch.setattr(foreign, "find_records", lambda *_args, **_options: ())
    bare = CondaRecord("a", "1", "0", "conda-forge", "noarch", "a-1-0.conda", "")
    lock = Lock("x", None, "", "conda", "3.11", None, None, {current_platform(): LockedPlatform((), base=(bare,))})
    with pytest.raises(DownloadError, match=r"does not say which file a-1-0\.conda is"):
        foreign.complete(lock, CreateOptions(), Silent())
