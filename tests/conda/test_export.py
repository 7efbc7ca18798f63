"""What envkit writes for conda, next to what a real conda writes of the same prefix, and read by that conda."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from envkit.installers.conda_meta import installed_records
from envkit.model.formats.explicit import read_explicit
from envkit.model.lock import Lock, LockedPlatform
from envkit.model.locked import LockedPackage
from envkit.operations.conda_export import conda_texts
from envkit.operations.environments import read_environment
from tests.integration.conftest import conda_channels  # noqa: F401 - a fixture
from tests.support.index import serve_index
from tests.support.wheels import file_hash, make_wheel

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("conda")]
NAME = "torch112_cpu_py311"


@pytest.fixture
def channels(conda_channels):  # noqa: F811 - a fixture
    return [conda_channels.pytorch.url, conda_channels.forge.url]


@pytest.fixture
def made(envkit, conda, channels, tmp_path):
    """An environment that envkit has made of packages of these channels."""
    spec = {
        "schema": 1,
        "name": "c",
        "python": "3.11",
        "installer": "conda",
        "cuda": "cpu",
        "packages": ["pytorch=1.12.1", "torchvision", "cpuonly", "pip"],
        "channels": channels,
        "platforms": ["linux-64"],
    }
    (tmp_path / "c.yaml").write_text(json.dumps(spec))
    done = envkit("create", tmp_path / "c.yaml", "--no-verify", "--json", env=conda.environ)
    assert done.code == 0, done.err
    assert done.json["environment"]["name"] == NAME
    return Path(done.json["environment"]["prefix"])


def explicit(conda, prefix, kind="--sha256") -> list[str]:
    """conda's own list of exactly which files."""
    return [
        line for line in conda("list", "--explicit", kind, "-p", prefix, check=True).out.splitlines() if "://" in line
    ]


def test_the_records_are_those_that_conda_reads(conda, made):
    listed = json.loads(conda("list", "-p", made, "--json", check=True).out)
    mine = {(item.name, item.version, item.build) for item in installed_records(made)}
    assert mine == {(item["name"], item["version"], item["build_string"]) for item in listed}
    md5s = {line.rpartition("#")[2] for line in explicit(conda, made, "--md5")}
    assert {item.md5 for item in installed_records(made)} == md5s


@pytest.mark.parametrize("maker", ["envkit", "conda"])
def test_a_snapshot_says_what_conda_says(conda, made, channels, maker):
    """The same files, packages and pip section; of a prefix that conda has made, too."""
    environment = read_environment(made)
    prefix = made
    if maker == "conda":
        options = ["--override-channels", *(part for url in channels for part in ("-c", url))]
        conda(
            "create", "-y", "--offline", *options, "-n", "other", "pytorch=1.12.1", "cpuonly", "python=3.11", check=True
        )
        prefix = conda.envs / "other"
        (prefix / ".envkit").symlink_to(made / ".envkit")
        environment = read_environment(prefix)
    info = next(prefix.glob("lib/python3.11/site-packages")) / "Mine_Lib-1.0+cu113.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: Mine_Lib\nVersion: 1.0+cu113\n")
    (info / "INSTALLER").write_text("pip\n")
    (info / "RECORD").write_text("")
    index = "https://download.pytorch.org/whl/cu113"
    package = LockedPackage("mine-lib", "1.0+cu113", "x.whl", None, source=index)
    lock = Lock("x", None, "", "pip", "3.11", None, None, {"linux-64": LockedPlatform((package,))})
    texts = conda_texts(environment, lock, "linux-64")

    said = [line for line in texts["conda-explicit.txt"].splitlines() if "://" in line]
    theirs = explicit(conda, prefix)
    assert sorted(line.replace("#sha256:", "#") for line in said) == sorted(theirs)
    assert texts["conda-explicit.txt"].splitlines()[2] == "# platform: linux-64"

    mine = yaml.safe_load(texts["environment.yml"])
    exported = yaml.safe_load(conda("env", "export", "-p", prefix, check=True).out)
    assert exported.pop("prefix") == str(prefix)
    assert sorted(mine["channels"]) == sorted(exported["channels"])
    pip, theirs = mine["dependencies"].pop()["pip"], exported["dependencies"].pop()["pip"]
    assert mine["dependencies"] == exported["dependencies"]
    assert pip == [f"--extra-index-url {index}", *theirs]
    newer = yaml.safe_load(conda("export", "-p", prefix, check=True).out)
    assert newer["dependencies"] == [*mine["dependencies"], {"pip": theirs}]
    assert sorted(newer["channels"]) == sorted(mine["channels"])


@pytest.mark.parametrize("name", ["explicit", "environment.yml"])
def test_conda_makes_the_same_of_an_export(envkit, conda, made, tmp_path, name):
    file = tmp_path / {"explicit": "list.txt", "environment.yml": "environment.yml"}[name]
    done = envkit("export", NAME, "--format", name, "-o", file, env=conda.environ)
    assert done.code == 0, done.err
    if name == "explicit":
        conda("create", "-y", "--offline", "-n", "theirs", "--file", file, check=True)
    else:
        conda("env", "create", "--offline", "-n", "theirs", "-f", file, check=True)
    assert sorted(explicit(conda, conda.envs / "theirs")) == sorted(explicit(conda, made))


@pytest.mark.parametrize(
    "arguments",
    [
        ("list", "--explicit"),
        ("list", "--explicit", "--md5"),
        ("list", "--explicit", "--sha256"),
        ("export", "--format", "explicit"),
    ],
    ids=" ".join,
)
def test_envkit_makes_the_same_of_condas_own_lists(envkit, conda, made, tmp_path, arguments):
    file = tmp_path / "theirs.txt"
    file.write_text(conda(*arguments, "-p", made, check=True).out)
    done = envkit("create", file, "--name", "mine", "--no-verify", "--json", env=conda.environ)
    assert done.code == 0, done.err
    assert sorted(explicit(conda, conda.envs / "mine")) == sorted(explicit(conda, made))
    read = read_explicit(file.read_text(), "x", "linux-64").platforms["linux-64"].conda
    assert {item.name for item in read} == {item.name for item in installed_records(made)}


@pytest.mark.parametrize("arguments", [("env", "export"), ("export",)], ids=" ".join)
def test_envkit_makes_the_same_of_condas_own_environment_yml(envkit, conda, made, tmp_path, arguments):
    """With the line ``prefix`` and all: it is made where it was asked for."""
    file = tmp_path / "environment.yml"
    file.write_text(conda(*arguments, "-p", made, check=True).out)
    assert yaml.safe_load(file.read_text())["prefix"] == str(made)
    done = envkit("restore", file, "--name", "mine", "--no-verify", "--json", env=conda.environ)
    assert done.code == 0, done.err
    assert done.json["environment"]["prefix"] == str(conda.envs / "mine")
    assert sorted(explicit(conda, conda.envs / "mine")) == sorted(explicit(conda, made))


def test_conda_installs_the_pip_section_from_its_index(envkit, conda, conda_channels, channels, tmp_path, monkeypatch):  # noqa: F811 - a fixture
    """A pip environment in a conda prefix as environment.yml: conda and its pip find the package with a label."""
    make_wheel(tmp_path / "wheels", "mine", "1.0+cu113")
    (wheel,) = (tmp_path / "wheels").iterdir()
    python = next(iter(conda_channels.forge.locked("python")))
    others = [conda_channels.forge.locked(name)[0] for name in ("pip", "setuptools", "wheel")]
    base = [item | {"channel": conda_channels.forge.url} for item in (python, *others) if "py310" not in item["build"]]
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with serve_index(tmp_path / "wheels") as index:
        package = {
            "name": "mine",
            "version": "1.0+cu113",
            "source": index.url,
            "file": wheel.name,
            "sha256": file_hash(wheel),
        }
        lock = {
            "schema": 1, "spec": "p", "spec_sha256": None, "created_by": "a test", "installer": "pip", "python": "3.11",
            "cuda": "cpu", "toolkit": "none",
            "platforms": {"linux-64": {"needs": {}, "packages": [package], "base": base}},
        }  # fmt: skip
        (tmp_path / "p.lock.yaml").write_text(json.dumps(lock))
        options = ("--name", "mine", "--backend", "conda", "--no-verify")
        done = envkit("restore", tmp_path / "p.lock.yaml", *options, env=conda.environ)
        assert done.code == 0, done.err
        file = tmp_path / "environment.yml"
        done = envkit("export", "mine", "--format", "environment.yml", "-o", file, env=conda.environ)
        assert done.code == 0, done.err
        assert f"--extra-index-url {index.url}" in file.read_text()
        conda("env", "create", "--offline", "-n", "theirs", "-f", file, env={"PIP_INDEX_URL": index.url}, check=True)
    listed = json.loads(conda("list", "-n", "theirs", "--json", check=True).out)
    assert ("mine", "1.0+cu113", "pypi") in {(item["name"], item["version"], item["channel"]) for item in listed}
