from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from envkit.plugins.conda_work import diagnosis
from envkit.plugins.conda_work.command import NoEnvkitError
from envkit.plugins.conda_work.diagnosis import check_lines, mend
from envkit.plugins.conda_work.record import Managed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MARKS = ("OK", "BAD")
MANAGED = Managed("/envs/mine", name="mine", installer="pip")
CHANGED = {
    "id": "files-changed", "severity": "error", "message": "2 files changed", "why": "Somebody wrote into them.",
    "fix": ["envkit restore mine --replace"], "evidence": ["a.py"],
}  # fmt: skip
GUARD = {"id": "guard-missing", "severity": "warning", "message": "The guard is gone", "why": None, "fix": []}
NOTE = {"id": "packages-added", "severity": "note", "message": "extra 1.0"}


@pytest.fixture
def envkit(tmp_path) -> Callable[..., Callable[[], str]]:
    """Makes a program ``envkit`` with given answers, and gives what finds it; calls are in ``tmp_path/log``."""

    def make(doctor: object, hooks: object = None) -> Callable[[], str]:
        path = tmp_path / "envkit"
        cases = "".join(
            f"{name}) cat <<'END'\n{json.dumps(answer)}\nEND\n;;\n"
            for name, answer in (("doctor", doctor), ("hooks", hooks))
        )
        path.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/log\ncase $1 in\n{cases}esac\n')
        path.chmod(0o755)
        return lambda: str(path)

    diagnosis._findings.cache_clear()
    return make


def found(*findings: object) -> dict[str, object]:
    return {"ok": not findings, "error": None, "findings": list(findings)}


def log(tmp_path: Path) -> list[str]:
    return (tmp_path / "log").read_text().splitlines()


def test_nothing_wrong_is_one_line(envkit):
    lines = check_lines(MANAGED, envkit(found()), MARKS, verbose=False)
    assert lines == ["OK envkit's environment mine (installer pip): nothing is wrong.", ""]


def test_findings_are_shown(envkit):
    assert check_lines(MANAGED, envkit(found(CHANGED, GUARD, GUARD, NOTE, "junk")), MARKS, verbose=False) == [
        "BAD envkit's environment mine (installer pip): 1 error, 2 warnings, 1 note.",
        "",
        "error: 2 files changed [files-changed]",
        "  Somebody wrote into them.",
        "    a.py",
        "  -> envkit restore mine --replace",
        "",
        *["warning: The guard is gone [guard-missing]", ""] * 2,
    ]


def test_notes_alone_are_fine_and_shown_on_demand(envkit):
    find = envkit({"ok": True, "error": None, "findings": [NOTE]})
    assert check_lines(MANAGED, find, MARKS, verbose=False) == [
        "OK envkit's environment mine (installer pip): 1 note.",
        "",
    ]
    assert "note: extra 1.0 [packages-added]" in check_lines(MANAGED, find, MARKS, verbose=True)


@pytest.mark.parametrize(("verbose", "shown"), [(False, 5), (True, 8)])
def test_long_evidence_is_cut(envkit, verbose, shown):
    long = CHANGED | {"evidence": [f"file {number}" for number in range(8)]}
    lines = check_lines(MANAGED, envkit(found(long)), MARKS, verbose=verbose)
    assert sum("    file " in line for line in lines) == shown
    assert ("    and 3 more; --verbose tells them" in lines) is not verbose


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"ok": False, "error": {"message": "Busy.", "why": None, "hint": "Wait."}}, "Busy. Wait."),
        ({"ok": False, "error": {"message": "Gone."}, "findings": []}, "Gone."),
        ({"ok": True}, "envkit failed and did not say why."),
    ],
)
def test_a_check_that_envkit_refuses_is_one_line(envkit, answer, told):
    damaged = Managed("/envs/mine", problem="damaged")
    lines = check_lines(damaged, envkit(answer), MARKS, verbose=False)
    assert lines == [f"BAD envkit's environment /envs/mine was not checked: {told}", ""]


def missing() -> str:
    raise NoEnvkitError("no envkit")


def test_a_missing_envkit_is_one_line():
    lines = check_lines(MANAGED, missing, MARKS, verbose=False)
    assert lines == ["BAD envkit's environment mine (installer pip) was not checked: no envkit", ""]


class Told(list[str]):
    """What the user was asked and told."""

    def confirm(self, text: str) -> None:
        self.append(f"? {text}")

    def say(self, lines) -> None:
        self.extend(lines)


def test_mend_asks_and_writes_the_hooks(envkit, tmp_path):
    find = envkit(found(CHANGED, GUARD), {"ok": True})
    told = Told()
    check_lines(MANAGED, find, MARKS, verbose=False)
    assert mend("/envs/mine", find, told.confirm, told.say) == 0
    assert told == [
        "The guard is gone",
        "",
        "? Write envkit's hooks and guard again?",
        "envkit's hooks and guard were written again.",
    ]
    assert log(tmp_path) == [
        "doctor /envs/mine --json",
        "hooks install /envs/mine --json",
    ]  # the check's answer is used
    mend("/envs/mine", find, told.confirm, told.say)
    assert log(tmp_path)[2:] == ["doctor /envs/mine --json", "hooks install /envs/mine --json"]  # and then no more


def test_mend_leaves_everything_else_alone(envkit, tmp_path):
    told = Told()
    assert mend("/envs/mine", envkit(found(CHANGED)), told.confirm, told.say) == 0
    assert told == ["envkit's hooks and guard are as they should be."]
    assert log(tmp_path) == ["doctor /envs/mine --json"]


def test_mend_stops_when_the_user_declines(envkit, tmp_path):
    def decline(_text: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mend("/envs/mine", envkit(found(GUARD)), decline, Told().say)
    assert log(tmp_path) == ["doctor /envs/mine --json"]


def test_mend_tells_what_fails(envkit):
    told = Told()
    find = envkit(found(GUARD), {"ok": False, "error": {"message": "Read-only."}})
    assert mend("/envs/mine", find, told.confirm, told.say) == 1
    assert told[-1] == "Read-only."
    assert mend("/envs/mine", missing, told.confirm, told.say) == 1
    assert told[-1] == "no envkit"
