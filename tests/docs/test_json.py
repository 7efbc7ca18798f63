"""The fields in docs/json.md are those that the commands print, in success and in failure."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import click
import pytest

from envkit.cli.main import cli
from tests.support.wheels import file_hash, make_wheel

ROOT = Path(__file__).parents[2]
STUBS = ROOT / "tests" / "data" / "stub_torch"
PAGE = (ROOT / "docs" / "json.md").read_text(encoding="utf-8")
GPUS = ROOT / "tests" / "data" / "nvidia-smi-corpus" / "020-580-two-a100.txt"
NAME = "torch111_cpu_py" + "".join(map(str, sys.version_info[:2]))


def tables() -> list[dict[str, list[str]]]:
    """The tables of the page: name in the first column, fields in the second."""
    found: list[dict[str, list[str]]] = []
    for block in re.findall(r"(?:^\|.*\n)+", PAGE, re.MULTILINE):
        rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", block, re.MULTILINE)
        found.append({name: re.findall(r"`([^`]+)`", fields) for name, fields in rows})
    return found


COMMON, COMMANDS, OBJECTS = tables()


REQUIRED = {"snapshot take": {"snapshot"}, "snapshot export": {"files"}}
"""Fields that a failure has, where these are not all."""


def wheel_of(folder: Path, name: str, version: str) -> Path:
    files = {
        path.relative_to(STUBS).as_posix(): path.read_bytes()
        for path in (STUBS / name).rglob("*.py")
        if "__pycache__" not in path.parts
    }
    return make_wheel(folder, name, version, files=files)


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """The lock of an environment with stubs of torch and numpy, which verifies."""
    wheels = [
        wheel_of(tmp_path / "wheels", "torch", "1.11.0"),
        wheel_of(tmp_path / "wheels", "numpy", "1.26.4"),
        make_wheel(tmp_path / "wheels", "pip", "22.0"),
    ]
    packages = [
        {
            "name": wheel.name.split("-")[0],
            "version": wheel.name.split("-")[1],
            "file": wheel.name,
            "sha256": file_hash(wheel),
        }
        for wheel in wheels
    ]
    platforms = ("linux-64", "linux-aarch64", "osx-64", "osx-arm64")
    content = {
        "schema": 1,
        "spec": "stubs",
        "spec_sha256": None,
        "created_by": "a test",
        "installer": "pip",
        "python": ".".join(map(str, sys.version_info[:2])),
        "cuda": "cpu",
        "toolkit": "none",
        "platforms": {platform: {"needs": {}, "packages": packages, "base": []} for platform in platforms},
    }
    path = tmp_path / "stubs.lock.yaml"
    path.write_text(json.dumps(content, indent=0))
    return path


def own_fields(run) -> set[str]:
    value = run.json
    assert COMMON.keys() <= value.keys()
    assert value["schema"] == 1
    assert value["ok"] is (run.code == 0)
    return value.keys() - COMMON.keys()


def test_the_page_documents_the_common_fields():
    assert list(COMMON) == ["schema", "command", "ok", "error"]


def test_the_page_documents_every_command_with_json():
    context = click.Context(cli)
    with_json = set()
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        words = command.list_commands(context) if isinstance(command, click.Group) else []
        parts = [(word, command.get_command(context, word)) for word in words] or [("", command)]
        for word, part in parts:
            options = {option for parameter in part.params for option in parameter.opts}
            with_json |= {f"{name} {word}".strip()} if "--json" in options else set()
    assert with_json == COMMANDS.keys()


@pytest.mark.slow
def test_every_command_gives_the_documented_fields(envkit, lock, tmp_path):
    create = envkit("restore", lock, "--offline", "--wheelhouse", tmp_path / "wheels", "--json")
    assert create.code == 0, create.out + create.err
    runs = {
        "restore": create,
        "create": envkit("create", lock, "--offline", "--wheelhouse", tmp_path / "wheels", "--json"),
        "list": envkit("list", "--json"),
        "info": envkit("info", NAME, "--json"),
        "add": envkit("add", NAME, "numpy", "--json"),
        "verify": envkit("verify", NAME, "--level", "full", "--json"),
        "doctor": envkit("doctor", NAME, "--json"),
        "snapshot take": envkit("snapshot", "take", NAME, "--json"),
        "snapshot list": envkit("snapshot", "list", NAME, "--json"),
        "snapshot show": envkit("snapshot", "show", NAME, "--json"),
        "snapshot export": envkit("snapshot", "export", NAME, "--json"),
        "export": envkit("export", NAME, "--format", "environment.yml", "--json"),
        "specs": envkit("specs", "--json"),
        "matrix": envkit("matrix", "--torch", "1.12.1", "--json"),
        "gpu": envkit("gpu", "--from", GPUS, "--json"),
        "preflight": envkit("preflight", "torch213-cpu", "--json"),
        "remove": envkit("remove", NAME, "--yes", "--json"),
    }
    for command, run in runs.items():
        assert run.code == 0, run.out + run.err
        assert run.json["command"] == command
        assert own_fields(run) == set(COMMANDS[command]), command

    objects = {
        "environment": create.json["environment"],
        "seconds": create.json["seconds"],
        "layers": create.json["verify"]["layers"][0],
        "facts": runs["doctor"].json["facts"],
        "packages": runs["info"].json["packages"][0],
        "snapshots": runs["snapshot list"].json["snapshots"][0],
        "snapshot show": runs["snapshot show"].json["snapshot"],
        "specs": runs["specs"].json["specs"][0],
        "rows": runs["matrix"].json["rows"][0],
        "gpus": runs["gpu"].json["gpus"][0],
        "checks": runs["preflight"].json["checks"][0],
        "machine": runs["preflight"].json["machine"],
    }
    for name, value in objects.items():
        assert set(value) == set(OBJECTS[name]), name
    assert set(create.json["verify"]) == {"level", "layers", "verified"}
    assert Path(create.json["snapshot"]).is_dir()


def test_a_dry_run_gives_the_documented_plan(envkit, lock, tmp_path):
    done = envkit("create", lock, "--dry-run", "--offline", "--wheelhouse", tmp_path / "wheels", "--json")
    assert done.code == 0, done.out + done.err
    assert own_fields(done) == {*COMMANDS["create"], "plan"}
    assert set(done.json["plan"]) == set(OBJECTS["plan"])


def test_an_environment_with_a_toolkit_gives_the_documented_fields(envkit, lock, tmp_path):
    nvcc = tmp_path / "cuda-11.3" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    (tmp_path / "cuda-11.3" / "include").mkdir()
    nvcc.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 11.3, V11.3.109'\n")
    nvcc.chmod(0o755)
    done = envkit(
        "create", lock, "--no-verify", "--offline", "--wheelhouse", tmp_path / "wheels", "--json",
        "--toolkit", tmp_path / "cuda-11.3",
    )  # fmt: skip
    assert done.code == 0, done.out + done.err
    assert set(done.json["environment"]["toolkit"]) == set(OBJECTS["toolkit"])
    for word in ("show", "install", "remove"):
        options = ["--toolkit", tmp_path / "cuda-11.3"] if word == "install" else []
        hooks = envkit("hooks", word, NAME, *options, "--json")
        assert hooks.code == 0, hooks.out + hooks.err
        assert own_fields(hooks) == set(COMMANDS[f"hooks {word}"])
        assert all(set(item) == set(OBJECTS["hooks"]) for item in hooks.json["hooks"])
        assert hooks.json["hooks"] or word == "remove"


def test_clean_all_gives_the_documented_fields(envkit, tmp_path):
    for name in ("a", "b"):
        meta = tmp_path / "envs" / name / "conda-meta"
        meta.mkdir(parents=True)
        (meta / "history").touch()
    (tmp_path / "envs" / "b" / "conda-meta" / "frozen").touch()
    done = envkit("hooks", "clean-all", "--json", env={"CONDA_ENVS_PATH": str(tmp_path / "envs")})
    assert done.code == 0, done.out + done.err
    assert own_fields(done) == set(COMMANDS["hooks clean-all"])
    assert done.json["prefixes"] == [str(tmp_path / "envs" / "a")]
    assert [set(item) for item in done.json["skipped"]] == [set(OBJECTS["skipped"])]


def test_lock_gives_the_documented_fields(envkit, tmp_path):
    make_wheel(tmp_path / "wheels", "demo", "1.0")
    spec = {
        "schema": 1,
        "name": "demo",
        "python": ".".join(map(str, sys.version_info[:2])),
        "installer": "pip",
        "cuda": "cpu",
        "packages": ["demo"],
        "toolkit": "none",
        "platforms": ["linux-64"],
    }
    (tmp_path / "demo.yaml").write_text(json.dumps(spec))
    variables = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "wheels")}
    done = envkit("lock", tmp_path / "demo.yaml", "--json", env=variables)
    assert done.code == 0, done.out + done.err
    assert own_fields(done) == set(COMMANDS["lock"])
    assert set(done.json["changes"][0]) == set(OBJECTS["changes"])


@pytest.mark.parametrize(
    "words",
    [
        ["create", "no-such-spec"],
        ["restore", "no-such-environment"],
        ["lock", "no-such-spec"],
        ["info", "no-such-environment"],
        ["remove", "no-such-environment"],
        ["export", "--format=explicit", "no-such-environment"],
        ["verify", "no-such-environment"],
        ["doctor", "no-such-environment"],
        ["snapshot", "take", "no-such-environment"],
        ["snapshot", "list", "no-such-environment"],
        ["snapshot", "show", "no-such-environment"],
        ["snapshot", "export", "no-such-environment"],
        ["hooks", "show", "no-such-environment"],
        ["preflight", "no-such-spec"],
        ["gpu", "--from=no-such-file", ""],
        ["matrix", "--torch=9.9", ""],
        ["hooks", "install", "no-such-environment"],
        ["hooks", "remove", "no-such-environment"],
    ],
    ids=lambda words: " ".join(words[:-1]),
)
def test_a_failure_gives_the_documented_fields(envkit, words):
    done = envkit(*filter(None, words), "--json")
    assert done.code == 9
    command = " ".join(word for word in words[:-1] if not word.startswith("-"))
    assert done.json["command"] == command
    assert own_fields(done) <= set(COMMANDS[command])
    assert own_fields(done) >= REQUIRED.get(command, set(COMMANDS[command]))
    assert set(done.json["error"]) == {"type", "message", "why", "hint", "exit_code"}
    assert done.json["error"]["exit_code"] == 9


def test_a_machine_that_does_not_fit_gives_the_documented_ways_out(envkit):
    done = envkit("preflight", "torch112-cu113", "--driver", "440.33.01", "--gpu", "Tesla T4", "--json")
    assert done.code == 3
    assert own_fields(done) == set(COMMANDS["preflight"])
    assert done.json["fits"] is False
    assert {frozenset(route) for route in done.json["routes"]} == {frozenset(OBJECTS["preflight routes"])}
