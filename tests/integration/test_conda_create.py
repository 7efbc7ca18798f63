"""conda environments made by py-rattler alone: real packages of loopback and file channels, torch being a stub."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import start, tree
from tests.support.channel_server import serve_channels

CPU, CUDA = "torch112_cpu_py311", "torch112_cu113_py311"


@dataclass
class CondaProject:
    """A folder with specs for channels that the user's ``.condarc`` leads to."""

    folder: Path
    envs: Path

    def spec(self, name: str = "c", **changes: Any) -> Path:
        """A spec with installer conda; JSON is YAML."""
        content = {
            "schema": 1,
            "name": name,
            "python": "3.11",
            "installer": "conda",
            "cuda": "cpu",
            "packages": ["pytorch=1.12.1", "torchvision", "cpuonly"],
            "channels": ["pytorch", "conda-forge"],
            "platforms": ["linux-64"],
        } | changes
        path = self.folder / f"{name}.yaml"
        path.write_text(json.dumps(content))
        return path

    def cuda_spec(self, **changes: Any) -> Path:
        return self.spec(**({"cuda": "11.3", "packages": ["pytorch=1.12.1", "torchvision"]} | changes))


@pytest.fixture
def conda(conda_channels, conda_home, tmp_path):
    conda_home.condarc(channel_alias=conda_channels.alias)
    folder = tmp_path / "conda-project"
    folder.mkdir()
    return CondaProject(folder, conda_home.envs)


def pip_lock(project, keep: str) -> Path:
    """A lock for Python 3.11 with one of the project's packages."""
    content = project.lock_content()
    content.update(python="3.11", cuda="cpu", spec_sha256=None)
    locked = content["platforms"]["linux-64"]
    locked["packages"] = [entry for entry in locked["packages"] if entry["name"] == keep]
    path = project.folder / "other.lock.yaml"
    path.write_text(json.dumps(content))
    return path


def explicit(prefix) -> list[str]:
    """Which file of which channel with which hash, by the prefix's own records."""
    records = [json.loads(path.read_text()) for path in Path(prefix, "conda-meta").glob("*.json")]
    return sorted(f"{record['url']}#{record['sha256']}" for record in records)


def test_create_verify_snapshot_remove_restore(envkit, conda, conda_home):
    done = envkit("create", conda.spec(), "--json")
    assert done.code == 0, done.err
    made = done.json["environment"]
    prefix = conda.envs / CPU
    assert made["prefix"] == str(prefix)
    assert (made["name"], made["backend"], made["installer"], made["engine"]) == (CPU, "conda", "conda", "rattler")
    assert (made["state"], made["build_cuda"], made["last_verify"]) == ("complete", None, "pass")
    assert (conda.folder / "c.lock.yaml").is_file()
    assert conda_home.environments_txt.read_text().splitlines() == [str(prefix)]
    assert [item["name"] for item in envkit("list", "--json").json["environments"]] == [CPU]
    assert Path(done.json["snapshot"], "manifest.json").is_file()
    before = explicit(prefix)
    assert len(before) == 6
    packages = envkit("info", CPU, "--json").json["packages"]
    assert {item["source"] for item in packages} == {"pytorch", "conda-forge"}  # wherever they came from here

    again = envkit("create", conda.spec(), "--json")
    assert (again.code, again.json["created"]) == (0, False)
    other = envkit("restore", CPU, "--prefix", conda.folder / "elsewhere", "--json")
    assert other.code == 0, other.err
    assert explicit(conda.folder / "elsewhere") == before
    assert envkit("remove", conda.folder / "elsewhere", "--yes").code == 0

    assert envkit("remove", CPU, "--yes").code == 0
    assert not prefix.exists()
    assert conda_home.environments_txt.read_text() == ""
    back = envkit("restore", CPU, "--json")
    assert back.code == 0, back.err
    assert back.json["environment"]["prefix"] == str(prefix)
    assert explicit(prefix) == before


def test_a_verdict_is_written_down_where_no_snapshot_can_be(envkit, conda):
    assert envkit("create", conda.spec(), "--no-verify").code == 0
    meta = conda.envs / CPU / "conda-meta"
    next(meta.glob("cpuonly-*.json")).write_text("{")
    done = envkit("verify", CPU, "--json")
    assert (done.code, done.json["verified"], done.json["snapshot"]) == (4, True, None)
    assert "no snapshot could be written" in done.err
    record = json.loads((conda.envs / CPU / ".envkit" / "environment.json").read_text())
    assert record["last_verify"] == "pass"


def test_what_conda_would_have_recorded(envkit, conda, conda_channels):
    assert envkit("create", conda.spec(), "--no-verify").code == 0
    meta = conda.envs / CPU / "conda-meta"
    assert (meta / "history").read_text().startswith("==> ")
    torch = json.loads((meta / "pytorch-1.12.1-py3.11_cpu_0.json").read_text())
    assert torch["url"] == f"{conda_channels.alias}/pytorch/linux-64/pytorch-1.12.1-py3.11_cpu_0.conda"
    assert torch["requested_specs"] == ["pytorch 1.12.1.*"]
    numpy = json.loads(next(meta.glob("numpy-*.json")).read_text())
    assert not numpy.get("requested_specs")
    assert numpy["depends"] == ["python >=3.7"]


def test_a_login_node_makes_the_cuda_build(envkit, conda):
    """EK-C24: no GPU and no driver here."""
    done = envkit("create", conda.cuda_spec(), "--json")
    assert done.code == 0, done.err
    assert "No NVIDIA driver answers here" in done.err
    assert "--driver" in done.err
    assert "--cuda" in done.err
    assert (conda.envs / CUDA / "conda-meta" / "pytorch-1.12.1-py3.11_cuda11.3_cudnn8.3.2_0.json").is_file()
    assert done.json["environment"]["build_cuda"] == "11.3"
    assert (done.json["verify"]["verified"], done.json["snapshot"]) == (False, None)
    text = envkit("list").out
    assert "not verified" in text
    assert envkit("verify", CUDA).code == 10
    assert envkit("snapshot", "list", CUDA, "--json").json["snapshots"] == []


@pytest.mark.parametrize(
    ("option", "variable", "code"),
    [
        (("--cuda", "11.6"), None, 0),
        (("--driver", "470.57.02"), None, 0),
        ((), "11.8", 0),
        ((), "10.2", 4),
        ((), "", 4),
    ],
    ids=["cuda", "driver", "override", "older", "none"],
)
def test_the_target_is_stated(envkit, conda, monkeypatch, option, variable, code):
    """EK-C24: the override is for the solver alone; a CPU build is never taken for a CUDA spec."""
    if variable is not None:
        monkeypatch.setenv("CONDA_OVERRIDE_CUDA", variable)
    done = envkit("create", conda.cuda_spec(), "--no-verify", *option, "--json")
    assert done.code == code, done.err
    if code == 0:
        torch = next((conda.envs / CUDA / "conda-meta").glob("pytorch-1*.json"))
        assert "cuda11.3" in torch.name
    else:
        assert "__cuda" in json.dumps(done.json["error"])
        assert not conda.envs.exists()


def test_the_first_channel_that_has_a_package_gives_it(envkit, conda):
    """conda-forge has pytorch 1.13.0; strict priority keeps to that of the first channel."""
    spec = conda.spec(packages=["pytorch", "cpuonly"])
    assert envkit("lock", spec).code == 0
    text = (conda.folder / "c.lock.yaml").read_text()
    assert re.search(r"name: pytorch, version: 1\.12\.1, .*channel: pytorch,", text)
    first = conda.spec("f", packages=["pytorch"], channels=["conda-forge", "pytorch"])
    assert envkit("lock", first).code == 0
    assert re.search(
        r"name: pytorch, version: 1\.13\.0, .*channel: conda-forge,", (conda.folder / "f.lock.yaml").read_text()
    )


def test_another_build_than_the_spec_says_is_refused(envkit, conda):
    done = envkit("create", conda.spec(cuda="11.3"), "--json")
    assert done.code == 4
    assert "is a CPU build, the spec says cuda: 11.3" in done.json["error"]["message"]
    done = envkit(
        "create", conda.cuda_spec(cuda="11.3", packages=["pytorch=1.12.1=*cuda11.6*"]), "--cuda", "11.8", "--json"
    )
    assert done.code == 4
    assert "built for CUDA 11.6" in done.json["error"]["message"]
    assert not conda.envs.exists()


def test_pip_in_a_conda_prefix(envkit, project, conda):
    """Python alone comes from conda-forge; what pip installs is what the lock holds."""
    lock = pip_lock(project, "pip")
    done = envkit("restore", lock, "--backend", "conda", "--name", "p", "--no-verify", "--json")
    assert done.code == 0, done.err
    made = done.json["environment"]
    assert (made["backend"], made["installer"], made["engine"]) == ("conda", "pip", "uv")
    prefix = conda.envs / "p"
    records = [json.loads(path.read_text())["name"] for path in (prefix / "conda-meta").glob("*.json")]
    assert records == ["python"]
    own = (prefix / ".envkit" / "lock.yaml").read_text()
    assert "name: python, version: 3.11" in own[own.index("base:") :]
    again = envkit("restore", lock, "--name", "p", "--no-verify", "--json")
    assert (again.code, again.json["created"]) == (0, False)
    version = made["python"]
    elsewhere = envkit("restore", "p", "--prefix", conda.folder / "q", "--no-verify", "--json")
    assert elsewhere.code == 0, elsewhere.err
    assert explicit(conda.folder / "q") == explicit(prefix)
    assert elsewhere.json["environment"]["python"] == version


def test_pip_comes_from_the_channel_where_the_lock_has_none(envkit, project, conda):
    lock = pip_lock(project, "numpy")
    done = envkit("restore", lock, "--backend", "conda", "--name", "p", "--no-verify", "--dry-run", "--json")
    assert done.code == 0, done.err
    names = {item["name"] for item in done.json["plan"]["packages"] if item["source"] == "conda-forge"}
    assert names == {"pip", "python", "setuptools", "wheel"}


def test_offline_from_the_caches(envkit, conda, conda_channels, conda_home):
    with serve_channels(conda_channels.root) as server:
        conda_home.condarc(channel_alias=server.url)
        assert envkit("create", conda.spec(), "--no-verify").code == 0
        asked = len(server.requests)
        done = envkit("restore", CPU, "--prefix", conda.folder / "x", "--no-verify")
        assert done.code == 0, done.err
        assert len(server.requests) == asked  # all there, so nothing is asked
    done = envkit("restore", CPU, "--prefix", conda.folder / "y", "--no-verify", "--offline")
    assert done.code == 0, done.err
    assert explicit(conda.folder / "y") == explicit(conda.envs / CPU)


def test_a_channel_from_outside_has_to_be_trusted(envkit, conda, tmp_path):
    assert envkit("lock", conda.spec()).code == 0
    lock = conda.folder / "c.lock.yaml"
    lock.write_text(lock.read_text().replace("channel: pytorch,", "channel: 'https://example.org/pytorch',"))
    done = envkit("restore", lock, "--no-verify", "--json")
    assert done.code == 4
    assert "example.org" in done.json["error"]["message"]
    spec = conda.spec("u", channels=["https://example.org/x"])
    done = envkit("lock", spec, "--json")
    assert done.code == 4
    assert "--trust-source example.org" in done.json["error"]["hint"]


def test_a_failing_package_leaves_nothing(envkit, conda, conda_channels, conda_home):
    with serve_channels(conda_channels.root) as server:
        conda_home.condarc(channel_alias=server.url)
        assert envkit("lock", conda.spec()).code == 0
        server.corrupt("torchvision-0.13.1-py311_cpu.conda")
        done = envkit("create", conda.spec(), "--json")
    assert done.code == 5, done.err
    assert "torchvision" in json.dumps(done.json["error"])
    assert not conda.envs.exists()
    assert not conda_home.environments_txt.exists()


def test_replace_and_its_failure(envkit, conda, conda_channels, conda_home):
    assert envkit("create", conda.spec(), "--no-verify").code == 0
    prefix = conda.envs / CPU
    (prefix / "notes.txt").write_text("mine")
    before = tree(prefix)
    conda_home.condarc(channel_alias="http://127.0.0.1:9")
    failed = envkit(
        "restore", CPU, "--replace", "--no-verify", "--json", env={"RATTLER_CACHE_DIR": str(conda.folder / "rc")}
    )
    assert failed.code == 5
    assert tree(prefix) == before
    conda_home.condarc(channel_alias=conda_channels.alias)
    done = envkit("restore", CPU, "--replace", "--no-verify", "--json")
    assert done.code == 0, done.err
    assert (prefix / "replaced-files" / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopping_leaves_nothing(envkit, conda, conda_channels, conda_home, number):
    with serve_channels(conda_channels.root) as server:
        conda_home.condarc(channel_alias=server.url)
        assert envkit("lock", conda.spec()).code == 0
        server.trickle("cpuonly-2.0-0.conda", size=1, every_s=0.5)
        child = start(envkit, "create", conda.spec(), "--no-verify")
        limit = time.monotonic() + 60
        while not (conda.envs / CPU).exists() and time.monotonic() < limit:
            time.sleep(0.05)
        time.sleep(0.5)
        child.send_signal(number)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 130, err
    time.sleep(1)  # a worker that went on would write on
    assert not conda.envs.exists()


def test_a_name_that_the_other_backend_has(envkit, conda, project):
    venv = envkit("create", project.spec, "--no-verify", "--name", "both", "--backend", "venv")
    assert venv.code == 0, venv.err
    done = envkit("create", conda.spec(), "--no-verify", "--name", "both", "--json")
    assert done.code == 11
    assert "made by the backend venv" in done.json["error"]["message"]
    assert "--name both_conda" in done.json["error"]["hint"]
    assert envkit("create", project.spec, "--no-verify", "--name", "both", "--json").json["created"] is False


def test_a_place_that_the_other_backend_has(envkit, conda, project):
    """The same lock: who asks for a virtual environment is not told that there is one."""
    place = conda.folder / "here"
    lock = pip_lock(project, "pip")
    made = envkit("restore", lock, "--prefix", place, "--no-verify", "--backend", "conda")
    assert made.code == 0, made.err
    for what in (lock, place):
        done = envkit("restore", what, "--prefix", place, "--no-verify", "--backend", "venv", "--json")
        assert done.code == 11
        assert "made by the backend conda" in done.json["error"]["message"]
    assert envkit("restore", lock, "--prefix", place, "--no-verify", "--json").json["created"] is False
    done = envkit("restore", lock, "--prefix", place, "--no-verify", "--backend", "venv", "--replace", "--json")
    if done.code == 0:
        assert done.json["environment"]["backend"] == "venv"
    else:  # no Python 3.11 on this machine
        assert done.code == 3


def test_backend_auto_and_what_it_says(envkit, project, conda, tmp_path):
    done = envkit("create", project.spec, "--no-verify", "--dry-run")
    assert "backend: venv, because there is no conda here, and Python 3.9" in done.err
    program = tmp_path / "bin" / "mamba"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    done = envkit("create", project.spec, "--no-verify", "--dry-run", env={"PATH": path})
    assert f"backend: conda, because there is mamba on this machine ({program})" in done.err
    done = envkit("create", project.spec, "--no-verify", "--dry-run", "--python", "python3.9", env={"PATH": path})
    assert "backend: venv, because --python names a program" in done.err
    done = envkit("create", conda.spec(), "--backend", "venv", "--json")
    assert done.code == 2
    assert "cannot hold conda's packages" in done.json["error"]["message"]


def test_a_python_that_only_the_channel_has(envkit, project, conda, monkeypatch, tmp_path):
    """Neither conda nor such a Python is here: the prefix is made by py-rattler alone."""
    lock = pip_lock(project, "pip")
    hidden = {"PYENV_ROOT": str(tmp_path), "UV_PYTHON_INSTALL_DIR": str(tmp_path), "PATH": "/nowhere"}
    done = envkit("restore", lock, "--name", "p", "--no-verify", "--json", env=hidden)
    assert done.code == 0, done.err
    assert "there is neither conda nor a Python 3.11 here" in done.err
    assert done.json["environment"]["backend"] == "conda"


def test_python_of_a_conda_prefix_is_a_package(envkit, project, conda):
    for asked, said in (("python3.9", "names a program"), ("3.8", "does not go with a lock for Python 3.9")):
        done = envkit("create", project.spec, "--backend", "conda", "--python", asked, "--no-verify", "--json")
        assert done.code == 3
        assert said in done.json["error"]["message"]


def test_python_of_a_lock_with_conda_packages_is_settled(envkit, conda):
    for asked, said in (("/bin/python3", "names a program"), ("3.10", "does not go with a lock for Python 3.11")):
        done = envkit("create", conda.spec(), "--python", asked, "--no-verify", "--json")
        assert done.code == 3
        assert said in done.json["error"]["message"]
    assert envkit("create", conda.spec(), "--python", "3.11", "--no-verify", "--dry-run").code == 0


def test_a_python_that_the_channel_does_not_have(envkit, project, conda):
    """What stood in a virtual environment comes into a conda prefix: its patch version is a wish."""
    done = envkit("restore", pip_lock(project, "pip"), "--no-verify", "--backend", "conda", "--name", "v")
    assert done.code == 0, done.err
    own = conda.envs / "v" / ".envkit"
    record = json.loads((own / "environment.json").read_text())
    (own / "environment.json").write_text(json.dumps(record | {"python": "3.11.99"}))
    text = (own / "lock.yaml").read_text()
    (own / "lock.yaml").write_text(text[: text.index("    base:")] + "    base: []\n")
    done = envkit("restore", "v", "--prefix", conda.folder / "c", "--no-verify", "--dry-run")
    assert done.code == 0, done.err
    assert "It had Python 3.11.99, which conda-forge does not have." in done.err


def test_a_changed_file_is_mended_past_the_cache(envkit, conda):
    """Environment and package cache share files by hard links: a byte changed in one is changed in both."""
    assert envkit("create", conda.spec(), "--no-verify").code == 0
    changed = conda.envs / CPU / "lib" / "python3.11" / "site-packages" / "torchvision" / "__init__.py"
    right = changed.read_bytes()
    with changed.open("r+b") as file:  # in place, as a debugging user does
        file.write(b"#" if right[:1] != b"#" else b" ")
    told = envkit("doctor", CPU)
    assert told.code == 6
    assert "torchvision/__init__.py of torchvision (changed)" in told.out
    done = envkit("restore", CPU, "--replace", "--no-verify")
    assert done.code == 0, done.err
    assert changed.read_bytes() == right
    assert envkit("doctor", CPU).code == 0


def test_a_prefix_with_its_own_nvcc_is_its_own_toolkit(envkit, conda):
    channels = ["pytorch", "nvidia/label/cuda-11.3.0", "conda-forge"]
    spec = conda.cuda_spec(packages=["pytorch=1.12.1", "cuda-nvcc"], channels=channels)
    done = envkit("create", spec, "--no-verify", "--json")
    assert done.code == 0, done.err
    prefix = conda.envs / CUDA
    assert done.json["environment"]["toolkit"]["path"] == str(prefix)
    assert done.json["environment"]["toolkit"]["release"] == "11.3"
    inside = envkit("run", CUDA, "--", "printenv", "CUDA_HOME")
    assert inside.out == f"{prefix}\n", inside.err
    assert "release 11.3" in envkit("run", CUDA, "--", "nvcc").out


def test_info_of_an_environment_with_a_damaged_record(envkit, conda):
    assert envkit("create", conda.spec(), "--no-verify").code == 0
    before = envkit("info", CPU, "--json").json["packages"]
    assert {item["source"] for item in before} == {"conda-forge", "pytorch"}
    next((conda.envs / CPU / "conda-meta").glob("numpy-*.json")).write_text("{")
    done = envkit("info", CPU, "--json")
    assert done.code == 0, done.out
    assert [(item["name"], item["version"]) for item in done.json["packages"]] == [
        (item["name"], item["version"]) for item in before
    ]
