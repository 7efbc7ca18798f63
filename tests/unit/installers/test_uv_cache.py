"""Healing unpacked wheels in a cache of uv's shape."""

from __future__ import annotations

import os

from envkit.installers.uv_cache import heal_archives

INFO = "one-1.0.dist-info"


def archive(cache, key, *, content="good", record="r"):
    folder = cache / "archive-v0" / key
    for path, text in {"one/a.py": content, "one/b.py": "b", f"{INFO}/RECORD": record}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
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
