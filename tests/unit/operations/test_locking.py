from __future__ import annotations

import json
import subprocess
import sys

import pytest

from envkit import paths
from envkit.errors import BusyError
from envkit.operations.locking import prefix_lock

HOLD = """
import sys, time
from pathlib import Path
from envkit.model.progress import Silent
from envkit.operations.locking import prefix_lock
with prefix_lock(Path(sys.argv[1]), "create", Silent()):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


class Notes:
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


@pytest.fixture
def holder():
    """Another process that holds the lock of a prefix for some seconds."""
    children = []

    def hold(prefix, seconds):
        child = subprocess.Popen(
            [sys.executable, "-c", HOLD, str(prefix), str(seconds)], stdout=subprocess.PIPE, text=True
        )
        children.append(child)
        assert child.stdout.readline() == "held\n"
        return child

    yield hold
    for child in children:
        child.kill()
        child.communicate()


def test_a_lock_that_stays_taken_is_busy_and_names_the_holder(holder, tmp_path):
    child = holder(tmp_path / "env", 60)
    with pytest.raises(BusyError) as caught, prefix_lock(tmp_path / "env", "create", Notes(), timeout_s=0.2):
        pass
    assert caught.value.exit_code == 8
    assert f"process {child.pid}" in caught.value.message
    assert "envkit create" in caught.value.message


def test_waiting_tells_whom_for_and_goes_on_when_it_is_free(holder, tmp_path):
    child = holder(tmp_path / "env", 2.5)
    notes = Notes()
    with prefix_lock(tmp_path / "env", "create", notes, timeout_s=30):
        pass
    assert len(notes.notes) == 1
    assert f"process {child.pid}" in notes.notes[0]


def test_a_holder_that_was_killed_does_not_block(holder, tmp_path):
    holder(tmp_path / "env", 60).kill()
    with prefix_lock(tmp_path / "env", "create", Notes(), timeout_s=10):
        pass


def test_other_prefixes_and_damaged_notes_of_holders(holder, tmp_path):
    holder(tmp_path / "env", 60)
    with prefix_lock(tmp_path / "other" / "env", "create", Notes(), timeout_s=0.2):
        pass
    note = next(path for path in paths.locks_dir().glob("env-*.json") if "create" in path.read_text())
    for path in paths.locks_dir().glob("env-*.json"):
        assert json.loads(path.read_text())["operation"] == "create"
        path.write_text("{")
    assert note.exists()
    with (
        pytest.raises(BusyError, match="another envkit"),
        prefix_lock(tmp_path / "env", "create", Notes(), timeout_s=0.2),
    ):
        pass


@pytest.mark.parametrize(("break_lock", "way"), [(None, "delete "), (False, "--break-lock")])
def test_a_command_that_cannot_break_a_lock_names_its_file(holder, tmp_path, break_lock, way):
    holder(tmp_path / "env", 60)
    note = next(paths.locks_dir().glob("env-*.json"))
    note.write_text(json.dumps(json.loads(note.read_text()) | {"host": "elsewhere"}))
    with (
        pytest.raises(BusyError) as caught,
        prefix_lock(tmp_path / "env", "verify", Notes(), timeout_s=0.2, break_lock=break_lock),
    ):
        pass
    assert f"If that machine has died: {way}" in caught.value.hint
    assert (str(note.with_suffix(".lock")) in caught.value.hint) == (break_lock is None)
