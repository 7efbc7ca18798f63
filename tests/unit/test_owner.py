from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from envkit import owner
from envkit.owner import Owner, is_left_behind


@pytest.fixture
def gone():
    """The number of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def test_this_process_is_alive_and_survives_a_round_trip():
    here = Owner.here()
    assert here.liveness() == "alive"
    assert here.is_this_process()
    assert Owner.from_json(here.to_json()) == here
    assert str(os.getpid()) in str(here)


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"host": "node17"}, "elsewhere"),
        ({"boot": "another"}, "unsure"),
        ({"boot": None}, "alive"),
        ({"pid_namespace": "pid:[1]"}, "unsure"),
        ({"pid_namespace": None}, "alive"),
        ({"started": 1}, "dead"),
        ({"started": None}, "alive"),
        ({"pid": 0}, "dead"),
        ({"pid": -1}, "dead"),
        ({"pid": 2**40}, "dead"),
    ],
)
def test_liveness(facts, expected):
    assert replace(Owner.here(), **facts).liveness() == expected


def test_a_process_that_has_ended_is_dead(gone):
    assert replace(Owner.here(), pid=gone, started=None).liveness() == "dead"


def test_a_process_that_nobody_has_reaped_is_dead():
    child = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE)
    started = owner.process_start(child.pid)
    deadline = time.monotonic() + 30
    while owner._stat_fields(child.pid)[:1] != ["Z"]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert replace(Owner.here(), pid=child.pid, started=started).liveness() == "dead"
    child.communicate()


def test_a_process_whose_start_is_hidden_is_alive(monkeypatch):
    """As for another user's under hidepid."""
    here = Owner.here()
    monkeypatch.setattr(owner, "_stat_fields", lambda _pid: [])
    assert here.liveness() == "alive"


def test_a_process_of_another_user_is_alive(monkeypatch):
    def refuse(_pid, _signal):
        raise PermissionError

    monkeypatch.setattr(owner.os, "kill", refuse)
    assert replace(Owner.here(), started=None).liveness() == "alive"


@pytest.mark.parametrize("facts", [{}, {"pid": "5", "host": 7, "boot": 1, "process_started": "x", "pid_namespace": []}])
def test_what_makes_no_sense_is_not_known(facts):
    found = Owner.from_json(facts)
    assert (found.pid, found.started, found.boot, found.pid_namespace) == (0, None, None, None)


def test_without_proc(monkeypatch):
    def none(*_arguments, **_options):
        raise FileNotFoundError

    monkeypatch.setattr(owner.Path, "read_text", none)
    owner._machine.cache_clear()
    here = Owner.here()
    assert (here.started, here.boot, here.pid_namespace) == (None, None, None)
    assert here.liveness() == "alive"
    owner._machine.cache_clear()


def test_marks_tell_leftovers_from_what_is_being_written(gone):
    now, day = time.time(), 86400.0
    mine = Owner.here().mark()
    machine = mine.split("-")[0]
    assert not is_left_behind(mine, now)
    assert not is_left_behind(mine, now - 10 * day)
    assert is_left_behind(f"{machine}-{gone}-1", now)
    assert not is_left_behind(f"00000000-{gone}-1", now)  # another machine, boot or container
    assert is_left_behind(f"00000000-{gone}-1", now - 2 * day)
    assert is_left_behind(f"00000000-{gone}-1", now + 2 * day)  # the clock was wrong once
    assert not is_left_behind("", now)
