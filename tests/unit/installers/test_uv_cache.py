"""Healing unpacked wheels in a cache of uv's shape."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
from dataclasses import replace

import pytest

from envkit import fs
from envkit.installers import uv_cache
from envkit.installers.uv import uv_program
from envkit.installers.uv_cache import heal_archives
from envkit.owner import Owner

INFO = "one-1.0.dist-info"


def archive(cache, key, *, content="good", record="r"):
    folder = cache / "archive-v0" / key
    for path, text in {"one/a.py": content, "one/b.py": "b", f"{INFO}/RECORD": record}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (cache / ".lock").touch()
    return folder


def test_only_archives_of_the_same_wheel_are_healed_and_links_keep_their_bytes(tmp_path):
    archive(tmp_path / "fresh", "x")
    bad = archive(tmp_path / "cache", "bad", content="evil")
    other_wheel = archive(tmp_path / "cache", "other", content="for cp312", record="another")
    fine = archive(tmp_path / "cache", "fine")
    (bad / "one/b.py").unlink()
    (bad / "one/a.py").chmod(0o755)
    os.link(bad / "one/a.py", tmp_path / "environment")
    before = (fine / "one/a.py").stat().st_ino

    assert heal_archives(tmp_path / "cache", tmp_path / "fresh", [INFO, "none-1.0.dist-info"]) == 2

    assert (bad / "one/a.py").read_text() == "good"
    assert (bad / "one/b.py").read_text() == "b"
    assert (tmp_path / "environment").read_text() == "evil"
    assert (other_wheel / "one/a.py").read_text() == "for cp312"
    assert (fine / "one/a.py").stat().st_ino == before
    assert sorted(path.name for path in (bad / "one").iterdir()) == ["a.py", "b.py"]


def test_a_record_alone_that_differs_is_healed_too(tmp_path):
    archive(tmp_path / "fresh", "x")
    bad = archive(tmp_path / "cache", "bad", record="cut o")
    assert heal_archives(tmp_path / "cache", tmp_path / "fresh", [INFO]) == 1
    assert (bad / INFO / "RECORD").read_text() == "r"


def test_a_cache_of_another_shape_is_left_alone(tmp_path):
    archive(tmp_path / "fresh", "x")
    (tmp_path / "cache" / "wheels").mkdir(parents=True)
    assert heal_archives(tmp_path / "cache", tmp_path / "fresh", [INFO]) == 0
    assert heal_archives(tmp_path / "none", tmp_path / "fresh", [INFO]) == 0


def test_no_archive_ever_holds_a_temporary_file_and_those_of_killed_processes_go(tmp_path, monkeypatch):
    archive(tmp_path / "fresh", "x")
    bad = archive(tmp_path / "cache", "bad", content="evil")
    left = tmp_path / "cache" / f"{fs.TEMPORARY}{replace(Owner.here(), pid=2**22, started=1).mark()}-x"
    left.write_text("half")
    seen = []

    def copy(source, target):
        seen.append(sorted(path.name for path in bad.rglob("*") if path.is_file()))
        raise KeyboardInterrupt

    monkeypatch.setattr(uv_cache.shutil, "copy2", copy)
    with pytest.raises(KeyboardInterrupt):
        heal_archives(tmp_path / "cache", tmp_path / "fresh", [INFO])
    assert seen == [["RECORD", "a.py", "b.py"]]
    assert sorted(path.name for path in (tmp_path / "cache").iterdir()) == [".lock", "archive-v0"]


def test_an_archive_that_goes_meanwhile_stays_gone(tmp_path, monkeypatch):
    archive(tmp_path / "fresh", "x")
    bad = archive(tmp_path / "cache", "bad", content="evil")
    is_same = uv_cache._is_same

    def clean(one, other):
        shutil.rmtree(bad, ignore_errors=True)
        return is_same(one, other) or other.name == "RECORD"

    monkeypatch.setattr(uv_cache, "_is_same", clean)
    assert heal_archives(tmp_path / "cache", tmp_path / "fresh", [INFO]) == 0
    assert not bad.exists()


def test_healing_keeps_uv_cache_clean_out_and_waits_for_it(tmp_path, monkeypatch):
    archive(tmp_path / "fresh", "x")
    bad = archive(tmp_path / "cache", "bad", content="evil")
    archive(tmp_path / "cache", "fine")
    copy, said = shutil.copy2, []
    clean = [uv_program(), "cache", "clean", "--cache-dir", tmp_path / "cache"]
    environ = os.environ | {"UV_LOCK_TIMEOUT": "1"}

    def copy_while_cleaning(source, target):
        said.append(subprocess.run(clean, env=environ, capture_output=True, text=True, check=False))
        return copy(source, target)

    monkeypatch.setattr(uv_cache.shutil, "copy2", copy_while_cleaning)
    assert heal_archives(tmp_path / "cache", tmp_path / "fresh", [INFO]) == 1
    assert [run.returncode for run in said] == [2]
    assert "lock" in said[0].stderr
    assert (bad / "one/a.py").read_text() == "good"
    monkeypatch.setattr(uv_cache, "_LOCK_TIMEOUT_S", 0.1)
    with (tmp_path / "cache/.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(OSError, match="in use"):
            heal_archives(tmp_path / "cache", tmp_path / "fresh", [INFO])


def test_a_cache_without_working_locks_is_healed_all_the_same(tmp_path, monkeypatch):
    archive(tmp_path / "fresh", "x")
    archive(tmp_path / "cache", "bad", content="evil")

    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert heal_archives(tmp_path / "cache", tmp_path / "fresh", [INFO]) == 1
