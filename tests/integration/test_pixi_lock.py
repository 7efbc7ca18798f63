"""pixi.lock next to py-rattler's own reader and writer, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from envkit.model.conda_record import CondaRecord
from envkit.model.formats.pixi_text import pixi_lock_text
from envkit.model.lock import Lock, LockedPlatform
from envkit.model.locked import LockedPackage
from envkit.operations.specs import read_spec_or_lock

READ = """
import json, os, sys
from rattler.lock import LockFile
lock = LockFile.from_path(sys.argv[1])
env = lock.default_environment()
(platform,) = env.platforms()
records = env.conda_repodata_records_for_platform(platform) or []
print(json.dumps({
    "platforms": [item.name for item in lock.platforms()],
    "channels": [str(channel) for channel in env.channels()],
    "conda": sorted([r.url, r.sha256.hex(), r.md5.hex(), r.name.normalized, str(r.version), str(r.build),
                     r.build_number, r.subdir, r.size, list(r.depends), list(r.constrains)] for r in records),
    "pypi": sorted([p.name, str(p.version), str(p.location), p.hashes.sha256.hex()]
                   for p in env.pypi_packages_for_platform(platform) or []),
}))
sys.stdout.flush()
os._exit(0)
"""
WRITE = """
import asyncio, os, sys
from rattler import Channel, Gateway, MatchSpec, Platform, solve
from rattler.lock import LockChannel, LockFile, LockPlatform
async def main():
    urls = sys.argv[2:]
    specs = [MatchSpec(text) for text in ("pytorch 1.12.1", "cpuonly", "python 3.11.*")]
    platforms = [Platform("linux-64"), Platform("noarch")]
    found = await solve([Channel(url) for url in urls], specs, gateway=Gateway(), platforms=platforms)
    platform = LockPlatform("linux-64", virtual_packages=["__cuda=11.3"])
    lock = LockFile([platform])
    lock.set_channels("default", [LockChannel(url) for url in urls])
    for record in found:
        lock.add_conda_package("default", platform, record)
    lock.to_path(sys.argv[1])
    print(sorted(record.url + "#" + record.sha256.hex() for record in found))
asyncio.run(main())
sys.stdout.flush()
os._exit(0)
"""
SHA256, MD5 = "ab" * 32, "cd" * 16


def run(script, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("with_pip", [False, True], ids=["conda", "pip"])
def test_py_rattler_reads_what_envkit_writes(tmp_path, with_pip):
    python = CondaRecord(
        "python", "3.10", "h0_3_cpython", "conda-forge", "linux-64", "python-3.10-h0_3_cpython.conda", SHA256,
        size=7, md5=MD5, build_number=3, depends=("libffi >=3.4,<4.0a0",), constrains=("python_abi 3.10.* *_cp310",),
        timestamp=1_660_000_000_000,
    )  # fmt: skip
    wheel = "torch-1.12.1+cu113-cp310-cp310-linux_x86_64.whl"
    package = LockedPackage("torch", "1.12.1+cu113", wheel, SHA256, source="https://download.pytorch.org/whl/cu113")
    url = f"https://download.pytorch.org/whl/cu113/{wheel.replace('+', '%2B')}"
    platform = LockedPlatform((package,) if with_pip else (), base=(python,))
    lock = Lock("x", None, "", "pip" if with_pip else "conda", "3.10", "11.3", None, {"linux-64": platform})
    (tmp_path / "pixi.lock").write_text(pixi_lock_text(lock, "linux-64", {"torch": url}))
    read = json.loads(run(READ, str(tmp_path / "pixi.lock")))
    assert read == {
        "platforms": ["linux-64"],
        "channels": ["https://conda.anaconda.org/conda-forge/"],
        "conda": [
            [
                "https://conda.anaconda.org/conda-forge/linux-64/python-3.10-h0_3_cpython.conda", SHA256, MD5, "python",
                "3.10", "h0_3_cpython", 3, "linux-64", 7, ["libffi >=3.4,<4.0a0"], ["python_abi 3.10.* *_cp310"],
            ]
        ],
        "pypi": [["torch", "1.12.1+cu113", url, SHA256]] if with_pip else [],
    }  # fmt: skip


def test_envkit_reads_what_py_rattler_writes(tmp_path, conda_channels):
    file = tmp_path / "pixi.lock"
    urls = [conda_channels.pytorch.url, conda_channels.forge.url]
    said = run(WRITE, str(file), *urls)
    assert file.read_text().startswith("version: 7\n")
    lock = read_spec_or_lock(file, "pixi.lock")
    assert (lock.installer, lock.python, lock.cuda) == ("conda", "3.11", None)
    assert lock.environment_name("linux-64") == "torch112_cpu_py311"
    records = lock.platforms["linux-64"].base
    assert {record.channel for record in records} == set(urls)
    assert said.strip() == str(sorted(f"{r.channel}/{r.subdir}/{r.file}#{r.sha256}" for r in records))
    assert all(record.size for record in records)
