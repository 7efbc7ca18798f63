"""The checks of this machine as a whole: what needs room, compilers, and that nothing raises."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from envkit.installers.uv import uv_cache_dir, uv_cache_place
from envkit.model.lock import parse_lock
from envkit.model.spec import parse_spec
from envkit.operations.hardware_checks import cpu_check, wsl_check
from envkit.operations.system_checks import SystemNeed, system_checks
from envkit.probes.hardware import Memory
from envkit.probes.toolkits import toolkit_at
from tests.support.mounts import small_disk
from tests.support.programs import stub_gcc
from tests.support.toolkits import stub_toolkit

SHM = Path("/dev/shm")  # noqa: S108 - another file system; nothing is written there
linux = pytest.mark.skipif(sys.platform != "linux", reason="of Linux")
GB = 10**9


def spec_of(**changes):
    content = {
        "schema": 1,
        "name": "demo",
        "python": "3.9",
        "installer": "pip",
        "cuda": "11.3",
        "packages": ["torch==1.12.1+cu113"],
        "sources": [{"url": "https://download.pytorch.org/whl/cu113", "packages": ["torch"]}],
        "platforms": ["linux-64"],
    } | changes
    return parse_spec(json.dumps({key: value for key, value in content.items() if value is not None}), "demo.yaml")


def conda_spec():
    return spec_of(installer="conda", channels=["pytorch"], sources=None, packages=["pytorch=1.12.1"])


def lock_of(*sizes):
    packages = [
        {"name": f"p{number}", "version": "1.0", "file": f"p{number}-1.0-py3-none-any.whl", "sha256": "0" * 64}
        | ({"size": size} if size is not None else {})
        for number, size in enumerate(sizes)
    ]
    content = {
        "schema": 1,
        "spec": "demo",
        "spec_sha256": None,
        "created_by": "a test",
        "installer": "pip",
        "python": "3.9",
        "cuda": "11.3",
        "toolkit": "11.3",
        "platforms": {"linux-64": {"needs": {}, "packages": packages, "base": []}},
    }
    return parse_lock(json.dumps(content), "demo.lock.yaml")


def looked(spec=None, lock=None, prefix=None):
    return system_checks(SystemNeed(spec, lock, "linux-64", prefix, network=False))


def one(name, spec=None, lock=None, prefix=None):
    found = [check for check in looked(spec, lock, prefix) if check.id == name]
    assert found, name
    return found[0]


@pytest.fixture(autouse=True)
def _settled(monkeypatch, tmp_path):
    """No conda and no compiler of the machine's own; uv's cache on the disk of the environments."""
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setattr("envkit.operations.compiler_checks.find_toolkits", lambda: ())


ALWAYS = [
    "cpu", "memory", "disk", "cache", "writable", "noexec", "prefix-path", "toolkit", "path", "library-path",
    "python-variables", "pip-settings", "visible-devices", "active-environment", "conda",
]  # fmt: skip


@linux
def test_all_of_them_on_this_machine():
    found = looked()
    ids = [check.id for check in found if check.id not in {"disk-files", "wsl", "host-compiler", "cpu"}]
    assert ids == ALWAYS[1:]
    for check in found:
        assert check.status in {"ok", "warn"}, check
        assert check.status == "ok" or check.why, check
        json.dumps(check.to_json())


def test_each_id_is_told_in_the_documentation():
    text = (Path(__file__).parents[3] / "docs" / "preflight-checks.md").read_text(encoding="utf-8")
    told = {line.split("`")[1] for line in text.splitlines() if line.startswith("| `")}
    beside = {"disk-files", "wsl", "host-compiler", "user-site", "proxy", "index", "channel"}
    windows = {"visual-cpp", "python-bits", "long-paths", "ascii-path"}
    assert told == {*ALWAYS, *beside, *windows}


@linux
def test_nothing_raises_in_an_odd_environment(monkeypatch, tmp_path):
    home = tmp_path / "home"
    (home / ".config" / "pip").mkdir(parents=True)
    (home / ".condarc").write_text("channels: [\n")
    (home / ".config" / "pip" / "pip.conf").write_text("no section")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("PATH", "::/nowhere/cuda:\udcff")
    monkeypatch.setenv("LD_LIBRARY_PATH", ":\udcff:/dev/null")
    monkeypatch.setenv("PYTHONPATH", "\udcff")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "\udcff")
    found = {check.id: check for check in looked(conda_spec())}
    assert found["prefix-path"].status == "unknown"
    assert ".condarc" in found["prefix-path"].why
    assert found["pip-settings"].status == "unknown"
    assert "pip.conf" in found["pip-settings"].why
    assert found["visible-devices"].status == "warn"
    monkeypatch.setenv("HOME", "")
    monkeypatch.delenv("USERPROFILE", raising=False)
    monkeypatch.delenv("ENVKIT_HOME")
    for prefix in ("\0", "relative", "/proc/self/mem/x", "/" + "x" * 5000):
        assert looked(spec_of(), lock_of(1), Path(prefix))


def test_a_check_that_cannot_look_is_unknown_with_the_reason(monkeypatch):
    def fail():
        raise PermissionError(13, "Permission denied", "/proc/meminfo")

    monkeypatch.setattr("envkit.operations.system_checks.memory_check", fail)
    found = one("memory")
    assert found.status == "unknown"
    assert "Permission denied" in found.why


def test_a_user_without_a_home_folder(monkeypatch):
    def fail():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr("envkit.paths.data_home", fail)
    monkeypatch.setattr("envkit.operations.planned_place.find_conda", lambda: None)
    found = {check.id: check for check in looked(spec_of())}
    assert found["prefix-path"].status == "unknown"
    assert found["prefix-path"].why == "It cannot be looked at: Could not determine home directory."
    assert "disk" not in found
    assert found["path"].status in {"ok", "warn"}


@linux
def test_a_job_with_little_memory(monkeypatch):
    monkeypatch.setattr("envkit.operations.hardware_checks.read_memory", lambda root: Memory(64 * GB, GB))
    found = one("memory")
    assert (found.status, found.known) == ("warn", "unconfirmed")
    assert found.found == "64.0 GB; this process may use 1.0 GB (control group)"
    assert "job" in found.hint
    monkeypatch.setattr("envkit.operations.hardware_checks.read_memory", lambda root: None)
    assert one("memory").status == "unknown"


@linux
@pytest.mark.parametrize(
    ("flags", "status"), [("avx avx2", "ok"), ("avx", "warn"), ("sse4_2", "warn"), (None, "unknown")]
)
def test_avx2_only_warns(monkeypatch, tmp_path, flags, status):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "cpuinfo").write_text(f"model name\t: Old CPU\nflags\t\t: {flags}\n" if flags else "")
    found = cpu_check("linux-64", tmp_path)
    assert (found.status, found.known) == (status, "unconfirmed")
    assert cpu_check("linux-aarch64", tmp_path) is None


@pytest.mark.parametrize(("libcuda", "status"), [(True, "ok"), (False, "warn")])
def test_windows_subsystem(tmp_path, libcuda, status):
    (tmp_path / "proc").mkdir()
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "os-release").write_text('ID=ubuntu\nPRETTY_NAME="Ubuntu 22.04"\n')
    (tmp_path / "proc" / "version").write_text("Linux version 5.15.167.4-microsoft-standard-WSL2 (root@x)\n")
    if libcuda:
        (tmp_path / "usr" / "lib" / "wsl" / "lib").mkdir(parents=True)
        (tmp_path / "usr" / "lib" / "wsl" / "lib" / "libcuda.so.1").touch()
    found = wsl_check(tmp_path)
    assert found.status == status
    assert found.found.startswith("Ubuntu 22.04")


def free_at(folder):
    return shutil.disk_usage(folder).free


def test_room_for_the_download(tmp_path):
    free = free_at(tmp_path)
    fits, tight, not_at_all = lock_of(free // 10), lock_of(free // 2), lock_of(free // 2, free, None)
    assert one("disk", lock=fits).status == "ok"
    warned = one("disk", lock=tight)
    assert (warned.status, warned.known) == ("warn", "derived")
    assert "3.6 times" in warned.why
    failed = one("disk", lock=not_at_all)
    assert (failed.status, failed.known) == ("fail", "confirmed")
    assert failed.needed.startswith("at least ")
    assert "of one file the size is not known" in failed.needed


def test_without_sizes_nothing_is_claimed(tmp_path):
    assert one("disk", lock=lock_of(None, None)).needed is None
    assert one("disk").status == "ok"


def test_what_is_unpacked_in_the_cache_is_not_downloaded(tmp_path):
    free = free_at(tmp_path)
    (tmp_path / "uv" / "archive-v0" / "abc" / "p0-1.0.dist-info").mkdir(parents=True)
    (tmp_path / "uv" / "archive-v0" / "lost").touch()
    (tmp_path / "uv" / "wheels-v5").mkdir()
    found = one("disk", lock=lock_of(free * 2, 1000))
    assert found.status == "ok"
    assert found.needed.endswith(", 1 kB of it not in the cache yet")
    assert one("disk", lock=lock_of(free * 2)).status == "ok"


@linux
def test_uvs_cache_is_where_uv_says(monkeypatch, tmp_path):
    assert uv_cache_place() == uv_cache_dir() == tmp_path / "uv"
    monkeypatch.delenv("UV_CACHE_DIR")
    assert uv_cache_place() == uv_cache_dir()
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "uv"
    config.mkdir()
    (config / "uv.toml").write_text(f'cache-dir = "{tmp_path}/other"\n')
    assert uv_cache_place() == tmp_path / "other"
    (config / "uv.toml").unlink()
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert uv_cache_place() == uv_cache_dir() == Path.home() / ".cache" / "uv"
    windows = uv_cache_place({"LOCALAPPDATA": "/data/local", "UV_NO_CONFIG": "1"}, "win32")
    assert windows == Path("/data/local/uv/cache")


@linux
def test_a_cache_on_another_file_system(monkeypatch, tmp_path):
    if SHM.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs a second file system")
    assert one("cache").status == "ok"
    monkeypatch.setenv("UV_CACHE_DIR", str(SHM / "no-such-cache"))
    checks = looked(lock=lock_of(1000))
    cache = next(check for check in checks if check.id == "cache")
    assert cache.status == "warn"
    assert "UV_CACHE_DIR" in cache.hint
    assert [check.found.rpartition("(")[2] for check in checks if check.id == "disk"] == ["environments)", "cache)"]


@linux
def test_a_read_only_disk_that_runs_nothing(tmp_path):
    """In a mount namespace of its own, by the same function; a library there does not load indeed."""
    folder = tmp_path / "disk"
    folder.mkdir()
    code = (
        "import ctypes, pathlib, json\n"
        "from envkit.operations.system_checks import *\n"
        f"folder = pathlib.Path({str(folder)!r})\n"
        "need = SystemNeed(None, None, 'linux-64', folder / 'env', network=False)\n"
        "try:\n    ctypes.CDLL(str(folder / 'lib.so'))\n    loads = True\n"
        "except OSError:\n    loads = False\n"
        "print(json.dumps([loads, {check.id: check.status for check in system_checks(need)}]))\n"
    )
    with small_disk(folder, size="8m") as disk:
        if disk is None:
            pytest.skip("mounting is not possible here")
        library = next(
            Path(line.split()[-1]) for line in Path("/proc/self/maps").read_text().splitlines() if "libc" in line
        )
        shutil.copy(library, disk.seen / "lib.so")
        disk.remount("ro,noexec")
        done = subprocess.run([*disk.enter, sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loads, statuses = json.loads(done.stdout)
    assert not loads
    assert (statuses["noexec"], statuses["writable"]) == ("fail", "fail")


def test_a_file_in_the_way_a_name_that_activation_cannot_hold_and_a_folder_of_somebody_else(tmp_path):
    (tmp_path / "file").touch()
    assert "is a file" in one("writable", prefix=tmp_path / "file" / "env").why
    assert one("prefix-path", prefix=tmp_path / f"a{os.pathsep}b").status == "fail"
    assert one("prefix-path", prefix=tmp_path / "with blank ä").status == "ok"
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    taken = one("prefix-path", prefix=tmp_path / "full")
    assert taken.status == "warn"
    assert "holds something that is no environment" in taken.why


def test_condas_limit_for_the_prefix(tmp_path):
    long = tmp_path.joinpath(*["x" * 80] * 3)
    assert one("prefix-path", conda_spec(), prefix=long).status == "fail"
    assert one("prefix-path", spec_of(), prefix=long).status == "ok"


@linux
class TestCompilers:
    @pytest.fixture
    def has(self, monkeypatch, tmp_path):
        """Says which stand-in toolkits this machine has."""

        def say(*releases):
            there = [toolkit_at(stub_toolkit(tmp_path / f"cuda-{item}", item), "test") for item in releases]
            monkeypatch.setattr("envkit.operations.compiler_checks.find_toolkits", lambda: tuple(there))

        return say

    def gcc(self, monkeypatch, tmp_path, *versions, default):
        monkeypatch.setenv("PATH", str(stub_gcc(tmp_path / "bin", *versions, default=default)))

    def test_the_toolkit_of_the_build_is_here(self, has):
        has("13.0", "11.3")
        found = one("toolkit", spec_of())
        assert found.status == "ok"
        assert found.found.startswith("CUDA 11.3 in ")

    def test_a_missing_one_is_no_problem_unless_the_spec_compiles(self, has):
        has("13.0")
        found = one("toolkit", spec_of())
        assert (found.status, found.found) == ("ok", None)
        assert "envkit cuda install 11.3" in found.hint or "envkit cuda plan 11.3" in found.hint
        assert one("toolkit", spec_of(sdist=["apex"])).status == "warn"

    def test_a_toolkit_that_is_not_the_builds(self):
        found = one("toolkit", spec_of(toolkit="11.8"))
        assert found.status == "warn"
        assert "11.3" in found.why

    def test_no_switching_no_question(self):
        ids = {check.id for check in looked(spec_of(toolkit="none"))}
        assert not ids & {"toolkit", "host-compiler"}

    def test_without_a_spec_all_are_told(self, has):
        has("13.0", "11.3")
        assert one("toolkit").found.count("CUDA") == 2

    def test_a_gcc_that_is_too_new_and_no_other(self, monkeypatch, tmp_path):
        self.gcc(monkeypatch, tmp_path, 11, 12, default="12.2.0")
        found = one("host-compiler", spec_of())
        assert (found.status, found.found) == ("warn", "gcc 12")
        assert "takes gcc 10 at most" in found.why
        assert found.hint.startswith("To compile, install gcc-10 and g++-10.")
        monkeypatch.setattr("envkit.operations.compiler_checks.current_platform", lambda: "linux-aarch64")
        found = one("host-compiler", spec_of())
        assert "`conda create -n gcc10 -c conda-forge gxx_linux-aarch64=10`" in found.hint
        assert "bin/aarch64-conda-linux-gnu-g++" in found.hint

    def test_an_older_gcc_that_will_be_named(self, monkeypatch, tmp_path):
        self.gcc(monkeypatch, tmp_path, 9, 10, default="12.2.0")
        found = one("host-compiler", spec_of())
        assert found.status == "ok"
        assert found.found.startswith("gcc-10, ")

    def test_a_gcc_that_fits_none_at_all_and_a_lock_alone(self, monkeypatch, tmp_path):
        self.gcc(monkeypatch, tmp_path, default="9.4.0")
        assert one("host-compiler", lock=lock_of(1)).found == "gcc 9"
        monkeypatch.setenv("PATH", str(tmp_path / "empty"))
        assert one("host-compiler", spec_of()).status == "ok"
        assert one("host-compiler", spec_of(sdist=["apex"])).status == "warn"
        ids = {check.id for check in looked(spec_of(host_compiler=False))}
        assert "host-compiler" not in ids

    def test_the_real_gcc_of_this_machine(self):
        program = shutil.which("gcc")
        if program is None:
            pytest.skip("needs gcc")
        said = subprocess.run([program, "-dumpversion"], capture_output=True, text=True, check=True).stdout
        found = one("host-compiler", spec_of())
        assert f"gcc {said.split('.')[0].strip()}" in found.found


@linux
def test_it_is_quick():
    need = SystemNeed(replace(spec_of(), name="x"), lock_of(GB), "linux-64", None, network=False)
    system_checks(need)
    started = time.process_time()
    system_checks(need)
    assert time.process_time() - started < 0.3
