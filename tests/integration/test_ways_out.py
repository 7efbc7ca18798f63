"""Environments that something has happened to: a clear state, and a way out that works."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.conftest import start

NAME = "torch112_cu113_py39"


def _home() -> Path:
    return Path(os.environ["ENVKIT_HOME"])


def _states(envkit) -> dict[str, str]:
    return {item["name"]: item["state"] for item in envkit("list", "--json").json["environments"]}


@pytest.fixture
def made(envkit, project):
    done = envkit("create", project.spec, "--no-verify", "--json")
    assert done.code == 0, done.err
    return Path(done.json["environment"]["prefix"])


def _move(prefix):
    prefix.rename(prefix.with_name("renamed"))
    return prefix.with_name("renamed")


def _lose_the_interpreter(prefix):
    (prefix / "bin" / "python").unlink()
    (prefix / "bin" / "python").symlink_to("/nowhere/python3.9")
    return prefix


def _damage_the_record(prefix):
    (prefix / ".envkit" / "environment.json").write_text('{"schema": 1, "name": ')
    return prefix


def _empty_the_record(prefix):
    (prefix / ".envkit" / "environment.json").write_text("")
    return prefix


@pytest.mark.parametrize("happens", [_move, _lose_the_interpreter, _damage_the_record, _empty_the_record])
def test_a_broken_environment_is_made_again_from_its_own_lock(envkit, project, made, happens):
    """Also after `conda rename` and `mv`; nothing of the spec is asked for."""
    prefix = happens(made)
    project.spec.unlink()
    project.lock.unlink()
    assert _states(envkit) == {prefix.name: "broken"}
    for words in (["info", prefix.name], ["info", str(prefix)]):
        shown = envkit(*words, "--json")
        assert shown.code == 0
        assert shown.json["environment"]["problem"]
    for words in (["verify", prefix.name], ["shell", prefix.name]):
        refused = envkit(*words)
        assert refused.code == 6, refused.err
        assert f"envkit restore {prefix.name} --replace" in refused.err
        assert "Traceback" not in refused.err
    assert envkit("run", prefix.name, "--", "true").code == 125
    refused = envkit("restore", prefix.name, "--no-verify")
    assert refused.code == 11
    assert "--replace" in refused.err

    done = envkit("restore", prefix.name, "--replace", "--no-verify")
    assert done.code == 0, done.err
    assert _states(envkit) == {prefix.name: "complete"}
    ran = envkit("run", prefix.name, "--", "python", "-c", "import torch; print(torch.__version__)")
    assert ran.out == "1.12.1+cu113\n"


def test_a_moved_environment_is_well_again_when_it_is_moved_back(envkit, made):
    moved = _move(made)
    assert "Move it back" in envkit("info", moved.name, "--json").json["environment"]["problem"]
    moved.rename(made)
    assert _states(envkit) == {NAME: "complete"}


def test_a_record_of_a_newer_envkit_is_told_as_such(envkit, made):
    record = made / ".envkit" / "environment.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"schema": 9}))
    shown = envkit("info", NAME, "--json")
    assert shown.code == 0
    assert "schema 9" in shown.json["environment"]["problem"]
    assert "Update envkit" in shown.json["environment"]["problem"]


def test_a_broken_environment_without_lock_and_snapshot_says_what_is_left_to_do(envkit, made):
    _damage_the_record(made)
    (made / ".envkit" / "lock.yaml").unlink()
    done = envkit("restore", NAME, "--replace")
    assert done.code == 6
    assert "nothing to restore it from" in done.err
    assert f"envkit create SPEC --name {NAME} --replace" in done.err
    assert made.is_dir()


def test_removing_what_is_in_use_says_so(envkit, made):
    with subprocess.Popen(
        [made / "bin/python", "-c", "print(1, flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        child.stdout.readline()
        kept = envkit("remove", NAME)
        assert kept.code == 2
        assert f"in use by process {child.pid} (python -c " in kept.err
        assert "which running programs use" in kept.err
        replaced = envkit("restore", NAME, "--replace", "--no-verify")
        assert replaced.code == 0
        assert f"in use by process {child.pid} (python -c " in replaced.err
        child.communicate(b"\n")
    with subprocess.Popen(
        [made / "bin/python", "-c", "print(1, flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        child.stdout.readline()
        done = envkit("remove", NAME, "--yes")
        assert done.code == 0
        assert f"process {child.pid}" in done.err
        child.communicate(b"\n")
    assert not made.exists()


def test_an_installer_that_is_killed_leaves_nothing(envkit, project):
    """SIGKILL of uv, as the kernel sends it when memory runs out."""
    wheel = next(path for path in project.wheels if path.name.startswith("torch"))
    project.source.hang(wheel.name)
    child = start(envkit, "create", project.spec, "--no-verify")
    deadline = time.monotonic() + 60
    uv = None
    while uv is None and time.monotonic() < deadline:
        time.sleep(0.05)
        for process in Path("/proc").glob("[0-9]*"):
            try:
                argv, stat = (process / "cmdline").read_bytes(), (process / "stat").read_text()
            except OSError:
                continue
            ours = int(stat.rpartition(")")[2].split()[1]) == child.pid
            if ours and b"\0install\0" in argv and b"--offline" not in argv:
                uv = int(process.name)
    os.kill(uv, signal.SIGKILL)
    _, told = child.communicate(timeout=60)
    assert child.returncode == 5
    assert "signal 9" in told
    assert list((_home() / "envs").glob("*")) == []
    project.source.heal()
    assert envkit("create", project.spec, "--no-verify").code == 0


def test_run_puts_an_environment_back_whose_replacement_was_killed(envkit, project, made):
    (made / "keep.txt").write_text("mine")
    wheel = next(path for path in project.wheels if path.name.startswith("torch"))
    shutil.rmtree(os.environ["UV_CACHE_DIR"])
    project.source.hang(wheel.name)
    child = start(envkit, "create", project.spec, "--replace", "--no-verify")
    deadline = time.monotonic() + 60
    while not (made / "pyvenv.cfg").exists() or (made / "keep.txt").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    listed = envkit("list", "--json").json["environments"][0]
    assert listed["state"] == "incomplete"
    assert "Its replacement is under way" in listed["problem"]
    child.kill()
    child.communicate()
    listed = envkit("list", "--json").json["environments"][0]
    assert "was cut off" in listed["problem"]
    assert "comes back" in listed["problem"]
    ran = envkit("run", NAME, "--", sys.executable, "-c", "print('runs')")
    assert ran.out == "runs\n", ran.err
    assert (made / "keep.txt").read_text() == "mine"
    assert _states(envkit) == {NAME: "complete"}


def test_a_replacement_keeps_the_users_own_files(envkit, project, made, tmp_path):
    """In a folder of their own: at their old places they could break what is new."""
    (tmp_path / "data").mkdir()
    (made / "work").mkdir()
    (made / "work" / "notes.ipynb").write_text("mine")
    (made / "ckpt").symlink_to(tmp_path / "data")
    (made / "lib/python3.9/site-packages/mine.pth").write_text("import os\n")
    done = envkit("restore", NAME, "--replace", "--no-verify")
    assert done.code == 0, done.err
    kept = made / "replaced-files"
    assert f"Files of your own were in it: 3. They lie in {kept} now." in done.err
    assert (kept / "work" / "notes.ipynb").read_text() == "mine"
    assert (kept / "ckpt").readlink() == tmp_path / "data"
    assert not (made / "work").exists()
    assert not (made / "lib/python3.9/site-packages/mine.pth").exists()
    assert (made / "replaced-files/lib/python3.9/site-packages/mine.pth").read_text() == "import os\n"
    again = envkit("create", project.spec, "--replace", "--no-verify")
    assert again.code == 0, again.err
    assert (kept / "work" / "notes.ipynb").read_text() == "mine"
    assert (made / "replaced-files/lib/python3.9/site-packages/mine.pth").exists()
    listed = envkit("remove", NAME)
    assert "notes.ipynb" in listed.err
    assert "ckpt" in listed.err


def test_a_file_in_a_half_made_environment_is_not_deleted(envkit, project):
    wheel = next(path for path in project.wheels if path.name.startswith("torch"))
    project.source.hang(wheel.name)
    child = start(envkit, "create", project.spec, "--no-verify")
    prefix = _home() / "envs" / NAME
    deadline = time.monotonic() + 60
    while not (prefix / "pyvenv.cfg").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    (prefix / "results.csv").write_text("mine")
    child.kill()
    child.communicate()
    done = envkit("remove", NAME)
    assert done.code == 0, done.err
    kept = next((_home() / "envs").glob(f"{NAME}.kept-*"))
    assert (kept / "results.csv").read_text() == "mine"
    assert str(kept) in done.err


def test_an_environment_behind_a_link_is_one_and_the_same(envkit, project, tmp_path):
    prefix = tmp_path / "big" / "s"
    assert envkit("create", project.spec, "--no-verify", "--prefix", prefix).code == 0
    (_home() / "envs").mkdir(exist_ok=True)
    (_home() / "envs" / "s").symlink_to(prefix)
    (tmp_path / "way").symlink_to(tmp_path / "big")
    listed = envkit("list", "--json").json["environments"]
    assert [(item["name"], item["prefix"]) for item in listed] == [("s", str(prefix))]
    again = envkit("create", project.spec, "--replace", "--no-verify", "--prefix", tmp_path / "way" / "s")
    assert again.code == 0, again.err
    assert len(envkit("list", "--json").json["environments"]) == 1
    done = envkit("remove", "s", "--yes")
    assert done.code == 0
    assert not prefix.exists()
    assert envkit("list", "--json").json["environments"] == []


def test_run_waits_for_nobody(envkit, project, made):
    """Another envkit has the lock while it puts things right."""
    lock = next((_home() / "locks").glob(f"{NAME}-*.lock"))
    journal = made.with_name(f".{NAME}.envkit-journal.json")
    made.rename(made.with_name(f".{NAME}.envkit-old-01234567"))
    journal.write_text(
        json.dumps({"operation": "replace", "host": os.uname().nodename, "pid": 2**22, "token": "01234567"})
    )
    with lock.open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        began = time.monotonic()
        ran = envkit("run", NAME, "--", "true")
        assert ran.code == 125
        assert "comes back with the next envkit command" in ran.err
        assert time.monotonic() - began < 30
    assert envkit("run", NAME, "--", "true").code == 0


def test_pipes_in_an_environment_keep_nobody_waiting(envkit, made):
    for name in ("environment.json", "lock.yaml"):
        path = made / ".envkit" / name
        path.rename(made / name)
        os.mkfifo(path)
        assert envkit("list", timeout_s=60).code == 0
        assert envkit("info", NAME, timeout_s=60).code in {0, 4}
        assert envkit("doctor", NAME, timeout_s=60).code == 6
        assert envkit("verify", NAME, timeout_s=60).code in {4, 6}
        path.unlink()
        (made / name).rename(path)


def test_signals_in_a_row_leave_no_traceback(envkit, project):
    wheel = next(path for path in project.wheels if path.name.startswith("torch"))
    project.source.hang(wheel.name)
    for _ in range(3):
        child = start(envkit, "create", project.spec, "--no-verify")
        deadline = time.monotonic() + 60
        while not (_home() / "envs" / NAME / "pyvenv.cfg").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            child.send_signal(number)
        _, told = child.communicate(timeout=60)
        assert child.returncode == 130
        assert "Traceback" not in told
        assert list((_home() / "envs").glob("*")) == []


def test_what_a_replacement_does_not_bring_back_is_said(envkit, project, made):
    site = made / "lib/python3.9/site-packages/extra-1.0.dist-info"
    site.mkdir()
    (site / "METADATA").write_text("Metadata-Version: 2.1\nName: extra\nVersion: 1.0\n")
    (site / "RECORD").write_text("extra-1.0.dist-info/METADATA,,\nextra-1.0.dist-info/RECORD,,\n")
    done = envkit("create", project.spec, "--replace", "--no-verify")
    assert done.code == 0
    assert "not in the new environment: extra 1.0" in done.err


def test_the_way_to_make_a_removed_environment_again_is_typed_as_told(envkit, project):
    assert envkit("create", project.spec, "--no-verify", "--name", "mine").code == 0
    assert "envkit create FILE --name mine" in envkit("remove", "mine", "--yes").out


def test_a_creation_that_was_cut_off_is_not_to_be_waited_for(envkit, project):
    wheel = next(path for path in project.wheels if path.name.startswith("torch"))
    project.source.hang(wheel.name)
    child = start(envkit, "create", project.spec, "--no-verify")
    deadline = time.monotonic() + 60
    while not (_home() / "envs" / NAME / "pyvenv.cfg").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert "Wait until that is done" in envkit("run", NAME, "--", "true").err
    child.kill()
    child.communicate()
    told = envkit("run", NAME, "--", "true").err
    assert "Wait" not in told
    assert f"`envkit remove {NAME}` takes it away" in told
