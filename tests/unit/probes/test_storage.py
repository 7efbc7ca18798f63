"""Room and rights at a place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from envkit.probes.storage import nearest, storage_at
from tests.support.mounts import small_disk


def test_a_place_that_is_not_there_yet_has_the_room_of_the_folder_above(tmp_path):
    found = storage_at(tmp_path / "a" / "b")
    assert found.folder == tmp_path
    status = os.statvfs(tmp_path)
    assert found.free_bytes == pytest.approx(status.f_bavail * status.f_frsize, rel=0.05)
    assert found.is_folder
    assert found.is_writable
    assert not found.is_read_only


def test_a_file_in_the_way(tmp_path):
    (tmp_path / "file").touch()
    found = storage_at(tmp_path / "file" / "env")
    assert found.folder == tmp_path / "file"
    assert not found.is_folder


def test_the_root_is_the_last_folder_above():
    root = Path(os.path.abspath(os.sep))
    assert nearest(root / "no-such-folder-here" / "x") == root


def test_a_disk_of_its_own(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    with small_disk(folder, size="8m") as disk:
        if disk is None:
            pytest.skip("mounting is not possible here")
        disk.leave_free(100_000)
        here, there = storage_at(tmp_path), storage_at(disk.seen / "env")
        assert there.free_bytes <= 110_000
        assert there.free_files > 100
        assert not here.shares_files_with(there)
        assert here.shares_files_with(storage_at(tmp_path / "other"))
        disk.remount("ro,noexec")
        changed = storage_at(disk.seen)
        assert changed.is_read_only
        assert changed.is_noexec
        assert not changed.is_writable
