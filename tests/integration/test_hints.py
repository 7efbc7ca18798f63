"""Hints work when they are typed: whatever happened to an environment, wherever it stands."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from tests.integration.conftest import Project


@pytest.fixture(params=["name", "prefix"])
def place(request, tmp_path):
    """The options for an environment in envkit's own folder, or at another place."""
    return ["--name", "u"] if request.param == "name" else ["--prefix", str(tmp_path / "my envs" / "u")]


@pytest.fixture
def made(envkit, project, place):
    done = envkit("create", project.spec, "--no-verify", "--json", *place)
    assert done.code == 0, done.err
    return Path(done.json["environment"]["prefix"])


def commands(text: str, project: Project | None) -> list[list[str]]:
    """The commands that a text names, with the project's spec."""
    found = [shlex.split(command) for command in re.findall(r"`envkit ([^`]+)`", text)]
    return [[str(project.spec) if project and word == "SPEC" else word for word in words] for words in found]


def states(envkit) -> dict[str, str]:
    return {item["prefix"]: item["state"] for item in envkit("list", "--json").json["environments"]}


def snapshot_of(envkit, prefix: Path) -> str:
    """A snapshot of an environment, as a verification that passes would take it; gives its id."""
    from envkit.model.progress import Silent  # noqa: PLC0415
    from envkit.model.report import VerifyReport  # noqa: PLC0415
    from envkit.operations.environments import read_environment  # noqa: PLC0415
    from envkit.operations.own_files import own_lock  # noqa: PLC0415
    from envkit.operations.snapshot import take_snapshot  # noqa: PLC0415
    from envkit.probes.nvidia_smi import query_gpus  # noqa: PLC0415

    environment = read_environment(prefix)
    report = VerifyReport("device", ())
    smi = query_gpus()
    return take_snapshot(environment, report, smi, own_lock(environment), progress=Silent()).name


DAMAGES = {
    "nonsense": lambda lock: lock.write_text("- 1\n"),
    "not UTF-8": lambda lock: lock.write_bytes(b"\xff\xfe"),
    "another platform": lambda lock: lock.write_text(lock.read_text().replace("linux-64:", "win-64:")),
    "gone": lambda lock: lock.unlink(),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_lock_without_a_snapshot_says_what_works(envkit, project, made, damage):
    DAMAGES[damage](made / ".envkit" / "lock.yaml")
    told = envkit("doctor", made, "--json").json["findings"][0]["fix"]
    again = commands(told[0], project)[0]
    assert again == ["restore", again[1], "--replace"]
    assert envkit("verify", made).code == (6 if damage == "gone" else 4)

    refused = envkit(*again, "--no-verify", "--json")
    assert refused.code == 6, refused.err
    assert "nothing to restore it from" in refused.json["error"]["message"]
    create, remove = commands(refused.json["error"]["hint"], project)
    if damage != "gone":
        assert commands(told[1], project)[0] == create
    done = envkit(*create, "--no-verify")
    assert done.code == 0, done.err
    assert states(envkit) == {str(made): "complete"}
    assert envkit("doctor", made, "--json").json["findings"] == []
    DAMAGES[damage](made / ".envkit" / "lock.yaml")
    assert envkit(*remove, "--yes").code == 0
    assert states(envkit) == {}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_lock_is_replaced_by_that_of_the_newest_snapshot(envkit, project, made, damage):
    snapshot = snapshot_of(envkit, made)
    DAMAGES[damage](made / ".envkit" / "lock.yaml")
    refused = envkit("verify", made, "--json")
    again = next(item for item in commands(refused.json["error"]["hint"], project) if item[0] == "restore")
    assert envkit(*again[:-1], "--no-verify").code == (11 if damage == "gone" else 4)
    done = envkit(*again, "--no-verify")
    assert done.code == 0, done.err
    assert snapshot in done.err
    assert states(envkit) == {str(made): "complete"}
    assert envkit("doctor", made, "--json").json["findings"] == []


def test_a_lock_of_a_newer_envkit_wants_envkit_updated(envkit, made):
    lock = made / ".envkit" / "lock.yaml"
    lock.write_text(lock.read_text().replace("schema: 1", "schema: 9", 1))
    assert envkit("doctor", made, "--json").json["findings"][0]["fix"] == ["Update envkit."]
    assert envkit("verify", made, "--json").json["error"]["hint"] == "Update envkit."


def test_a_snapshot_is_restored_where_its_environment_stands(envkit, made):
    snapshot = snapshot_of(envkit, made)
    for env in ("u", str(made)):
        done = envkit("restore", f"{env}@{snapshot}", "--replace", "--no-verify", "--json")
        assert done.code == 0, done.err
        assert states(envkit) == {str(made): "complete"}
    other = envkit("restore", f"u@{snapshot}", "--name", "v", "--no-verify", "--json")
    assert other.json["environment"]["name"] == "v"
    removed = envkit("remove", made, "--yes")
    assert removed.code == 0
    back = envkit(*commands(removed.out, None)[0], "--no-verify", "--json")
    assert back.json["environment"]["prefix"] == str(made)


def test_what_is_there_can_be_kept_beside_the_new_one(envkit, project, made, place):
    make_wheel(project.default.folder, "extra", "1.0")
    project.write_lock(spec_sha256=None)
    refused = envkit("create", project.lock, "--no-verify", "--json", *place)
    assert refused.code == 11
    options = shlex.split(re.search(r"Keep both with (.+), or replace", refused.json["error"]["hint"])[1])
    assert options[0] == place[0]
    assert envkit("create", project.lock, "--no-verify", *options).code == 0
    shutil.rmtree(next(made.glob("lib/python3.9/site-packages/numpy")))
    changed = envkit("restore", made, "--no-verify", "--json")
    assert changed.code == 11
    options = shlex.split(re.search(r"a second one with (.+)\.$", changed.json["error"]["hint"])[1])
    assert envkit("restore", made, "--no-verify", *options).code == 0
    assert sorted(Path(item).name for item in states(envkit)) == ["u", "u_2", "u_3"]


def test_the_journal_of_a_newer_envkit_wants_envkit_updated(envkit, project, made):
    journal = made.with_name(f".{made.name}.envkit-journal.json")
    journal.write_text(json.dumps({"schema": 2, "operation": "move", "host": os.uname().nodename, "pid": 1}))
    (finding,) = envkit("doctor", made, "--json").json["findings"]
    assert finding["id"] == "environment-in-work"
    assert finding["fix"] == ["Update envkit."]
    assert "Update envkit." in envkit("info", made, "--json").json["environment"]["problem"]
