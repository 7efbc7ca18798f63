"""Processor and memory: of this machine, and of folders that stand in for /proc and /sys."""

from __future__ import annotations

import os
import sys

import pytest

from envkit.probes.hardware import memory_limit, read_memory, read_processor

INTEL = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R) CPU E5-2650 v3 @ 2.30GHz\n"
ARM = "processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd evtstrm aes pmull sha1 sha2 crc32\n"
HUGE = "9223372036854771712"


@pytest.fixture
def machine(tmp_path):
    """Writes files of a stand-in machine: ``machine({"proc/cpuinfo": "..."})``."""

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path

    return write


@pytest.mark.parametrize(
    ("flags", "avx", "avx2"),
    [
        ("fpu sse4_2 avx f16c avx2 avx512f", True, True),
        ("fpu sse4_2 avx f16c", True, False),
        ("fpu sse4_2 avx512_vnni", False, False),
        ("", False, False),
    ],
)
def test_flags_of_a_processor(machine, flags, avx, avx2):
    found = read_processor(
        machine({"proc/cpuinfo": f"{INTEL}flags\t\t: {flags}\nbugs\t\t:\n\n{INTEL}flags\t\t: avx2\n"})
    )
    assert (found.has_avx, found.has_avx2) == (avx, avx2)
    assert found.name == "Intel(R) Xeon(R) CPU E5-2650 v3 @ 2.30GHz"


def test_a_name_in_no_encoding_and_an_empty_one(machine):
    found = read_processor(machine({"proc/cpuinfo": b"model name\t: \xff\xfe CPU\nflags\t\t: avx\n"}))
    assert found.has_avx
    assert found.name.endswith("CPU")
    assert read_processor(machine({"proc/cpuinfo": "model name\t: \nflags\t: avx2\n"})).name is None


def test_other_processors_and_machines_without_the_file_have_no_such_flags(machine, tmp_path):
    assert read_processor(tmp_path) is None
    assert read_processor(machine({"proc/cpuinfo": ARM})) is None
    (tmp_path / "proc" / "cpuinfo").unlink()
    (tmp_path / "proc" / "cpuinfo").mkdir()
    assert read_processor(tmp_path) is None


MEMINFO = "MemTotal:       65536000 kB\nMemFree:          100000 kB\n"
V2 = "29 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = (
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "35 31 0:32 {root} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
)


def test_a_batch_job_on_version_2_has_the_lowest_limit_above_it(machine):
    job = "sys/fs/cgroup/system.slice/slurmstepd.scope/job_7"
    root = machine(
        {
            "proc/meminfo": MEMINFO,
            "proc/self/mountinfo": V2,
            "proc/self/cgroup": "0::/system.slice/slurmstepd.scope/job_7/step_0\n",
            f"{job}/memory.max": "4294967296\n",
            f"{job}/step_0/memory.max": "max\n",
            "sys/fs/cgroup/system.slice/memory.max": "8589934592\n",
        }
    )
    found = read_memory(root)
    assert found.total_bytes == 65536000 * 1024
    assert found.limit_bytes == found.usable_bytes == 4294967296


def test_a_container_on_version_2_sees_its_own_group_as_the_top(machine):
    files = {"proc/self/mountinfo": V2, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1073741824\n"}
    assert memory_limit(machine(files)) == 1073741824


def test_a_container_on_version_1_sees_a_part_of_the_tree(machine):
    files = {
        "proc/self/mountinfo": V1.format(root="/docker/abc"),
        "proc/self/cgroup": "9:cpu:/docker/abc\n4:memory:/docker/abc\n0::/\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n",
    }
    assert memory_limit(machine(files)) == 536870912


@pytest.mark.parametrize(
    ("path", "root", "limit"),
    [
        ("/slurm/uid_1/job_2", "/", 2147483648),
        ("/../../slurm/job_2", "/", 3221225472),
        ("/other/place", "/docker/abc", 3221225472),
    ],
)
def test_groups_of_version_1(machine, path, root, limit):
    files = {
        "proc/self/mountinfo": V1.format(root=root),
        "proc/self/cgroup": f"4:cpuset,memory:{path}\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "3221225472",
        "sys/fs/cgroup/memory/slurm/uid_1/memory.limit_in_bytes": "2147483648",
        "sys/fs/cgroup/memory/slurm/uid_1/job_2/memory.limit_in_bytes": HUGE,
    }
    assert memory_limit(machine(files)) == limit


@pytest.mark.parametrize("text", [HUGE, "max", "", "-1", "a lot"])
def test_no_limit(machine, text):
    files = {"proc/self/mountinfo": V2, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": text}
    assert memory_limit(machine(files)) is None


@pytest.mark.parametrize("cgroup", ["", "nonsense\n", "1:2\n", "0::\n"])
def test_what_is_no_list_of_groups_limits_nothing(machine, cgroup):
    assert memory_limit(machine({"proc/self/mountinfo": V2, "proc/self/cgroup": cgroup})) is None


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_this_machine():
    found = read_memory()
    assert found.total_bytes == pytest.approx(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), rel=0.01)
    assert 0 < found.usable_bytes <= found.total_bytes


def test_a_system_without_proc_still_tells_its_memory(tmp_path):
    found = read_memory(tmp_path)
    assert found is None or (found.total_bytes > 1 << 20 and found.limit_bytes is None)
