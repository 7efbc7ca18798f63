"""Toolkits installed from the default index: a real one, and stubs for what goes wrong."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tests.integration.conftest import start
from tests.support.index import serve_index
from tests.support.kills import DIE_AT
from tests.support.mounts import small_disk
from tests.support.stub_toolkit import installed_record, stub_wheels

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """
#include <cstdio>
#include <cuda_runtime.h>
#include <cub/version.cuh>
__global__ void add(int *x) { *x += 1; }
int main() { std::printf("%d %d\\n", CUDART_VERSION, CUB_VERSION > 0); add<<<1, 1>>>(nullptr); return 0; }
"""


def said(*command: object, cwd: Path | None = None) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def wait_until(holds) -> None:
    """For half a minute at most."""
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def left_behind(home: Path) -> list[str]:
    """What is in the folder of toolkits besides whole ones."""
    folder = home / "toolkits"
    return [name for name in os.listdir(folder) if not name.startswith("cuda-")] if folder.is_dir() else []


@pytest.mark.network
def test_a_real_toolkit_compiles_and_links(real_toolkit_132, tmp_path):
    if shutil.which("g++") is None:
        pytest.skip("needs a host compiler")
    nvcc = real_toolkit_132 / "bin" / "nvcc"
    assert "release 13.2" in said(nvcc, "--version")
    (tmp_path / "a.cu").write_text(SOURCE)
    said(nvcc, "a.cu", "-o", "static", cwd=tmp_path)
    assert said("./static", cwd=tmp_path) == "13020 1\n"
    (tmp_path / "b.cpp").write_text("#include <cuda_runtime.h>\nint main() { int n; cudaGetDeviceCount(&n); }\n")
    said(
        "g++",
        "b.cpp",
        f"-I{real_toolkit_132}/include",
        f"-L{real_toolkit_132}/lib64",
        "-lcudart",
        "-o",
        "b",
        cwd=tmp_path,
    )
    assert "libcudart.so.13" in said("ldd", tmp_path / "b")


@pytest.mark.network
def test_a_real_toolkit_is_there_already_and_shares_no_file_with_the_cache(envkit, real_toolkit_132):
    home = real_toolkit_132.parents[1]
    done = envkit("cuda", "install", "13.2", "--json", env={"ENVKIT_HOME": str(home)})
    assert done.code == 0, done.err
    assert (done.json["installed"], done.json["source"]) == (False, "pypi")
    assert done.json["toolkit"]["path"] == str(real_toolkit_132)
    assert done.json["toolkit"]["version"] == real_toolkit_132.name.removeprefix("cuda-")
    assert {path.stat().st_nlink for path in real_toolkit_132.rglob("*") if path.is_file()} == {1}
    assert left_behind(home) == []


@pytest.fixture
def stub(tmp_path, monkeypatch):
    """A stub toolkit on a loopback index, which is the user's default one."""
    made = stub_wheels(tmp_path / "stub", ballast=200_000)
    with serve_index(made.folder) as index:
        monkeypatch.setenv("UV_DEFAULT_INDEX", index.url)
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / ".uv-cache"))
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        yield made, index


def test_the_files_of_a_record_are_installed_again(envkit, stub):
    made, index = stub
    done = envkit("cuda", "install", made.record, "--json")
    assert done.code == 0, done.err
    assert done.json["installed"] is True
    assert [(step["step"], step["status"]) for step in done.json["steps"]][:3] == [
        ("version", "pass"),
        ("compile", "pass"),
        ("link", "pass"),
    ]
    folder = envkit.home / "toolkits" / "cuda-13.2.2"
    assert done.json["toolkit"]["path"] == str(folder)
    assert (folder / "lib64" / "libcudart.so").read_text() == "runtime"
    before, after = made.record.read_text(), installed_record(envkit.home, "13.2.2").read_text()
    assert before.partition("packages:")[2] == after.partition("packages:")[2]
    asked = len(index.requests)
    again = envkit("cuda", "install", made.record, "--json")
    assert (again.code, again.json["installed"]) == (0, False)
    assert len(index.requests) == asked
    assert left_behind(envkit.home) == []


def test_several_stand_side_by_side(envkit, stub, tmp_path):
    made, index = stub
    other = stub_wheels(tmp_path / "other", "13.3.0")
    for wheel in other.wheels:
        shutil.copy2(wheel, index.folder)
    for record in (made.record, other.record):
        assert envkit("cuda", "install", record).code == 0
    for version in ("13.2.2", "13.3.0"):
        nvcc = envkit.home / "toolkits" / f"cuda-{version}" / "bin" / "nvcc"
        assert f"release {version[:4]}" in said(nvcc, "--version")


def test_a_lying_index_is_noticed_and_nothing_is_left(envkit, stub):
    made, index = stub
    index.with_hashes = False
    wheel = made.wheels[0]
    index.replace(wheel.name, wheel.read_bytes().replace(b"release 13.2", b"release 66.6") + b"\0")
    done = envkit("cuda", "install", made.record, "--json")
    assert done.code == 5
    assert "Hash mismatch" in done.json["error"]["message"]
    assert done.json["toolkit"] is None
    assert os.listdir(envkit.home / "toolkits") == []


def test_offline_it_takes_the_wheelhouse_and_asks_nobody(envkit, stub):
    made, index = stub
    none = envkit("cuda", "install", made.record, "--offline", "--json")
    assert none.code == 5
    assert "--wheelhouse" in none.json["error"]["hint"]
    done = envkit("cuda", "install", made.record, "--offline", "--wheelhouse", made.folder, "--json")
    assert done.code == 0, done.err
    assert index.requests == []


def test_two_at_once_make_it_once(envkit, stub):
    made, _ = stub
    children = [start(envkit, "cuda", "install", made.record, "--json") for _ in range(3)]
    ended = [(child.communicate(timeout=120), child.returncode) for child in children]
    assert [code for _, code in ended] == [0, 0, 0], ended
    assert sorted(json.loads(out)["installed"] for (out, _), _ in ended) == [False, False, True]
    assert left_behind(envkit.home) == []


def killed_in_the_download(envkit, made, index, _folder) -> subprocess.Popen[str]:
    index.hang(made.wheels[0].name)
    child = start(envkit, "cuda", "install", made.record)
    wait_until(lambda: any("GET /files" in request for request in index.requests))
    child.kill()
    return child


def killed_before_it_is_published(envkit, made, _index, folder) -> subprocess.Popen[str]:
    """Right before the folder is moved to its place."""
    root, log = str(envkit.home / "toolkits"), folder / "log"
    install = ["cuda", "install", str(made.record), "--offline", "--wheelhouse", str(made.folder)]

    def die_at(number: int) -> subprocess.Popen[str]:
        command = [sys.executable, str(DIE_AT), str(number), root, str(log), *install]
        return subprocess.Popen(
            command, env=envkit.variables(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    die_at(0).communicate(timeout=60)
    changes = log.read_text().splitlines()
    shutil.rmtree(root)
    return die_at(1 + next(number for number, line in enumerate(changes) if line.endswith("/nvidia/cu13")))


@pytest.mark.parametrize("kill", [killed_in_the_download, killed_before_it_is_published])
def test_a_killed_install_leaves_what_the_next_one_clears(envkit, stub, kill, tmp_path):
    made, index = stub
    child = kill(envkit, made, index, tmp_path)
    child.communicate(timeout=60)
    assert child.returncode == -signal.SIGKILL
    assert len(left_behind(envkit.home)) == 1
    assert not (envkit.home / "toolkits" / "cuda-13.2.2").exists()
    index.heal()
    done = envkit("cuda", "install", made.record)
    assert done.code == 0, done.err
    assert left_behind(envkit.home) == []


def test_ctrl_c_leaves_nothing(envkit, stub):
    made, index = stub
    index.hang(made.wheels[0].name)
    child = start(envkit, "cuda", "install", made.record)
    wait_until(lambda: any("GET /files" in request for request in index.requests))
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=60)
    assert child.returncode == 130
    assert os.listdir(envkit.home / "toolkits") == []


def test_a_full_disk_leaves_nothing(envkit, stub, tmp_path):
    big = stub_wheels(tmp_path / "big", ballast=12_000_000)
    with small_disk(envkit.home, "8m") as disk:
        if disk is None:
            pytest.skip("needs root and unshare to mount a file system")
        command = [*disk.enter, *envkit.argv("cuda", "install", big.record, "--wheelhouse", big.folder, "--json")]
        done = subprocess.run(command, env=envkit.variables(), capture_output=True, text=True, check=False)
        assert done.returncode == 12, done.stderr
        assert json.loads(done.stdout)["error"]["type"] == "Storage"
        assert os.listdir(disk.seen / "toolkits") == []


def test_what_is_there_is_not_touched(envkit, stub, tmp_path):
    made = stub[0]
    folder = envkit.home / "toolkits" / "cuda-13.2.2"
    folder.mkdir(parents=True)
    (folder / "mine").write_text("mine")
    done = envkit("cuda", "install", made.record, "--json")
    assert (done.code, done.json["error"]["type"]) == (11, "Exists")
    assert os.listdir(folder) == ["mine"]
    shutil.rmtree(folder)
    assert envkit("cuda", "install", made.record).code == 0
    other = stub_wheels(tmp_path / "other", ballast=1)
    refused = envkit("cuda", "install", other.record, "--wheelhouse", other.folder)
    assert refused.code == 11
    assert "envkit cuda remove 13.2.2" in refused.err


def test_a_compiler_of_another_release_is_refused(envkit, stub, tmp_path):
    made, _ = stub
    text = made.record.read_text().replace("version: 13.2.2\nsource", "version: 13.4.1\nsource")
    made.record.write_text(text)
    done = envkit("cuda", "install", made.record, "--json")
    assert done.code == 3
    assert "not the compiler of CUDA 13.4.1" in done.json["error"]["message"]
    assert os.listdir(envkit.home / "toolkits") == []


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["10.2"], 9, "cuda plan 10.2"),
        (["13.0.0", "--from", "pypi"], 9, "link.stub"),
        (["latest"], 2, "no version"),
        (["./none.yaml"], 9, "no file"),
        (["13.2", "--with", "cuda"], 2, "cublas"),
        (["13.2", "--wheelhouse", "./none"], 2, "no folder"),
    ],
)
def test_what_cannot_be_installed_is_told(envkit, arguments, code, told):
    done = envkit("cuda", "install", *arguments)
    assert done.code == code, done.err
    assert told in done.err
    assert not (envkit.home / "toolkits").exists()


def test_a_record_for_another_system_does_not_fit(envkit, stub):
    made, _ = stub
    made.record.write_text(made.record.read_text().replace("platform: linux-64", "platform: win-64"))
    assert envkit("cuda", "install", made.record).code == 3
