"""The main job with the real PyTorch: create, activate, verify, snapshot, restore."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.integration.test_odd_names import paste_activation_lines

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.xdist_group("real torch")]

NAME = "torch213_cpu_py311"


@pytest.fixture(scope="module")
def torch_home(make_environment, tmp_path_factory):
    """Variables of a home with the verified environment of torch213-cpu, made once for this module."""
    home = tmp_path_factory.mktemp("torch-home")
    return make_environment(home, network=True)


@pytest.fixture
def real(envkit, torch_home):
    """The command line in that home, with its environment in it."""
    envkit.environ.update(torch_home)
    done = envkit("create", "torch213-cpu", "--json", timeout_s=900)
    assert done.code == 0, done.err
    return envkit


def _pip_freeze(prefix: str) -> str:
    return subprocess.run(
        [Path(prefix, "bin", "python"), "-m", "pip", "freeze", "--all", "--disable-pip-version-check"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_create_verifies_and_takes_a_snapshot(real):
    environment = real("info", NAME, "--json").json["environment"]
    snapshot = real("snapshot", "list", NAME, "--json").json["snapshots"][-1]
    verify = json.loads(Path(snapshot["path"], "verify.json").read_text())

    assert environment["name"] == NAME
    assert environment["build_cuda"] is None
    assert environment["verified_at"] == snapshot["taken_at"]
    assert snapshot["verified"] is True
    assert snapshot["torch_version"] == "2.13.0+cpu"
    assert [(layer["layer"], layer["status"]) for layer in verify["layers"]] == [
        ("import", "pass"),
        ("device", "pass"),
        ("compute", "pass"),
        ("memory", "pass"),
    ]
    files = {path.name for path in Path(snapshot["path"]).iterdir()}
    assert files == {"pip-freeze.txt", "nvidia-smi.txt", "verify.json", "lock.yaml", "manifest.json"}
    assert re.search(r"^torch==2\.13\.0\+cpu$", Path(snapshot["path"], "pip-freeze.txt").read_text(), re.MULTILINE)
    inside = Path(environment["prefix"], ".envkit", "snapshot", "manifest.json")
    assert json.loads(inside.read_text())["id"] == snapshot["id"]


def test_create_prints_how_to_activate_and_that_line_works(real):
    text = real("create", "torch213-cpu").out
    line = re.search(r"Activate it: {2}(.*)", text)[1]
    script = f"{line} && python -c 'import torch; print(torch.__version__)' && deactivate"
    for shell in ("bash", "dash", "zsh"):
        if shutil.which(shell) is None:
            continue
        done = subprocess.run([shell, "-c", script], capture_output=True, text=True, check=False)
        assert done.stdout.strip() == "2.13.0+cpu", (shell, done.stderr)
    fish = real("create", "torch213-cpu", env={"SHELL": "/usr/bin/fish"}).out
    assert "activate.fish" in fish


def test_verify_again_takes_another_snapshot_and_level_import_takes_none(real):
    before = len(real("snapshot", "list", NAME, "--json").json["snapshots"])
    again = real("verify", NAME, "--json")
    shallow = real("verify", NAME, "--level", "import", "--json")
    taken = real("snapshot", "take", NAME, "--json")

    assert again.code == shallow.code == taken.code == 0
    assert again.json["verified"] is True
    assert Path(again.json["snapshot"], "manifest.json").is_file()
    assert shallow.json["verified"] is False
    assert shallow.json["snapshot"] is None
    assert [layer["layer"] for layer in shallow.json["layers"]] == ["import"]
    assert taken.json["command"] == "snapshot take"
    snapshots = real("snapshot", "list", NAME, "--json").json["snapshots"]
    assert len(snapshots) == before + 2
    assert [item["id"] for item in snapshots] == sorted((item["id"] for item in snapshots), reverse=True)


@pytest.mark.parametrize("engine", ["uv", "pip"])
def test_level_full_has_no_false_alarm(real, engine):
    made = real("create", "torch213-cpu", "--name", f"full-{engine}", "--engine", engine, "--no-verify", timeout_s=900)
    assert made.code == 0, made.err
    done = real("verify", f"full-{engine}", "--level", "full", "--json")
    assert done.code == 0, done.json["layers"]
    files = done.json["layers"][-1]
    assert (files["layer"], files["status"]) == ("files", "pass")
    assert files["facts"]["files_checked"] > 10_000
    assert files["facts"]["bytes_checked"] > 500_000_000
    assert real("doctor", f"full-{engine}", "--json").json["findings"] == []
    assert real("restore", f"full-{engine}", "--json").json["created"] is False
    assert real("remove", f"full-{engine}", "--yes").code == 0


def test_check_env_runs_alone(real):
    prefix = Path(real("info", NAME, "--json").json["environment"]["prefix"])
    done = subprocess.run(
        [prefix / "bin" / "python", prefix / "check_env.py"], capture_output=True, text=True, check=False, env={}
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("pass") >= 4


def test_a_failed_verify_takes_no_snapshot_and_leaves_the_old_ones(real):
    environment = real("info", NAME, "--json").json
    broken = real("create", "torch213-cpu", "--name", "broken", "--json", timeout_s=900).json
    prefix = Path(broken["environment"]["prefix"])
    first = real("snapshot", "list", "broken", "--json").json["snapshots"]
    core = next(prefix.glob("lib/python3.11/site-packages/torch/__init__.py"))
    text = core.read_text()
    core.unlink()  # a hard link: what is written into it would change every environment
    core.write_text(text + "\nraise ImportError('libcudart.so.10.2: cannot open shared object file')\n")

    done = real("verify", "broken", "--json")

    assert done.code == 6
    assert done.json["layers"][0]["status"] == "fail"
    assert "libcudart.so.10.2" in done.json["error"]["why"]
    assert done.json["snapshot"] is None
    assert real("snapshot", "list", "broken", "--json").json["snapshots"] == first
    assert real("info", "broken", "--json").json["environment"]["last_verify"] == "fail"
    assert real("info", NAME, "--json").json == environment
    back = real("restore", "broken", "--replace", "--json", timeout_s=900)
    assert back.code == 0, back.err
    assert back.json["verify"]["verified"] is True


def test_snapshot_of_an_environment_with_a_package_from_a_local_file(real, tmp_path):
    """EK-C17: a freeze line that points to the machine that built the package."""
    done = real("create", "torch213-cpu", "--name", "local", "--no-verify", "--json", timeout_s=900)
    prefix = Path(done.json["environment"]["prefix"])
    info = next(prefix.glob("lib/python3.11/site-packages/mpmath-*.dist-info"))
    (info / "direct_url.json").write_text(
        json.dumps({"url": "file:///build/feedstock_root/mpmath_163/work", "dir_info": {}})
    )
    taken = real("snapshot", "take", "local", "--json")
    assert taken.code == 0, taken.err

    folder = Path(taken.json["snapshot"])
    frozen = (folder / "pip-freeze.txt").read_text()
    assert "file:" not in frozen
    assert f"mpmath=={info.name.split('-')[1].removesuffix('.dist')}" in frozen
    assert "file:///build" in (folder / "pip-freeze.raw.txt").read_text()
    again = real("restore", f"local@{folder.name}", "--name", "elsewhere", "--dry-run", "--json")
    assert again.code == 0, again.err
    assert "feedstock_root" not in again.out + again.err
    target = tmp_path / "out"
    exported = real("snapshot", "export", "local", "--output", target, "--json")
    assert {Path(path).name for path in exported.json["files"]} == {
        "pip-freeze.txt", "nvidia-smi.txt", "verify.json", "lock.yaml", "manifest.json",
    }  # fmt: skip
    everything = "".join(path.read_text() for path in target.iterdir())
    assert "feedstock_root" not in everything
    assert os.environ["HOME"] not in everything
    assert real("snapshot", "export", "local", "--output", target).code == 11


@pytest.mark.parametrize("engine", ["uv", "pip"])
def test_restored_and_original_freeze_the_same(real, engine):
    original = real("info", NAME, "--json").json["environment"]
    done = real("restore", NAME, "--name", f"by-{engine}", "--engine", engine, "--no-verify", "--json", timeout_s=900)

    assert done.code == 0, done.err
    assert _pip_freeze(done.json["environment"]["prefix"]) == _pip_freeze(original["prefix"])


def test_restore_after_remove_from_the_newest_and_from_a_certain_snapshot(real, tmp_path):
    made = real("create", "torch213-cpu", "--name", "gone", "--json", timeout_s=900).json
    frozen = _pip_freeze(made["environment"]["prefix"])
    snapshot = Path(made["snapshot"]).name
    exported = tmp_path / "handed on"
    assert real("snapshot", "export", "gone", snapshot, "--output", exported).code == 0
    assert real("remove", "gone", "--yes").code == 0
    assert [item["id"] for item in real("snapshot", "list", "gone", "--json").json["snapshots"]] == [snapshot]
    assert "2.13.0+cpu" in real("snapshot", "show", "gone").out

    newest = real("restore", "gone", "--no-verify", "--json", timeout_s=900)
    assert newest.code == 0, newest.err
    assert _pip_freeze(newest.json["environment"]["prefix"]) == frozen
    certain = real("restore", f"gone@{snapshot}", "--replace", "--no-verify", "--json", timeout_s=900)
    assert certain.code == 0, certain.err
    assert _pip_freeze(certain.json["environment"]["prefix"]) == frozen
    folder = real("restore", exported, "--name", "from-folder", "--no-verify", "--json", timeout_s=900)
    assert folder.code == 0, folder.err
    assert _pip_freeze(folder.json["environment"]["prefix"]) == frozen


def test_a_snapshot_that_was_tampered_with_is_refused(real):
    snapshot = Path(real("snapshot", "list", NAME, "--json").json["snapshots"][0]["path"])
    lock = snapshot / "lock.yaml"
    text = lock.read_text()
    lock.write_text(text.replace("sympy", "simpy"))
    try:
        done = real("restore", f"{NAME}@{snapshot.name}", "--name", "tampered", "--json")
    finally:
        lock.write_text(text)
    assert done.code == 4
    assert "changed since" in done.json["error"]["message"]
    assert real("snapshot", "show", NAME, "20").code in {0, 9}
    assert real("snapshot", "show", NAME, "1999").code == 9


def test_activation_line_of_a_prefix_with_an_odd_name(real, tmp_path):
    """EK-C08: create, then paste the line that it prints. Each oddity alone is in test_odd_names.py, with stubs."""
    paste_activation_lines(real, "torch213-cpu", tmp_path / "it's a$HOME $(touch pwned) back`tick ünï 中文")
