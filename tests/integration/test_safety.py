"""What a hostile tester found: kills, odd places, closed streams. Each was wrong once."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.integration.conftest import start, tree
from tests.support.wheels import make_wheel

NAME = "torch112_cu113_py39"


def _home() -> Path:
    return Path(os.environ["ENVKIT_HOME"])


def _wait_for(condition, timeout_s: float = 30.0) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def _uv_for(prefix: Path) -> list[str]:
    """Command lines of running processes that name a prefix."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode("utf-8", "replace").split("\0")
        except OSError:
            continue
        if str(prefix / "bin" / "python") in words:
            found.append(" ".join(words))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="a child that dies with its parent needs Linux")
def test_a_killed_create_takes_its_installer_along(envkit, project):
    wheel = next(path for path in project.wheels if path.name.startswith("torch"))
    project.source.hang(wheel.name)
    prefix = _home() / "envs" / NAME
    child = start(envkit, "create", project.spec, "--no-verify")
    _wait_for(lambda: _uv_for(prefix) and project.source.asked_for("torch"))
    child.kill()
    child.communicate()

    _wait_for(lambda: not _uv_for(prefix), 5)


@pytest.mark.parametrize("name", ["SIGHUP", "SIGQUIT"])
def test_a_closed_terminal_cleans_up_like_ctrl_c(envkit, project, name):
    wheel = next(path for path in project.wheels if path.name.startswith("torch"))
    project.source.hang(wheel.name)
    child = start(envkit, "create", project.spec, "--no-verify")
    _wait_for(lambda: (_home() / "envs" / NAME / "pyvenv.cfg").exists() and project.source.asked_for("torch"))
    child.send_signal(getattr(signal, name))
    child.communicate(timeout=30)

    assert child.returncode == 130
    assert list((_home() / "envs").glob("*")) == []


def test_what_a_killed_replacement_left_is_deleted_by_the_next(envkit, project):
    """Killed when the new environment stood: the journal says what is still to be deleted."""
    made = envkit("create", project.spec, "--no-verify", "--json").json["environment"]
    prefix = Path(made["prefix"])
    aside = prefix.with_name(f".{NAME}.envkit-old-01234567")
    aside.mkdir()
    (aside / "old").write_text("old")
    journal = prefix.with_name(f".{NAME}.envkit-journal.json")
    content = {"schema": 1, "operation": "discard", "host": os.uname().nodename, "pid": 0, "token": "01234567"}
    journal.write_text(json.dumps(content))

    assert [item["state"] for item in envkit("list", "--json").json["environments"]] == ["complete"]
    again = envkit("create", project.spec, "--json")
    assert again.code == 0
    assert again.json["created"] is False
    assert not aside.exists()
    assert not journal.exists()


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "null",
        "{",
        '{"pid": "abc"}',
        '{"pid": 1e30}',
        '{"pid": -1}',
        "[" * 5000,
        '{"operation": "create", "token": "../../etc"}',
        '{"operation": "remove", "token": 5}',
        '{"host": 5}',
    ],
)
@pytest.mark.parametrize("stands", [True, False])
def test_a_damaged_journal_loses_no_environment(envkit, project, text, stands):
    """What has a record stands; what has none, but the mark of a creation, is a creation that was cut off."""
    envkit("create", project.spec, "--no-verify")
    journal = _home() / "envs" / f".{NAME}.envkit-journal.json"
    journal.write_text(text)
    os.utime(journal, (10**9, 10**9))  # nobody renews it
    if not stands:
        (_home() / "envs" / NAME / ".envkit/environment.json").rename(_home() / "envs" / NAME / ".envkit/creating")

    listed = envkit("list", "--json")
    assert [item["state"] for item in listed.json["environments"]] == ["complete" if stands else "incomplete"]
    done = envkit("create", project.spec, "--no-verify", "--json")
    if '"host"' in text:
        assert done.code == 8
    else:
        assert done.code == 0, done.err
        assert done.json["created"] is not stands
        assert not journal.exists()


def test_another_hosts_journal_is_not_guessed_about(envkit, project):
    envkit("create", project.spec, "--no-verify")
    journal = _home() / "envs" / f".{NAME}.envkit-journal.json"
    content = {"operation": "create", "host": "node17", "pid": 1, "started_at": "2026-11-30T12:00:00Z"}
    journal.write_text(json.dumps(content))
    before = tree(_home())

    for command in (["create", project.spec], ["remove", NAME, "--yes"]):
        done = envkit(*command, "--json")
        assert done.code == 8
        assert "node17" in done.json["error"]["message"]
    assert tree(_home()) == before


def test_an_emptied_environment_is_not_already_there(envkit, project):
    prefix = Path(envkit("create", project.spec, "--no-verify", "--json").json["environment"]["prefix"])
    for path in prefix.glob("lib/python3.9/site-packages/torch*"):
        shutil.rmtree(path)
    done = envkit("create", project.spec, "--json")
    assert done.code == 11
    assert "torch is missing" in done.json["error"]["why"]
    (prefix / ".envkit" / "lock.yaml").unlink()
    assert [item["state"] for item in envkit("list", "--json").json["environments"]] == ["broken"]
    assert envkit("info", NAME).code == 0
    assert envkit("create", project.spec, "--replace", "--no-verify").code == 0


def test_what_the_user_installed_beside_is_no_reason_to_refuse(envkit, project):
    prefix = Path(envkit("create", project.spec, "--no-verify", "--json").json["environment"]["prefix"])
    next(prefix.glob("lib/python3.9/site-packages")).joinpath("mine-1.0.dist-info").mkdir()
    assert envkit("create", project.spec, "--json").json["created"] is False


def test_a_failed_create_keeps_the_empty_folder_that_was_there(envkit, project, tmp_path):
    prefix = tmp_path / "mine"
    prefix.mkdir(mode=0o700)
    project.source.fail("torch", 404)
    done = envkit("create", project.spec, "--prefix", prefix)
    assert done.code == 5, done.err
    assert prefix.stat().st_mode & 0o777 == 0o700
    assert list(prefix.iterdir()) == []
    assert list(tmp_path.glob(".mine*")) == []


def test_a_prefix_on_a_mount_point(envkit, project, tmp_path):
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare to mount a file system")
    place = tmp_path / "mounted"
    place.mkdir()
    project.source.fail("torch", 404)
    create = envkit.argv("create", project.spec, "--no-verify", "--prefix", place)
    remove = envkit.argv("remove", place, "--yes")
    script = f"""mount -t tmpfs none '{place}' || exit 99
{subprocess.list2cmdline(create)}; echo "failing $?"
touch {tmp_path}/ready; while [ ! -e {tmp_path}/go ]; do sleep 0.05; done
{subprocess.list2cmdline(create)} >&2; echo "working $?"
{subprocess.list2cmdline(remove)} >&2; echo "removed $? $(ls -A '{place}')"
"""
    child = subprocess.Popen(
        ["unshare", "-m", "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=envkit.cwd
    )
    _wait_for(lambda: (tmp_path / "ready").exists() or child.poll() is not None, 60)
    project.source.heal()
    (tmp_path / "go").touch()
    out, err = child.communicate(timeout=120)
    if child.returncode == 99:
        pytest.skip(f"cannot mount here: {err}")
    assert out.splitlines() == ["failing 5", "working 0", "removed 0 "], err


def test_verify_and_remove_at_once_do_not_bring_back_what_was_removed(envkit, project):
    prefix = Path(envkit("create", project.spec, "--no-verify", "--json").json["environment"]["prefix"])
    checking = start(envkit, "verify", NAME)
    removing = start(envkit, "remove", NAME, "--yes")
    checking.communicate(timeout=60)
    removing.communicate(timeout=60)
    assert removing.returncode == 0
    assert not prefix.exists()
    assert envkit("list", "--json").json["environments"] == []


def test_a_symbolic_link_to_an_environment_is_followed(envkit, project, tmp_path):
    real = tmp_path / "real"
    envkit("create", project.spec, "--no-verify", "--prefix", real)
    link = tmp_path / "link"
    link.symlink_to(real)
    first = envkit("info", link, "--json").json["environment"]["id"]
    replaced = envkit("create", project.spec, "--no-verify", "--prefix", link, "--replace", "--json")
    assert replaced.code == 0, replaced.err
    assert replaced.json["environment"]["prefix"] == str(real)
    assert replaced.json["environment"]["id"] != first
    assert link.is_symlink()
    assert envkit("remove", link, "--yes", "--json").json["removed"] == str(real)
    assert not real.exists()


def test_a_moved_or_copied_environment_is_broken(envkit, project):
    prefix = Path(envkit("create", project.spec, "--no-verify", "--json").json["environment"]["prefix"])
    copy = prefix.with_name("copy")
    shutil.copytree(prefix, copy, symlinks=True)
    listed = {item["name"]: item for item in envkit("list", "--json").json["environments"]}
    assert listed["copy"]["state"] == "broken"
    assert "moved or copied" in listed["copy"]["problem"]
    assert listed[NAME]["state"] == "complete"
    assert envkit("run", "copy", "--", "true").code == 125
    assert envkit("run", NAME, "--", "true").code == 0


def test_an_environment_reached_by_another_path_is_the_same(envkit, project, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "way").symlink_to(tmp_path / "real")
    envkit("create", project.spec, "--no-verify", "--prefix", tmp_path / "way" / "env")
    found = envkit("info", tmp_path / "real" / "env", "--json")
    assert found.json["environment"]["state"] == "complete"


@pytest.mark.parametrize("streams", [">&-", "<&-", "2>&-", ">&- 2>&- <&-"])
def test_closed_streams(envkit, project, streams):
    command = subprocess.list2cmdline(envkit.argv("create", project.spec, "--no-verify"))
    done = subprocess.run(["sh", "-c", f"{command} {streams}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert (_home() / "envs" / NAME / ".envkit" / "environment.json").exists()
    command = subprocess.list2cmdline(envkit.argv("remove", NAME))
    done = subprocess.run(["sh", "-c", f"{command} {streams}"], capture_output=True, text=True, check=False)
    assert done.returncode == 2


def test_a_reader_that_goes_away_does_not_stop_a_creation(envkit, project):
    command = subprocess.list2cmdline(envkit.argv("create", project.spec, "--no-verify"))
    script = f"({command}; echo $? >&3) 3>status 2>&1 | head -1"
    subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True, cwd=envkit.cwd)
    assert (envkit.cwd / "status").read_text() == "0\n"
    assert [item["state"] for item in envkit("list", "--json").json["environments"]] == ["complete"]
    command = subprocess.list2cmdline(envkit.argv("list", "--json"))
    subprocess.run(
        ["sh", "-c", f"({command}; echo $? >&3) 3>status | true"], capture_output=True, check=True, cwd=envkit.cwd
    )
    assert (envkit.cwd / "status").read_text() == "0\n"


def test_wrong_words_have_the_right_codes(envkit, project, tmp_path):
    assert envkit("create", project.spec, "--prefix", "").code == 2
    assert envkit("create", project.spec, "--wheelhouse", "").code == 2
    assert envkit("create", project.spec, "--prefix", "/proc/nowhere/env").code == 12
    assert envkit("create", project.spec, "--prefix", tmp_path / "esc\x1b[31m").code == 2
    for name in ("x" * 300, "/etc/passwd/x", "no/such/path"):
        done = envkit("info", name, "--json")
        assert done.code == 9, name
    gone = tmp_path / "gone"
    gone.mkdir()
    command = subprocess.list2cmdline(envkit.argv("create", "x.yaml", "--json"))
    done = subprocess.run(
        ["sh", "-c", f'cd "{gone}" && rmdir "{gone}" && {command}'], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    assert json.loads(done.stdout)["error"]["message"] == "The current folder has been removed."


def test_output_that_cannot_hold_the_letters(envkit, project, tmp_path):
    prefix = tmp_path / "ünï"
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = envkit("create", project.spec, "--no-verify", "--prefix", prefix, "--json", env=ascii_only)
    assert done.code == 0, done.err
    assert done.json["environment"]["prefix"] == str(prefix)
    assert envkit("list", env=ascii_only).code == 0


def test_prefixes_that_were_remembered_badly_do_no_harm(envkit, project):
    envkit("create", project.spec, "--no-verify")
    (_home() / "prefixes.txt").write_bytes(b"/etc/passwd/x\n\xff\xfe\nrelative\n/nowhere\n" + b"/x" * 5000 + b"\n")
    assert [item["name"] for item in envkit("list", "--json").json["environments"]] == [NAME]
    (_home() / "prefixes.txt").unlink()
    (_home() / "prefixes.txt").mkdir()
    assert envkit("list").code == 0


def test_the_full_output_of_a_failed_program_is_kept(envkit, project):
    wheel = next(path for path in project.wheels if path.name.startswith("torch"))
    project.source.replace(wheel.name, b"other bytes")
    done = envkit("create", project.spec, "--json")
    assert done.code == 5
    log = Path(done.json["error"]["hint"].rpartition("Full output: ")[2])
    assert log.parent == _home() / "logs"
    assert "uv pip install" in log.read_text()
    assert wheel.name in log.read_text()
    assert log.stat().st_mode & 0o077 == 0


def test_a_damaged_snapshot_does_not_hide_the_others(envkit, project):
    environment = envkit("create", project.spec, "--no-verify", "--json").json["environment"]
    folder = _home() / "snapshots" / f"{NAME}-{environment['id']}"
    for number, text in enumerate((b"{", b"[]", b"\xff\xfe", b"[" * 5000)):
        (folder / f"2026010{number}T000000Z").mkdir(parents=True)
        (folder / f"2026010{number}T000000Z" / "manifest.json").write_bytes(text)
    assert envkit("snapshot", "list", NAME, "--json").json["snapshots"] == []
    assert envkit("info", NAME).code == 0


def test_many_prefixes_at_once_are_all_remembered(envkit, project, tmp_path):
    children = [
        start(envkit, "create", project.spec, "--no-verify", "--prefix", tmp_path / f"e{number}") for number in range(5)
    ]
    for child in children:
        child.communicate(timeout=120)
    listed = envkit("list", "--json").json["environments"]
    assert [item["name"] for item in listed] == [f"e{number}" for number in range(5)]


def test_a_failed_create_takes_the_folders_it_made_along(envkit, project, tmp_path):
    project.source.fail("torch", 404)
    assert envkit("create", project.spec, "--prefix", tmp_path / "new" / "deep" / "env").code == 5
    assert not (tmp_path / "new").exists()


def test_offline_without_a_lock_asks_nobody(envkit, project):
    project.lock.unlink()
    done = envkit("create", project.spec, "--offline", "--json")
    assert done.code == 5
    assert "has no lock" in done.json["error"]["message"]
    project.write_lock(spec_sha256="0" * 64)
    assert envkit("create", project.spec, "--offline", "--update-lock").code == 5
    assert project.source.requests == project.default.requests == []


def test_an_at_sign_in_a_path_is_no_snapshot(envkit, project, tmp_path):
    prefix = tmp_path / "me@lab" / "env"
    assert envkit("create", project.spec, "--no-verify", "--prefix", prefix).code == 0
    again = envkit("restore", prefix, "--json")
    assert again.code == 0, again.err
    assert again.json["created"] is False
    assert envkit("create", project.spec, "--name", "a@b").code == 2
    assert envkit("restore", f"{prefix}@2026").code == 9


def test_removing_a_broken_environment_lists_the_users_files_too(envkit, project):
    prefix = Path(envkit("create", project.spec, "--no-verify", "--json").json["environment"]["prefix"])
    for name in ("work.ipynb", "etc/conda/activate.d/mine.sh", "Scripts/data.csv"):
        (prefix / name).parent.mkdir(parents=True, exist_ok=True)
        (prefix / name).touch()
    (prefix / ".envkit" / "environment.json").write_text("{")
    asked = envkit("remove", NAME)
    assert asked.code == 2
    for name in ("work.ipynb", "mine.sh", "data.csv"):
        assert name in asked.err
    assert asked.err.count("no package owns /") == 3


def test_what_is_not_known_of_a_broken_environment_is_null(envkit, project):
    prefix = Path(envkit("create", project.spec, "--no-verify", "--json").json["environment"]["prefix"])
    (prefix / ".envkit" / "environment.json").write_text("{")
    found = envkit("list", "--json").json["environments"][0]
    for key in ("id", "backend", "installer", "engine", "python", "build_cuda", "lock_sha256", "toolkit"):
        assert found[key] is None, key
    assert " cpu " not in envkit("list").out


def test_a_mistyped_name_is_told_the_nearest(envkit, project):
    envkit("create", project.spec, "--no-verify")
    for command in ("restore", "info"):
        done = envkit(command, NAME[:-1], "--json")
        assert done.code == 9
        assert NAME in done.json["error"]["hint"]


def test_a_defect_with_json_is_one_object_too(envkit):
    code = (
        "import sys\nfrom envkit.operations import environments\n"
        "def fail(): raise RuntimeError('a defect')\nenvironments.all_environments = fail\n"
        "from envkit.cli.main import main\nmain(['list', '--json'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert told["error"]["type"] == "Unexpected"
    assert told["environments"] == []
    assert "RuntimeError: a defect" in done.stderr


def test_make_wheel_gives_the_same_bytes(tmp_path):
    one = make_wheel(tmp_path / "a", "x", "1.0").read_bytes()
    assert make_wheel(tmp_path / "b", "x", "1.0").read_bytes() == one
