"""What is mounted where."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from envkit.probes.mounts import mount_of, read_mounts

TEXT = r"""
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,usrquota
40 27 0:35 / /home rw,noexec shared:2 master:3 - nfs4 server:/export/home rw,vers=4.2
41 40 0:36 /sub /home/my\040data rw - ext4 /dev/vdb\040x rw
42 27 0:37 / /home rw - tmpfs first rw
broken
43 27 0:38
"""


@pytest.fixture
def mounts(tmp_path):
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "mountinfo").write_text(TEXT)
    return read_mounts(tmp_path)


@pytest.mark.parametrize(
    ("path", "point", "kind"),
    [
        ("/", "/", "ext4"),
        ("/homeless/x", "/", "ext4"),
        ("/home", "/home", "tmpfs"),
        ("/home/a/b", "/home", "tmpfs"),
        ("/home/my data/x", "/home/my data", "ext4"),
    ],
)
def test_the_mount_of_a_path_is_the_nearest_and_the_last(mounts, path, point, kind):
    found = mount_of(Path(path), mounts)
    assert (found.point, found.kind) == (point, kind)


def test_fields(mounts):
    assert len(mounts) == 5
    assert mounts[2].options == {"rw", "noexec", "vers=4.2"}
    assert mounts[2].source == "server:/export/home"
    assert (mounts[3].root, mounts[3].source) == ("/sub", "/dev/vdb x")


def test_no_list_no_mount(tmp_path):
    assert read_mounts(tmp_path) == ()
    assert mount_of(tmp_path, ()) is None


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_this_machine():
    assert mount_of(Path("/proc/self/status"), read_mounts()).kind == "proc"
