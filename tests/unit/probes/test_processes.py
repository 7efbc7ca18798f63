from __future__ import annotations

import os
import subprocess
import sys
import venv
from contextlib import contextmanager

import pytest

from envkit.probes import processes
from envkit.probes.processes import processes_in

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@contextmanager
def running(*argv, cwd=None):
    """A program that runs for the block; it has started when it has written a line."""
    with subprocess.Popen(argv, cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline()
        yield child
        child.stdin.close()


WAIT = "print(1, flush=True); input()"


def pids(folder):
    return [item.pid for item in processes_in(folder)]


def test_a_program_of_the_folder_is_seen_although_it_is_a_link(tmp_path):
    venv.create(tmp_path / "env", symlinks=True)
    with running(str(tmp_path / "env/bin/python"), "-c", WAIT) as child:
        found = processes_in(tmp_path / "env")
        assert [item.pid for item in found] == [child.pid]
        assert str(found[0]) == f"process {child.pid} (python -c {WAIT})"
        assert pids(tmp_path / "en") == []
        assert pids(tmp_path / "env2") == []
    assert pids(tmp_path / "env") == []


def test_who_works_in_the_folder_is_seen_also_by_another_name_of_it(tmp_path):
    (tmp_path / "env").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "env")
    with running(sys.executable, "-c", WAIT, cwd=tmp_path / "env") as child:
        assert pids(tmp_path / "env") == pids(tmp_path / "link") == [child.pid]


def test_a_loaded_file_is_seen(tmp_path):
    (tmp_path / "lib").write_bytes(b"x" * 4096)
    code = f"import mmap; f = open({str(tmp_path / 'lib')!r}, 'rb'); m = mmap.mmap(f.fileno(), 0, prot=1); {WAIT}"
    with running(sys.executable, "-c", code) as child:
        assert pids(tmp_path) == [child.pid]


def test_this_process_does_not_count(tmp_path):
    (tmp_path / "lib").write_bytes(b"x")
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        assert pids(tmp_path) == []
    finally:
        os.chdir(before)


def test_without_proc_nothing_is_told(monkeypatch, tmp_path):
    def none(_path):
        raise FileNotFoundError

    monkeypatch.setattr(processes.os, "listdir", none)
    assert processes_in(tmp_path) == ()
