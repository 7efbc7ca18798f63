"""Quotas; the programs that tell them are stand-ins, with what their manuals show."""

from __future__ import annotations

import sys
import time

import pytest

from envkit.probes.mounts import Mount
from envkit.probes.quota import parse_quota, quota_at
from tests.support.programs import stub_program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-ins are scripts of sh")

QUOTA = """\
Disk quotas for user alice (uid 1001):
     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace
server:/export/home 52428800  104857600 115343360       0  180000  200000  300000       0
      /dev/sdb1  {used}   20480   22528 1733000000     120       0       0       0
"""
LFS = """\
Disk quotas for usr bob (uid 12345):
     Filesystem  kbytes   quota   limit   grace   files   quota   limit   grace
/lustre/scratch/very/long/name
                 1048576       0 2097152       -  999000       0 1000000       -
uid 12345 is using default file quota setting
"""
HOME = Mount("/", "/home", "nfs4", "server:/export/home", frozenset({"rw"}))
DISK = Mount("/", "/data", "ext4", "/dev/sdb1", frozenset({"rw", "usrquota"}))
LUSTRE = Mount("/", "/lustre/scratch/very/long/name", "lustre", "mgs:/scratch", frozenset({"rw"}))


def put(folder, name, text, monkeypatch):
    monkeypatch.setenv("PATH", f"{stub_program(folder, name, text).parent}:/usr/bin:/bin")


def test_quota_of_an_nfs_home(tmp_path, monkeypatch):
    put(tmp_path, "quota", f"[ \"$*\" = '-w -p' ] && cat <<'END'\n{QUOTA.format(used=10240)}END", monkeypatch)
    found = quota_at(HOME)
    assert found.free_bytes == (104857600 - 52428800) * 1024
    assert found.free_files == 20000
    assert found.program == "quota"


def test_quota_of_lustre_with_a_name_that_breaks_the_line(tmp_path, monkeypatch):
    put(tmp_path, "lfs", f"[ \"$1 $2 $4\" = 'quota -u {LUSTRE.point}' ] && cat <<'END'\n{LFS}END", monkeypatch)
    found = quota_at(LUSTRE)
    assert (found.free_bytes, found.free_files) == (1048576 * 1024, 1000)


def test_nothing_is_left_when_the_limit_is_passed_and_the_program_says_so_by_its_status(tmp_path, monkeypatch):
    put(tmp_path, "quota", f"cat <<'END'\n{QUOTA.format(used='30000*')}END\nexit 1", monkeypatch)
    found = quota_at(DISK)
    assert (found.free_bytes, found.free_files) == (0, None)


@pytest.mark.parametrize(
    "text",
    ["", "Disk quotas for user x (uid 1): none", "/dev/sdb1 1 2", "/dev/sdb1 a b c d e f g h", "/data"],
)
def test_what_is_no_quota(text):
    assert parse_quota(text, DISK, "quota") is None


def test_a_local_disk_without_quotas_is_not_asked(tmp_path, monkeypatch):
    put(tmp_path, "quota", f"touch {tmp_path}/started", monkeypatch)
    assert quota_at(Mount("/", "/", "ext4", "/dev/sda1", frozenset({"rw", "noquota"}))) is None
    assert quota_at(None) is None
    assert not (tmp_path / "started").exists()


def test_a_server_that_does_not_answer_holds_up_for_a_short_time_only(tmp_path, monkeypatch):
    put(tmp_path, "quota", "sleep 60", monkeypatch)
    monkeypatch.setattr("envkit.probes.quota._TIMEOUT_S", 0.2)
    started = time.monotonic()
    assert quota_at(HOME) is None
    assert time.monotonic() - started < 20


def test_no_program_no_quota(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert quota_at(HOME) is None
