from __future__ import annotations

import ctypes
import errno
import json
import os
import stat
import sys

import pytest

from envkit import fs


def test_write_text_publishes_with_the_mode_and_leaves_no_temporary_file(tmp_path):
    path = tmp_path / "hook.sh"
    fs.write_text(path, "a\r\nü\n", mode=0o640)
    assert path.read_bytes() == "a\r\nü\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [name for name in os.listdir(tmp_path) if "hook" in name] == ["hook.sh"]


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "record.json"
    path.write_text("old")

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="No space"):
        fs.write_json(path, {"new": 1})
    assert path.read_text() == "old"
    assert [name for name in os.listdir(tmp_path) if "record" in name] == ["record.json"]


def test_write_json_is_for_people_too(tmp_path):
    fs.write_json(tmp_path / "x.json", {"name": "中文"})
    text = (tmp_path / "x.json").read_text(encoding="utf-8")
    assert "中文" in text
    assert json.loads(text) == {"name": "中文"}


def test_file_sha256(tmp_path):
    (tmp_path / "empty").touch()
    assert fs.file_sha256(tmp_path / "empty") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_remove_tree_removes_read_only_folders_and_files(tmp_path):
    folder = tmp_path / "env" / "deep"
    folder.mkdir(parents=True)
    (folder / "file").write_text("x")
    (folder / "file").chmod(0o400)
    folder.chmod(0o500)
    (tmp_path / "env").chmod(0o500)
    fs.remove_tree(tmp_path / "env")
    assert not (tmp_path / "env").exists()


def test_remove_tree_repairs_permissions_where_it_is_refused(tmp_path, monkeypatch):
    """root is never refused, so the refusal is made here."""
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "file").write_text("x")
    refused = []
    unlink = os.unlink

    def refuse_once(path, *args, **kwargs):
        if os.path.basename(path) == "file" and not refused:
            refused.append(path)
            raise PermissionError(13, "Permission denied", path)
        return unlink(path, *args, **kwargs)

    monkeypatch.setattr(os, "unlink", refuse_once)
    fs.remove_tree(tmp_path / "env")
    assert refused
    assert not (tmp_path / "env").exists()


def test_remove_tree_of_a_link_keeps_what_it_leads_to(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    fs.remove_tree(tmp_path / "link")
    assert (tmp_path / "real").is_dir()
    assert not (tmp_path / "link").is_symlink()


def test_remove_tree_tells_what_it_cannot_remove(tmp_path, monkeypatch):
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "file").write_text("x")

    def refuse(path, *_, **__):
        raise OSError(5, "Input/output error", path)

    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(OSError, match="Input/output"):
        fs.remove_tree(tmp_path / "env")


def test_empty_folder_keeps_the_folder_and_follows_no_link(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "keep").touch()
    folder = tmp_path / "mine"
    (folder / "sub").mkdir(parents=True)
    (folder / "file").touch()
    (folder / "link").symlink_to(tmp_path / "outside")
    fs.empty_folder(folder)
    assert list(folder.iterdir()) == []
    assert (tmp_path / "outside" / "keep").exists()
    fs.empty_folder(tmp_path / "missing")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX systems")
def test_remove_tree_leaves_the_mode_of_what_links_lead_to(tmp_path, monkeypatch):
    outside = tmp_path / "python3.9"
    outside.write_text("the base interpreter")
    outside.chmod(0o755)
    (tmp_path / "env" / "bin").mkdir(parents=True)
    (tmp_path / "env" / "bin" / "python").symlink_to(outside)
    os.link(outside, tmp_path / "env" / "bin" / "copy")
    refused = []
    unlink = os.unlink

    def refuse_each_once(path, *args, **kwargs):
        if os.path.basename(path) not in refused:
            refused.append(os.path.basename(path))
            raise PermissionError(13, "Permission denied", path)
        return unlink(path, *args, **kwargs)

    monkeypatch.setattr(os, "unlink", refuse_each_once)
    fs.remove_tree(tmp_path / "env")
    assert len(refused) == 2
    assert stat.S_IMODE(outside.stat().st_mode) == 0o755


@pytest.mark.skipif(sys.platform != "linux", reason="syncfs")
@pytest.mark.parametrize("limit_s", [None, 30.0])
def test_flush_tells_what_the_disk_could_not_take(tmp_path, monkeypatch, limit_s):
    fs.flush(tmp_path, limit_s=limit_s)

    class Library:
        @staticmethod
        def syncfs(_handle):
            ctypes.set_errno(errno.ENOSPC)
            return -1

    monkeypatch.setattr(ctypes, "CDLL", lambda *_arguments, **_options: Library)
    with pytest.raises(OSError, match="No space") as caught:
        fs.flush(tmp_path, limit_s=limit_s)
    assert caught.value.errno == errno.ENOSPC


def test_write_new_is_for_the_first_alone(tmp_path):
    fs.write_new(tmp_path / "one", b"first")
    with pytest.raises(FileExistsError):
        fs.write_new(tmp_path / "one", b"second")
    assert (tmp_path / "one").read_bytes() == b"first"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != ".own") == ["one"]


def test_remove_tree_tries_again_where_somebody_still_writes(tmp_path, monkeypatch):
    """An installer that is being killed; a network file system that keeps open files under another name."""
    folder = tmp_path / "folder"
    folder.mkdir()
    times = []

    def busy(path):
        times.append(path)
        if len(times) < 3:
            raise OSError(errno.ENOTEMPTY, "Directory not empty", str(path))

    monkeypatch.setattr(fs, "_remove_tree", busy)
    monkeypatch.setattr(fs.time, "sleep", lambda _s: None)
    fs.remove_tree(folder)
    assert len(times) == 3


def test_empty_folder_in_order_and_with_exceptions(tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("a", ".envkit", "z", "mine"):
        (folder / name).write_text(name)
    gone = []
    unlink = fs.Path.unlink
    monkeypatch.setattr(fs.Path, "unlink", lambda path: (gone.append(path.name), unlink(path)))
    fs.empty_folder(folder, first="z", last=".envkit", but={"mine"})
    assert gone == ["z", "a", ".envkit"]
    assert [path.name for path in folder.iterdir()] == ["mine"]
