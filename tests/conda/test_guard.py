"""The guard against a real conda, and what conda's own commands do to environments that envkit made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import conda_channels, conda_home  # noqa: F401 - fixtures
from tests.support.wheels import make_wheel


@pytest.fixture
def make(envkit, conda, conda_home, conda_channels, tmp_path):  # noqa: F811 - fixtures
    """Makes an environment where conda has its own: ``make("conda")``, ``make("pip")``; gives its folder."""
    wheels = tmp_path / "wheels"
    make_wheel(wheels, "six", "1.16.0")
    conda_home.condarc(channel_alias=conda_channels.alias, channels=["conda-forge"], default_channels=[])
    conda.shared = tmp_path  # conda unpacks into its package cache; two at once spoil it
    envkit.environ |= conda.environ

    def make(installer: str, name: str = "demo", *options: str) -> Path:
        spec = tmp_path / f"{installer}.yaml"
        content: dict[str, Any] = {"schema": 1, "name": "demo", "python": "3.11", "installer": installer, "cuda": "cpu"}
        content |= {"toolkit": "none", "platforms": ["linux-64"]}
        content |= (
            {"packages": ["six==1.16.0"]}
            if installer == "pip"
            else {"packages": ["pytorch=1.12.1=*cpu*", "pip"], "channels": ["pytorch", "conda-forge"]}
        )
        spec.write_text(json.dumps(content))
        links = {"UV_FIND_LINKS": str(wheels), "UV_NO_INDEX": "1"}
        arguments = ["--backend", "conda", "--no-verify", "--update-lock", "--name", name, *options]
        done = envkit("create", spec, *arguments, "--json", env=links)
        assert done.code == 0, done.err
        prefix = Path(done.json["environment"]["prefix"])
        assert prefix == conda.envs / name
        return prefix

    return make


def offline(channels: Any) -> list[str]:
    return ["-y", "-q", "--offline", "--override-channels", "-c", channels.pytorch.url, "-c", channels.forge.url]


def listed(envkit) -> dict[str, tuple[str, str | None]]:
    return {item["name"]: (item["state"], item["problem"]) for item in envkit("list", "--json").json["environments"]}


def test_conda_is_refused_by_the_text_of_ours(conda, make, conda_channels):  # noqa: F811
    prefix = make("pip")
    before = sorted(path.name for path in (prefix / "conda-meta").iterdir())
    for command in (["install", "numpy"], ["update", "--all"], ["remove", "pip"]):
        words = [command[0], "-n", "demo", *offline(conda_channels), *command[1:]]
        done = conda(*words[:3], *(word for word in words[3:] if command[0] != "remove" or word in {"-y", "pip"}))
        assert done.code != 0, command
        said = " ".join(done.err.split())
        assert "envkit made this environment with pip" in said
        assert "envkit add demo PACKAGE" in said
    assert sorted(path.name for path in (prefix / "conda-meta").iterdir()) == before


def test_override_frozen_is_found_by_verify_and_doctor(conda, envkit, make, conda_channels):  # noqa: F811
    make("pip")
    conda("install", "-n", "demo", *offline(conda_channels), "--override-frozen", "numpy", check=True)
    done = envkit("verify", "demo", "--json")
    layers = {layer["layer"]: layer for layer in done.json["layers"]}
    assert layers["installer"]["status"] == "fail"
    assert [item["name"] for item in layers["installer"]["facts"]["mixed"]] == ["numpy"]
    assert done.json["verified"] is False
    findings = {item["id"]: item for item in envkit("doctor", "demo", "--json").json["findings"]}
    assert findings.keys() == {"installer-mixed", "verification-failed"}
    assert findings["installer-mixed"]["evidence"] == ["numpy 1.26.4 pyhd8ed1ab_0 of conda"]


def test_conda_s_own_compiled_files_are_nobody_s_fault(conda, envkit, make, conda_channels):  # noqa: F811
    """conda links noarch packages in its own way: other entry points, bytecode, places in its records."""
    make("conda")
    conda("install", "-n", "demo", *offline(conda_channels), "torchvision=0.13.1", check=True)
    findings = {item["id"]: item for item in envkit("doctor", "demo", "--json").json["findings"]}
    assert findings.keys() == {"packages-added"}
    assert any("torchvision" in line for line in findings["packages-added"]["evidence"])
    told = envkit("remove", "demo")
    assert "no package owns /" not in told.err


def test_what_conda_removes_is_gone_from_the_list_and_comes_back_from_its_snapshot(conda, envkit, make):
    prefix = make("conda")
    verified = envkit("verify", "demo", "--json")
    assert verified.code == 0, verified.err
    snapshot = Path(verified.json["snapshot"]).name
    conda("env", "remove", "-y", "-n", "demo", check=True)
    assert not prefix.exists()
    assert listed(envkit) == {}
    done = envkit("restore", f"demo@{snapshot}", "--no-verify", "--json")
    assert done.code == 0, done.err
    assert done.json["environment"]["prefix"] == str(prefix)
    assert listed(envkit) == {"demo": ("complete", None)}


def test_what_conda_has_emptied_is_broken_and_can_be_removed(conda, envkit, make):
    prefix = make("conda")
    conda("remove", "-y", "-n", "demo", "--all", "--keep-env", check=True)
    state, problem = listed(envkit)["demo"]
    assert state == "broken"
    assert "Its Python is gone" in str(problem)
    assert envkit("remove", "demo", "--yes").code == 0
    assert not prefix.exists()
    assert listed(envkit) == {}


def test_what_conda_renames_goes_on_under_its_new_name(conda, envkit, make):
    old = make("conda")
    first = Path(envkit("verify", "demo", "--json").json["snapshot"]).name
    conda("rename", "-y", "-n", "demo", "newname", check=True)
    assert not old.exists()
    assert listed(envkit) == {"newname": ("complete", None)}
    findings = {item["id"] for item in envkit("doctor", "newname", "--json").json["findings"]}
    assert findings <= {"guard-missing", "hooks-stale"}
    done = envkit("hooks", "install", "newname")
    assert done.code == 0, done.err
    assert envkit("doctor", "newname", "--json").json["findings"] == []
    text = (conda.envs / "newname" / "lib/python3.11/EXTERNALLY-MANAGED").read_text()
    assert "envkit add newname PACKAGE" in text
    assert [item["id"] for item in envkit("snapshot", "list", "newname", "--json").json["snapshots"]] == [first]
    assert envkit("verify", "newname").code == 0
    assert envkit("remove", "newname", "--yes").code == 0
    assert listed(envkit) == {}


def test_what_pip_had_installed_is_kept_by_a_rename_and_conda_gets_in_until_that_is_mended(conda, envkit, make):
    make("pip")
    conda("rename", "-y", "-n", "demo", "newname", check=True)
    assert listed(envkit) == {"newname": ("complete", None)}
    prefix = conda.envs / "newname"
    findings = {item["id"]: item for item in envkit("doctor", "newname", "--json").json["findings"]}
    assert str(prefix / "conda-meta/frozen") in findings["guard-missing"]["evidence"]  # conda does not copy that
    assert envkit("hooks", "install", "newname").code == 0
    assert "envkit add newname" in json.loads((prefix / "conda-meta/frozen").read_text())["message"]
    assert str(prefix / ".envkit/constraints-pip.txt") in (prefix / "pip.conf").read_text()
    assert "guard-missing" not in {item["id"] for item in envkit("doctor", "newname", "--json").json["findings"]}
    assert envkit("remove", "newname", "--yes").code == 0


def test_a_clone_of_conda_s_has_its_own_name(conda, envkit, make):
    make("conda")
    conda("create", "-y", "-q", "--offline", "-n", "twin", "--clone", "demo", check=True)
    assert listed(envkit) == {"demo": ("complete", None), "twin": ("complete", None)}
    assert envkit("remove", "twin", "--yes").code == 0
    assert listed(envkit) == {"demo": ("complete", None)}


def test_hooks_of_a_renamed_environment_do_no_harm(conda, conda_shell, make):
    make("conda")
    conda("rename", "-y", "-n", "demo", "newname", check=True)
    result = conda_shell("bash", "DUMP\nconda activate newname\nDUMP\nconda deactivate\nDUMP\n")
    before, active, after = result.dumps
    assert active["CONDA_DEFAULT_ENV"] == "newname"
    assert active["PYTHONNOUSERSITE"] == "1"
    for name in ("PATH", "CUDA_HOME", "CUDA_PATH", "PYTHONNOUSERSITE", "UV_CONSTRAINT"):
        assert before.get(name) == after.get(name), name


def test_a_moved_prefix_is_broken(conda, envkit, make):
    prefix = make("conda")
    prefix.rename(prefix.with_name("elsewhere"))
    assert listed(envkit) == {}  # nobody has told
    findings = envkit("doctor", prefix.with_name("elsewhere"), "--json").json["findings"]
    assert [item["id"] for item in findings] == ["environment-broken"]
    assert "has been moved or copied" in findings[0]["why"]


def test_a_new_minor_version_of_python_needs_the_marker_again(conda, envkit, make, conda_channels):  # noqa: F811
    prefix, name = make("conda"), "demo"
    conda("install", "-n", name, *offline(conda_channels), "python=3.10", "pytorch=1.12.1", check=True)
    findings = {item["id"]: item for item in envkit("doctor", name, "--json").json["findings"]}
    new = prefix / "lib/python3.10/EXTERNALLY-MANAGED"
    assert findings["guard-missing"]["evidence"] == [str(new)]
    assert any(line.startswith("python 3.10") for line in findings["packages-differ"]["evidence"])
    assert envkit("hooks", "install", name).code == 0
    text = new.read_bytes()
    new.unlink()
    assert envkit("verify", name).code == 6  # another Python than the lock's
    assert new.read_bytes() == text
