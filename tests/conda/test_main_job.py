"""The main job with a real conda: create, activate, what is refused, restore elsewhere, remove by conda itself."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from uv import find_uv_bin

from tests.conda.conftest import SHELLS, without_conda
from tests.integration.conftest import conda_channels, conda_home, project  # noqa: F401 - fixtures
from tests.support.conda_pythons import bundled_wheels

CPU = "torch112_cpu_py311"


@pytest.fixture
def spec(tmp_path, conda_home, conda_channels):  # noqa: F811 - fixtures
    """A spec with installer conda; JSON is YAML."""
    conda_home.condarc(channel_alias=conda_channels.alias, channels=["conda-forge"])
    content = {
        "schema": 1,
        "name": "c",
        "python": "3.11",
        "installer": "conda",
        "cuda": "cpu",
        "packages": ["pytorch=1.12.1", "torchvision", "cpuonly"],
        "channels": ["pytorch", "conda-forge"],
        "platforms": ["linux-64"],
    }
    path = tmp_path / "c.yaml"
    path.write_text(json.dumps(content))
    return path


@pytest.fixture
def environment(envkit, conda, spec, make_toolkit):
    """An environment that envkit has made in conda's folder, with a stand-in toolkit."""
    toolkit = make_toolkit("11.3")
    done = envkit("create", spec, "--toolkit", toolkit.path, "--json", env=conda.environ)
    assert done.code == 0, done.err
    assert "conda activate" in envkit("create", spec, env=conda.environ).out
    return done.json["environment"]


def explicit(conda, prefix) -> list[str]:
    """conda's own list of exactly which files."""
    lines = conda("list", "--explicit", "--sha256", "-p", prefix, check=True).out.splitlines()
    return sorted(line for line in lines if "://" in line)


def test_conda_sees_what_envkit_has_made(conda, environment):
    assert environment["prefix"] == str(conda.envs / CPU)
    assert str(conda.envs / CPU) in conda("env", "list", "--json", check=True).json["envs"]
    listed = conda("list", "-n", CPU, "--json", check=True).out
    assert {item["name"]: item["channel"] for item in json.loads(listed)} == {
        "cpuonly": "pytorch",
        "numpy": "conda-forge",
        "python": "conda-forge",
        "pytorch": "pytorch",
        "pytorch-mutex": "pytorch",
        "torchvision": "pytorch",
    }
    history = conda("env", "export", "-n", CPU, "--from-history", check=True).out
    assert "pytorch" in history
    assert "numpy" not in history  # a dependency
    doctor = conda("doctor", "-v", "-n", CPU, check=True).out
    assert "There are no packages with altered files" in doctor, doctor


@pytest.mark.parametrize("name", SHELLS)
def test_activate_and_deactivate(name, conda, conda_shell, environment):
    use = "python -c 'import torch; print(torch.__version__)'\nnvcc\n"
    done = conda_shell(name, f"DUMP\nconda activate {CPU}\n{use}DUMP\nconda deactivate\nDUMP\n")
    before, inside, after = done.dumps
    assert done.stdout.startswith("1.12.1\n")
    assert "release 11.3" in done.stdout
    assert inside["CUDA_HOME"] == inside["CUDA_PATH"] == environment["toolkit"]["path"]
    assert inside["PATH"].split(":")[0] == f"{environment['toolkit']['path']}/bin"
    assert inside["CONDA_DEFAULT_ENV"] == CPU
    assert inside["PYTHONNOUSERSITE"] == "1"
    assert without_conda(after) == without_conda(before)
    assert done.stderr == ""


def test_conda_run(conda, environment):
    done = conda(
        "run", "-n", CPU, "python", "-c", "import os, torch; print(torch.__version__, os.environ['CUDA_HOME'])"
    )
    assert done.out.split() == ["1.12.1", environment["toolkit"]["path"]]


def test_the_same_explicit_list_elsewhere(envkit, conda, environment, tmp_path):
    done = envkit("restore", CPU, "--prefix", tmp_path / "elsewhere", "--json", env=conda.environ)
    assert done.code == 0, done.err
    assert explicit(conda, tmp_path / "elsewhere") == explicit(conda, environment["prefix"])
    assert len(explicit(conda, environment["prefix"])) == 6


def test_pip_and_uv_are_refused(conda, environment, tmp_path):
    """pip of the same Python; the environment itself has none."""
    python = Path(environment["prefix"], "bin", "python")
    uv = subprocess.run(
        [find_uv_bin(), "pip", "install", "--python", python, "--offline", "x"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert uv.returncode != 0
    assert f"envkit add {CPU}" in uv.stderr
    pip = subprocess.run(
        [python, bundled_wheels("3.11")["pip"] / "pip", "install", "x"],
        env={**os.environ, "PIP_NO_INDEX": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert pip.returncode != 0
    assert f"envkit add {CPU}" in pip.stderr


def test_conda_is_refused_in_a_pip_environment(envkit, conda, project, conda_home, conda_channels):  # noqa: F811
    conda_home.condarc(channel_alias=conda_channels.alias)
    content = project.lock_content()
    content.update(python="3.11", cuda="cpu", spec_sha256=None)
    locked = content["platforms"]["linux-64"]
    locked["packages"] = [entry for entry in locked["packages"] if entry["name"] == "pip"]
    lock = project.folder / "p.lock.yaml"
    lock.write_text(json.dumps(content))
    done = envkit("restore", lock, "--name", "p", "--no-verify", env=conda.environ)
    assert done.code == 0, done.err
    assert "backend: conda, because there is conda on this machine" in done.err
    before = sorted((conda.envs / "p" / "conda-meta").iterdir())
    done = conda(
        "install", "-y", "-n", "p", "--offline", "--override-channels", "-c", conda_channels.forge.url, "numpy"
    )
    assert done.code != 0
    assert "envkit add p PACKAGE" in done.err
    assert sorted((conda.envs / "p" / "conda-meta").iterdir()) == before


def test_removed_by_condas_own_command(envkit, conda, environment):
    conda("env", "remove", "-y", "-n", CPU, check=True)
    listed = envkit("list", "--json", env=conda.environ).json["environments"]
    assert [item["state"] for item in listed] in ([], ["broken"])
    done = envkit("restore", CPU, "--replace", "--json", env=conda.environ)
    assert done.code == 0, done.err
    assert done.json["environment"]["prefix"] == str(conda.envs / CPU)
