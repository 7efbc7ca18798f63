"""The channels that other tests use are real: py-rattler solves and installs from them, and the Python in them runs."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.channel import Channel, corrupted
from tests.support.conda_archive import PLACEHOLDER, Link
from tests.support.conda_pythons import pythons
from tests.support.conda_torch import real_torch_channel

INSTALL = """
import asyncio, json, os, sys, traceback
from rattler import MatchSpec, GenericVirtualPackage, PackageName, Version, install, solve
from rattler.package import BuildString

async def main(wanted):
    virtual = [GenericVirtualPackage(PackageName(n), Version(v), BuildString(b)) for n, v, b in wanted["virtual"]]
    platforms = ["linux-64", "noarch"]
    specs = [MatchSpec(spec, strict=False) for spec in wanted["specs"]]
    records = await solve(wanted["channels"], specs, platforms=platforms, virtual_packages=virtual)
    if wanted["prefix"]:
        await install(records, wanted["prefix"], show_progress=False)
    print(json.dumps([json.loads(record.to_json()) for record in records]), flush=True)

try:
    asyncio.run(main(json.load(sys.stdin)))
except Exception:
    traceback.print_exc()
    os._exit(1)
os._exit(0)
"""


def run(command: list, stdin: str = "", **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, **options)


def rattler(channels, specs, prefix=None, *, cache=None, virtual=(("__glibc", "2.35", "0"),)) -> dict[str, dict]:
    """Solve, install when a prefix is given, and give name to record; by py-rattler in a process of its own."""
    wanted = {
        "channels": [channel if isinstance(channel, str) else channel.url for channel in channels],
        "specs": specs,
        "prefix": prefix and str(prefix),
        "virtual": virtual,
    }
    env = os.environ | ({"RATTLER_CACHE_DIR": str(cache)} if cache else {})
    done = run([sys.executable, "-c", INSTALL], json.dumps(wanted), env=env)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return {record["name"]: record for record in json.loads(done.stdout)}


@pytest.fixture(scope="module")
def environment(conda_channels, tmp_path_factory):
    """A prefix with Python 3.11, pip, pytorch for CPU."""
    folder = tmp_path_factory.mktemp("conda env")
    specs = ["python 3.11.*", "pip", "pytorch=1.12.1=*cpu*", "torchvision"]
    channels = [conda_channels.pytorch, conda_channels.forge]
    rattler(channels, specs, folder / "prefix", cache=folder / "cache")
    return folder / "prefix"


def python(prefix: Path, *arguments: str) -> str:
    done = run([prefix / "bin" / "python", *arguments], env={})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_python_runs_from_the_prefix_alone(environment):
    facts = json.loads(
        python(
            environment,
            "-c",
            "import ssl, sqlite3, ctypes, json, sys, sysconfig, zlib, lzma, bz2\n"
            "maps = sorted({line[73:].strip() for line in open('/proc/self/maps') if 'libpython' in line})\n"
            "d = sysconfig.get_config_vars()\n"
            "json.dump([sys.prefix, sys.base_prefix, sysconfig.get_path('stdlib'), d['LIBDIR'], maps], sys.stdout)",
        )
    )
    prefix, base, stdlib, libdir, libraries = facts
    assert (prefix, base) == (str(environment), str(environment))
    assert stdlib == str(environment / "lib" / "python3.11")
    assert libdir == str(environment / "lib")
    assert all(library.startswith(str(environment)) for library in libraries)


def test_the_placeholder_is_gone_from_the_prefix(environment):
    left = [path for path in environment.rglob("*") if path.is_file() and PLACEHOLDER.encode() in path.read_bytes()]
    assert [path for path in left if "conda-meta" not in path.parts] == []


def test_pip_lists_conda_packages_with_their_installer(environment):
    listed = {
        item["name"]: item for item in json.loads(python(environment, "-m", "pip", "list", "-v", "--format=json"))
    }
    assert {"pip", "setuptools", "wheel", "numpy", "torch", "torchvision"} <= listed.keys()
    assert {item["installer"] for item in listed.values()} == {"conda"}
    done = run([environment / "bin" / "pip", "check"], env={})
    assert (done.returncode, done.stdout.strip()) == (0, "No broken requirements found.")


def test_torch_says_what_its_package_says(environment):
    assert python(environment, "-c", "import torch; print(torch.__version__, torch.version.cuda)") == "1.12.1 None\n"


@pytest.mark.parametrize(
    ("cuda", "build"),
    [(None, "py3.11_cpu_0"), ("11.4", "py3.11_cuda11.3_cudnn8.3.2_0"), ("12.6", "py3.11_cuda11.6_cudnn8.3.2_0")],
)
def test_the_driver_decides_the_build_of_pytorch(conda_channels, cuda, build):
    virtual = [("__glibc", "2.35", "0"), *([("__cuda", cuda, "0")] if cuda else [])]
    channels = [conda_channels.pytorch, conda_channels.forge]
    found = rattler(channels, ["python 3.11.*", "pytorch", "torchvision"], virtual=virtual)
    assert (found["pytorch"]["version"], found["pytorch"]["build"]) == ("1.12.1", build)
    toolkit = found.get("cudatoolkit", {"version": None})["version"]
    assert toolkit == {None: None, "11.4": "11.3.1", "12.6": "11.6.0"}[cuda]


def test_the_first_channel_that_has_a_package_gives_it(conda_channels):
    channels = [conda_channels.forge, conda_channels.pytorch]
    assert rattler(channels, ["python 3.11.*", "pytorch"])["pytorch"]["version"] == "1.13.0"


@pytest.mark.skipif("3.10" not in pythons(), reason="no Python 3.10 here")
def test_a_second_minor_version_is_there(conda_channels, tmp_path):
    channels = [conda_channels.pytorch, conda_channels.forge]
    rattler(channels, ["python 3.10.*", "pytorch"], tmp_path / "prefix", cache=tmp_path / "cache")
    code = "import sys, torch; print(*sys.version_info[:2], torch.__version__)"
    assert python(tmp_path / "prefix", "-c", code) == "3 10 1.12.1\n"


def test_repodata_states_hashes_sizes_and_times_of_both_formats(tmp_path):
    channel = Channel(tmp_path / "demo")
    made = [channel.add("one", "1.0"), channel.add("two", "2.0", extension="tar.bz2", depends=["one >=1"])]
    records = channel.index().records()
    assert records.keys() == {path.name for path in made}
    for path in made:
        record, data = records[path.name], path.read_bytes()
        assert record["sha256"] == hashlib.sha256(data).hexdigest()
        assert record["md5"] == hashlib.md5(data).hexdigest()  # noqa: S324 - what conda states beside sha256
        assert (record["size"], record["timestamp"]) == (len(data), 1_660_000_000_000)
    assert records["two-2.0-0.tar.bz2"]["depends"] == ["one >=1"]


@pytest.mark.parametrize("extension", ["conda", "tar.bz2"])
def test_packages_have_the_same_bytes_each_time(tmp_path, extension):
    files = {
        "bin/tool": f"#!{PLACEHOLDER}/bin/python\n",
        "lib/liba.so": Link("liba.so.1"),
        "lib/liba.so.1": b"\x7fELF\0",
    }
    made = [
        Channel(tmp_path / name).add("demo", "1.0", files=files, scripts={"post-link": "exit 0\n"}, extension=extension)
        for name in ("one", "two")
    ]
    assert made[0].read_bytes() == made[1].read_bytes()


@pytest.mark.parametrize("extension", ["conda", "tar.bz2"])
def test_links_modes_prefixes_and_scripts_arrive(tmp_path, extension):
    channel = Channel(tmp_path / "demo")
    files = {
        "bin/tool": f"#!/bin/sh\necho {PLACEHOLDER}\n",
        "lib/liba.so": Link("liba.so.1"),
        "lib/liba.so.1": b"\x7fELF\0" + PLACEHOLDER.encode() + b"/lib\0end",
    }
    channel.add("demo", "1.0", files=files, scripts={"post-link": "touch $PREFIX/ran\n"}, extension=extension)
    prefix = tmp_path / "prefix"
    rattler([channel.index()], ["demo"], prefix, cache=tmp_path / "cache")
    assert run([prefix / "bin" / "tool"]).stdout == f"{prefix}\n"
    assert (prefix / "lib" / "liba.so").readlink() == Path("liba.so.1")
    library = (prefix / "lib" / "liba.so.1").read_bytes()
    assert library.startswith(b"\x7fELF\0" + str(prefix).encode() + b"/lib\0")
    assert len(library) == len(files["lib/liba.so.1"])
    assert (prefix / "bin" / ".demo-post-link.sh").is_file()
    assert not (prefix / "ran").exists()


def test_a_corrupted_package_is_refused(tmp_path):
    channel = Channel(tmp_path / "demo")
    package = channel.add("demo", "1.0")
    channel.index()
    data = corrupted(package)
    assert len(data) == package.stat().st_size
    package.write_bytes(data)
    with pytest.raises(RuntimeError, match="Invalid checksum"):
        rattler([channel], ["demo"], tmp_path / "prefix", cache=tmp_path / "cache")


def test_records_for_a_lock_name_channel_subdir_and_file(tmp_path):
    channel = Channel(tmp_path / "some-channel")
    channel.add("one", "1.0", noarch="generic")
    channel.add("two", "2.0")
    found = [(item["channel"], item["subdir"], item["file"]) for item in channel.index().locked()]
    assert found == [("some-channel", "linux-64", "two-2.0-0.conda"), ("some-channel", "noarch", "one-1.0-0.conda")]
    assert [item["name"] for item in channel.locked("one")] == ["one"]


@pytest.mark.network
@pytest.mark.slow
def test_the_real_torch_runs_from_a_conda_prefix(tmp_path, shared_folder):
    try:
        channel = real_torch_channel(tmp_path / "conda-forge", cache=shared_folder / "conda-packages")
    except RuntimeError as error:
        pytest.skip(str(error))
    found = rattler([channel], ["python 3.11.*", "pytorch", "pip"], tmp_path / "prefix", cache=tmp_path / "cache")
    assert (found["pytorch"]["version"], found["pytorch"]["build"]) == ("2.13.0", "py311_cpu_0")
    code = "import torch; print((torch.ones(2, 3) @ torch.ones(3, 2)).sum().item())"
    assert python(tmp_path / "prefix", "-c", code) == "12.0\n"
    assert python(tmp_path / "prefix", "-m", "pip", "check").strip() == "No broken requirements found."
