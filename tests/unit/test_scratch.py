from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from envkit import fs, paths
from envkit.scratch import scratch_folder

KILLED = """
import os, signal
from envkit.scratch import scratch_folder
with scratch_folder() as folder:
    (folder / "sub").mkdir()
    (folder / "sub" / "file").write_text("x")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_scratch_folder_is_there_for_the_block_alone():
    with scratch_folder() as folder:
        (folder / "sub").mkdir()
        with scratch_folder() as other:
            assert other != folder
        assert folder.is_dir()
    assert list((paths.cache_dir() / "tmp").iterdir()) == []


def test_what_a_killed_process_has_left_goes_next_time():
    done = subprocess.run([sys.executable, "-c", KILLED], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list((paths.cache_dir() / "tmp").iterdir())) == 1
    with scratch_folder() as folder:
        assert list((paths.cache_dir() / "tmp").iterdir()) == [folder]


def test_where_the_cache_cannot_be_written_temporary_files_serve():
    paths.data_home().mkdir(parents=True, exist_ok=True)
    paths.cache_dir().write_text("a file in the way")
    with scratch_folder() as folder:
        assert paths.data_home() not in folder.parents
        (folder / "file").write_text("x")
    assert not folder.exists()


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_sweeping_leaves_what_is_being_written_and_what_is_not_envkits(tmp_path, kind):
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    mine = fs.temporary_start().removeprefix(fs.TEMPORARY)
    left = f"{fs.TEMPORARY}{mine.split('-')[0]}-{child.pid}-1-abc"
    for name in (left, f"{fs.TEMPORARY}{mine}abc", f"{fs.TEMPORARY}odd", ".envkit", "envkit-new-1-2-3-4"):
        if kind == "file":
            (tmp_path / name).write_text("x")
        else:
            (tmp_path / name).mkdir()
            (tmp_path / name / "file").write_text("x")
    fs.sweep_temporaries(tmp_path, tmp_path / "missing")
    assert sorted(set(os.listdir(tmp_path)) - {".own"}) == sorted(
        [f"{fs.TEMPORARY}{mine}abc", f"{fs.TEMPORARY}odd", ".envkit", "envkit-new-1-2-3-4"]
    )
