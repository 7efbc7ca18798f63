from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from envkit.plugins.conda_work import command
from envkit.plugins.conda_work.command import NoEnvkitError, ask, become, find_envkit


def program(path: Path, script: str = "") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def nowhere(monkeypatch, tmp_path) -> Path:
    """No envkit anywhere: the test's own folder is the home, and where conda runs."""
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "base"))
    for name in ("UV_TOOL_BIN_DIR", "PIPX_BIN_DIR", "XDG_BIN_HOME"):
        monkeypatch.delenv(name, raising=False)
    return Path(os.environ["HOME"])


def test_the_places_in_their_order(nowhere, tmp_path, monkeypatch):
    folders = [str(tmp_path / "envs")]
    places = [
        program(tmp_path / "base" / "bin" / "envkit"),
        program(tmp_path / "path" / "envkit"),
        program(tmp_path / "tools" / "envkit"),
        program(nowhere / ".local" / "bin" / "envkit"),
        program(tmp_path / "envs" / "envkit" / "bin" / "envkit"),
    ]
    monkeypatch.setenv("UV_TOOL_BIN_DIR", str(tmp_path / "tools"))
    for place in places:
        assert find_envkit("", folders) == place
        Path(place).unlink()
    with pytest.raises(NoEnvkitError, match="The command envkit is not found") as told:
        find_envkit("", folders)
    assert "conda config --set plugins.envkit_command PATH" in str(told.value)


def test_the_setting_counts_more_than_any_place(nowhere, tmp_path):
    program(tmp_path / "base" / "bin" / "envkit")
    assert find_envkit(program(nowhere / "my envkit")) == str(nowhere / "my envkit")
    assert find_envkit("~/my envkit") == str(nowhere / "my envkit")


@pytest.mark.parametrize("setting", ["/no/such", "no-such", "."])
def test_a_setting_that_is_no_program_is_told(nowhere, tmp_path, setting):
    program(tmp_path / "base" / "bin" / "envkit")
    with pytest.raises(NoEnvkitError, match=r"plugins\.envkit_command names .*, which is no program"):
        find_envkit(setting)


def answer(tmp_path: Path, script: str, *, timeout_s: float = 60) -> dict:
    return ask(program(tmp_path / "envkit", script), ["doctor", "/a b"], timeout_s=timeout_s)


def test_ask_gives_the_object(tmp_path):
    said = answer(tmp_path, 'printf \'{"ok": true, "words": "%s|%s|%s|%s"}\' "$@"; echo noise >&2')
    assert said == {"ok": True, "words": "doctor|/a b|--json|"}


def test_a_failure_is_an_answer(tmp_path):
    assert answer(tmp_path, 'echo \'{"ok": false, "error": {"message": "x"}}\'; exit 6')["error"] == {"message": "x"}


@pytest.mark.parametrize(
    ("script", "told"),
    [
        pytest.param("exit 1", "gave an answer that is no JSON", id="silent"),
        pytest.param("echo Hello", "gave an answer that is no JSON", id="text"),
        pytest.param("printf '\\377\\376'", "gave an answer that is no JSON", id="bytes"),
        pytest.param("yes '[' | head -100000", "gave an answer that is no JSON", id="deep"),
        pytest.param("echo '[]'", "not envkit's", id="list"),
        pytest.param("echo '{\"ok\": 1}'", "not envkit's", id="other"),
    ],
)
def test_other_answers_are_refused(tmp_path, script, told):
    with pytest.raises(NoEnvkitError, match=told):
        answer(tmp_path, script)


def test_a_program_that_cannot_be_started_is_told(tmp_path):
    with pytest.raises(NoEnvkitError, match="cannot be started"):
        ask(str(tmp_path / "gone"), ["doctor"], timeout_s=60)


@pytest.mark.parametrize("stubborn", [False, True])
def test_what_hangs_is_stopped_with_all_that_it_started(tmp_path, monkeypatch, stubborn):
    monkeypatch.setattr(command, "_GRACE_S", 0.3)
    trap = "trap '' TERM;" if stubborn else ""
    before = time.monotonic()
    with pytest.raises(NoEnvkitError, match=r"`envkit doctor` gave no answer within 0\.5 seconds and was stopped"):
        answer(tmp_path, f"{trap} sleep 100 & echo $! > '{tmp_path}/child'; sleep 100", timeout_s=0.5)
    assert time.monotonic() - before < 30
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        if not Path(f"/proc/{child}").exists() or " Z " in Path(f"/proc/{child}/stat").read_text():
            return
        time.sleep(0.05)
    pytest.fail("the child is still there")


BECOME = "import sys; from envkit.plugins.conda_work.command import become; sys.exit(become(sys.argv[1], sys.argv[2:]))"


def test_become_gives_status_and_words(tmp_path):
    envkit = program(tmp_path / "envkit", 'echo "<$1|$2>"; exit 41')
    done = subprocess.run(
        [sys.executable, "-c", BECOME, envkit, "a b", ""], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (41, "<a b|>\n", "")


def test_become_puts_signals_back(tmp_path):
    """Python ignores SIGPIPE; a program that inherits this does not end when nobody reads."""
    envkit = program(tmp_path / "envkit", "sed -n 's/^SigIgn:[[:space:]]*//p' /proc/$$/status")
    done = subprocess.run([sys.executable, "-c", BECOME, envkit], capture_output=True, text=True, check=True)
    ignored = int(done.stdout, 16)
    assert not ignored & (1 << (signal.SIGPIPE - 1))


def test_become_says_what_cannot_be_started(tmp_path):
    folder = tmp_path / "envkit"
    folder.mkdir()
    with pytest.raises(NoEnvkitError, match="cannot be started"):
        become(str(folder), [])


def test_on_windows_the_command_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "_WINDOWS", True)
    assert become(program(tmp_path / "envkit.exe", "exit 5"), ["list"]) == 5
    assert command._programs_of(Path("C:/base")) == str(Path("C:/base/Scripts"))
    with pytest.raises(NoEnvkitError, match="no answer"):
        ask(program(tmp_path / "hanging", "exec sleep 100"), ["doctor"], timeout_s=0.2)


def test_ctrl_c_while_waiting_leaves_the_status_to_the_command(tmp_path):
    envkit = program(tmp_path / "envkit", "sleep 0.5; kill -INT $PPID; sleep 0.5; exit 130")
    code = BECOME.replace("sys.exit", "sys.modules[become.__module__]._WINDOWS = True; sys.exit")
    done = subprocess.run([sys.executable, "-c", code, envkit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")


def test_the_answer_may_be_long(tmp_path):
    (tmp_path / "long.json").write_text(json.dumps({"ok": True, "text": "x" * 2_000_000}))
    assert len(answer(tmp_path, f"cat '{tmp_path}/long.json'")["text"]) == 2_000_000
