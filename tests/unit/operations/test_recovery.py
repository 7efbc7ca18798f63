"""What is left of changes that were cut off, and what becomes of it; the kills themselves are in tests/robustness."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import threading
import time

import pytest

from envkit.errors import BusyError, ExistsError, InvalidFileError, StorageError
from envkit.model.environment import RECORD
from envkit.operations import heartbeat, waiting
from envkit.operations import journal as journals
from envkit.operations.recovery import describe, gives_back, has_begun, recover, undo

ANOTHER = {"token": "00000000"}


class Notes:
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


@pytest.fixture
def prefix(tmp_path):
    folder = tmp_path / "envs"
    folder.mkdir()
    return folder / "demo"


@pytest.fixture
def quick(monkeypatch):
    """A heart that beats quickly, so that nobody watches it for long."""
    monkeypatch.setattr(heartbeat, "EVERY_S", 0.1)


def make(folder, version, *, token=None):
    """An environment, as far as recovery looks: its record; or, with a token, one that is being made."""
    (folder / ".envkit").mkdir(parents=True)
    (folder / "lib").mkdir()
    (folder / "lib" / "version").write_text(version)
    if token is None:
        (folder / RECORD).write_text("{}")
    else:
        (folder / journals.MARKER).write_text(token)


def rewrite(journal, **facts):
    """The journal as somebody else would have written it."""
    content = json.loads(journal.path.read_text()) | facts
    journal.path.write_text(json.dumps(content))


def dead(journal):
    """A process that has been there: the journal's writer has died."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    rewrite(journal, pid=child.pid, process_started=1)
    return journals.read(journal.prefix)


def damage(prefix):
    """A journal that cannot be read, and that nobody renews."""
    journals.journal_path(prefix).write_text("{")
    os.utime(journals.journal_path(prefix), (10**9, 10**9))


def names(prefix):
    return sorted(os.listdir(prefix.parent))


def test_a_journal_is_read_as_it_was_written_and_goes_at_the_end(prefix):
    begun = journals.begin(prefix, "create", made_folders=(prefix.parent,))
    assert journals.read(prefix) == begun
    assert begun.owner.is_this_process()
    assert "is under way" in describe(begun)
    entered = journals.enter(begun, "discard")
    assert journals.read(prefix) == entered
    journals.end(entered)
    assert journals.read(prefix) is None
    assert names(prefix) == []


def test_of_two_that_begin_at_once_one_is_busy(prefix):
    journals.begin(prefix, "create")
    with pytest.raises(BusyError, match=f"process {os.getpid()}"):
        journals.begin(prefix, "replace")
    assert names(prefix) == [".demo.envkit-journal.json"]


def test_a_folder_in_the_place_of_the_journal(prefix):
    journals.journal_path(prefix).mkdir()
    with pytest.raises(StorageError):
        journals.begin(prefix, "create")


def test_a_file_system_without_hard_links(prefix, monkeypatch):
    def no_links(*_paths):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    begun = journals.begin(prefix, "create")
    assert journals.read(prefix) == begun
    with pytest.raises(BusyError):
        journals.begin(prefix, "create")
    journals.end(begun)
    assert names(prefix) == []


def test_a_link_that_was_made_although_it_says_otherwise(prefix, monkeypatch):
    """NFS: the request was repeated, since its answer was lost."""
    link = os.link

    def twice(*paths):
        link(*paths)
        link(*paths)

    monkeypatch.setattr(os, "link", twice)
    begun = journals.begin(prefix, "create")
    assert journals.read(prefix) == begun
    journals.end(begun)


def test_the_heart_beats_until_the_end(prefix, quick):
    begun = journals.begin(prefix, "create")
    os.utime(begun.path, (1, 1))
    end = time.monotonic() + 10
    while begun.last_sign_of_life() == 10**9 and time.monotonic() < end:
        time.sleep(0.01)
    assert begun.last_sign_of_life() > 10**9
    journals.end(begun)
    assert begun.last_sign_of_life() is None


def test_a_journal_of_a_newer_envkit_is_left_alone(prefix):
    begun = journals.begin(prefix, "create")
    rewrite(begun, schema=2, operation="move")
    with pytest.raises(InvalidFileError, match="schema 2"):
        recover(prefix, Notes())
    assert begun.path.exists()


def test_a_journal_that_was_taken_over_is_not_ended_by_the_first(prefix):
    mine = journals.begin(prefix, "create")
    rewrite(mine, **ANOTHER)
    for change in (lambda: journals.end(mine), lambda: journals.enter(mine, "discard")):
        with pytest.raises(BusyError, match="taken over"):
            change()
    assert mine.path.exists()


def test_a_cut_off_creation_goes_with_the_folders_it_made(tmp_path):
    base = tmp_path / "base"
    prefix = base / "new" / "deep" / "demo"
    prefix.parent.mkdir(parents=True)
    begun = dead(journals.begin(prefix, "create", made_folders=(prefix.parent, prefix.parent.parent)))
    make(prefix, "half", token=begun.token)
    assert has_begun(begun)
    assert not gives_back(begun)
    assert "was cut off" in describe(begun)
    notes = Notes()
    assert recover(prefix, notes).token == begun.token
    assert "Put right" in notes.notes[0]
    assert list(base.iterdir()) == []


def test_a_creation_whose_record_is_written_stands(prefix):
    begun = dead(journals.begin(prefix, "create"))
    make(prefix, "new")
    (prefix / journals.MARKER).write_text(begun.token)
    assert not has_begun(begun)
    notes = Notes()
    recover(prefix, notes)
    assert notes.notes == []
    assert names(prefix) == ["demo"]
    assert not (prefix / journals.MARKER).exists()


@pytest.mark.parametrize("content", [["notebook.ipynb"], [".envkit/creating"], [".envkit/other"]])
def test_what_somebody_else_has_put_there_since_is_not_deleted(prefix, content):
    begun = dead(journals.begin(prefix, "create"))
    for name in content:
        (prefix / name).parent.mkdir(parents=True, exist_ok=True)
        (prefix / name).write_text("mine")
    undo(begun)
    assert names(prefix) == ["demo"]
    assert (prefix / content[0]).read_text() == "mine"


@pytest.mark.parametrize("inside", [[], [".envkit"], [".envkit", ".envkit/.envkit-new-1-2-3"]])
def test_a_creation_cut_off_before_it_left_its_mark(prefix, inside):
    begun = dead(journals.begin(prefix, "create"))
    prefix.mkdir()
    for name in inside:
        (prefix / name).mkdir()
    undo(begun)
    assert names(prefix) == []


def test_an_empty_folder_of_the_user_stays(prefix):
    prefix.mkdir(mode=0o700)
    begun = dead(journals.begin(prefix, "create"))
    make(prefix, "half", token=begun.token)
    undo(begun)
    assert names(prefix) == ["demo"]
    assert list(prefix.iterdir()) == []


@pytest.mark.parametrize("phase", ["before", "moved", "half", "record", "undone half", "undone"])
def test_a_cut_off_replacement_gives_the_old_one_back(prefix, phase):
    make(prefix, "old")
    begun = dead(journals.begin(prefix, "replace"))
    if phase != "before":
        prefix.rename(begun.old)
    if phase in {"half", "record", "undone half", "undone"}:
        make(prefix, "new", token=begun.token)
    if phase == "record":
        (prefix / RECORD).write_text("{}")
    if phase.startswith("undone"):
        prefix.rename(begun.gone)
    if phase == "undone":
        begun.old.rename(prefix)
    assert has_begun(begun) == gives_back(begun) == (phase not in {"before", "undone"})
    recover(prefix, Notes())
    assert names(prefix) == ["demo"]
    assert (prefix / "lib" / "version").read_text() == "old"


def test_a_replacement_that_stands_keeps_standing(prefix):
    make(prefix, "old")
    begun = journals.begin(prefix, "replace")
    prefix.rename(begun.old)
    make(prefix, "new")
    begun = dead(journals.enter(begun, "discard"))
    assert not has_begun(begun)
    recover(prefix, Notes())
    assert names(prefix) == ["demo"]
    assert (prefix / "lib" / "version").read_text() == "new"


def test_what_is_in_the_way_of_the_old_one_is_not_deleted(prefix):
    make(prefix, "old")
    begun = dead(journals.begin(prefix, "replace"))
    prefix.rename(begun.old)
    prefix.mkdir()
    (prefix / "mine").write_text("mine")
    with pytest.raises(ExistsError, match="not envkit's"):
        recover(prefix, Notes())
    assert (prefix / "mine").exists()
    assert (begun.old / "lib" / "version").exists()
    (prefix / "mine").unlink()
    prefix.rmdir()
    recover(prefix, Notes())
    assert (prefix / "lib" / "version").read_text() == "old"


@pytest.mark.parametrize("phase", ["before", "moved", "deleted"])
def test_a_cut_off_removal_is_finished_or_has_not_begun(prefix, phase):
    make(prefix, "old")
    begun = dead(journals.begin(prefix, "remove"))
    if phase != "before":
        prefix.rename(begun.gone)
    if phase == "deleted":
        shutil.rmtree(begun.gone)
    assert has_begun(begun) == (phase == "moved")
    recover(prefix, Notes())
    assert names(prefix) == (["demo"] if phase == "before" else [])


def test_a_removal_without_a_journal_is_finished(prefix):
    make(prefix.with_name(".demo.envkit-gone-00000000"), "old")
    make(prefix.with_name(".demo2.envkit-gone-00000000"), "old")
    assert recover(prefix, Notes()) is None
    assert names(prefix) == [".demo2.envkit-gone-00000000"]


@pytest.mark.parametrize("stands", ["new", "old", "neither"])
def test_a_damaged_journal(prefix, stands):
    """It tells nothing: what has a record stands, else what was set aside comes back."""
    old = prefix.with_name(".demo.envkit-old-00000000")
    if stands != "neither":
        make(old, "old")
    make(prefix, "new", token=None if stands == "new" else "00000000")
    damage(prefix)
    begun = journals.read(prefix)
    assert begun.operation == "damaged"
    assert "cannot be read" in describe(begun)
    recover(prefix, Notes())
    assert names(prefix) == ([] if stands == "neither" else ["demo"])
    if stands != "neither":
        assert (prefix / "lib" / "version").read_text() == stands


def test_a_damaged_journal_and_a_folder_that_nothing_tells_of(prefix):
    prefix.mkdir()
    (prefix / "mine").write_text("mine")
    damage(prefix)
    recover(prefix, Notes())
    assert names(prefix) == ["demo"]


def test_a_process_that_lives_is_waited_for(prefix):
    begun = journals.begin(prefix, "create")
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        rewrite(begun, pid=child.pid, process_started=None)
        with pytest.raises(BusyError, match=f"process {child.pid}") as caught:
            recover(prefix, Notes(), timeout_s=0.3)
        assert "0.3 s" in caught.value.why
        threading.Timer(0.5, child.communicate).start()
        notes = Notes()
        recover(prefix, notes, timeout_s=60)
        assert f"Waiting for process {child.pid}" in notes.notes[0]
    assert names(prefix) == []


def test_a_process_elsewhere_is_not_guessed_about(prefix, quick):
    begun = journals.begin(prefix, "create")
    rewrite(begun, host="node17", **ANOTHER)
    heartbeat.stop(begun.token)
    with pytest.raises(BusyError, match="node17") as caught:
        recover(prefix, Notes())
    assert "--break-lock" in caught.value.hint
    assert begun.started_at in caught.value.message
    assert "last sign of life" in caught.value.why
    assert "cannot be told" in describe(journals.read(prefix))
    notes = Notes()
    recover(prefix, notes, break_lock=True)
    assert "node17" in notes.notes[0]
    assert "counts as dead" in notes.notes[1]
    assert names(prefix) == []


@pytest.mark.parametrize("facts", [{"host": "node17"}, {"boot": "another"}, {"pid_namespace": "pid:[1]"}])
def test_a_process_elsewhere_that_shows_signs_of_life_keeps_its_journal(prefix, quick, facts):
    begun = journals.begin(prefix, "create")
    rewrite(begun, **facts)
    beats = threading.Timer(0.1, lambda: os.utime(begun.path, (1, 1)))  # a heart elsewhere
    beats.start()
    with pytest.raises(BusyError, match="is being changed") as caught:
        recover(prefix, Notes(), break_lock=True)
    beats.join()
    assert "alive" in caught.value.why
    assert begun.path.exists()


def test_after_a_loss_of_power_the_next_boot_cleans_up(prefix, quick):
    begun = journals.begin(prefix, "create")
    heartbeat.stop(begun.token)
    make(prefix, "half", token=begun.token)
    rewrite(begun, boot="the boot before")
    recover(prefix, Notes())
    assert names(prefix) == []


def test_a_change_elsewhere_that_ends_while_it_is_watched(prefix, quick, monkeypatch):
    begun = journals.begin(prefix, "create")
    heartbeat.stop(begun.token)
    rewrite(begun, host="node17")
    monkeypatch.setattr(waiting.time, "sleep", lambda _s: begun.path.unlink(missing_ok=True))
    assert recover(prefix, Notes(), break_lock=True) is None


def test_this_machines_name_is_in_the_journal(prefix):
    assert json.loads(journals.begin(prefix, "create").path.read_text())["host"] == platform.node()


def test_what_somebody_has_put_into_a_half_made_environment_is_kept(prefix):
    begun = dead(journals.begin(prefix, "create"))
    make(prefix, "half", token=begun.token)
    (prefix / "results.csv").write_text("mine")
    notes = Notes()
    recover(prefix, notes)
    assert names(prefix) == [f"demo.kept-{begun.token}"]
    assert (prefix.with_name(f"demo.kept-{begun.token}") / "results.csv").read_text() == "mine"
    assert f"demo.kept-{begun.token}" in notes.notes[1]


def test_files_that_a_replacement_was_keeping_are_in_the_old_one(prefix):
    make(prefix, "old")
    begun = dead(journals.begin(prefix, "replace"))
    prefix.rename(begun.old)
    make(prefix, "new", token=begun.token)
    (prefix / "replaced-files").mkdir()
    (prefix / "replaced-files" / "keep.txt").write_text("mine")
    recover(prefix, Notes())
    assert names(prefix) == ["demo"]


def test_what_somebody_has_put_into_his_own_folder_stays_there(prefix):
    prefix.mkdir()
    begun = dead(journals.begin(prefix, "create"))
    make(prefix, "half", token=begun.token)
    (prefix / "thesis.tex").write_text("mine")
    recover(prefix, Notes())
    assert [path.name for path in prefix.iterdir()] == ["thesis.tex"]


def test_a_journal_that_cannot_be_read_for_a_moment_is_no_damaged_one(prefix, monkeypatch):
    begun = journals.begin(prefix, "create")
    make(prefix, "half", token=begun.token)

    def stale(_path):
        raise OSError(116, "Stale file handle")

    monkeypatch.setattr(journals.Path, "read_bytes", stale)
    with pytest.raises(BusyError, match="cannot be read"):
        recover(prefix, Notes())
    assert prefix.is_dir()


def test_a_damaged_journal_that_is_still_renewed_is_left_alone(prefix, quick):
    damage(prefix)
    os.utime(journals.journal_path(prefix))
    make(prefix, "half", token="00000000")  # noqa: S106 - no password
    beats = threading.Timer(0.1, lambda: os.utime(journals.journal_path(prefix), (1, 1)))
    beats.start()
    with pytest.raises(BusyError):
        recover(prefix, Notes())
    beats.join()
    assert prefix.is_dir()


def test_of_two_that_put_the_same_right_one_waits_for_the_other(prefix, monkeypatch):
    """Both have seen the dead journal; the second finds it claimed, and the old environment back."""
    make(prefix, "old")
    begun = dead(journals.begin(prefix, "replace"))
    prefix.rename(begun.old)
    make(prefix, "half", token=begun.token)
    results = []
    threads = [threading.Thread(target=lambda: results.append(_recover_elsewhere(prefix))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [0, 0, 0, 0]
    assert names(prefix) == ["demo"]
    assert (prefix / "lib" / "version").read_text() == "old"


def _recover_elsewhere(prefix):
    code = "import sys; from pathlib import Path; from envkit.operations.recovery import recover; "
    code += "from envkit.model.progress import Silent; recover(Path(sys.argv[1]), Silent(), timeout_s=30)"
    return subprocess.run([sys.executable, "-c", code, str(prefix)], check=False).returncode


def test_a_claim_that_somebody_else_has_written_over_is_none(prefix, monkeypatch):
    begun = dead(journals.begin(prefix, "create"))
    monkeypatch.setattr(journals.time, "sleep", lambda _s: rewrite(begun, pid=1))
    assert journals.claim(begun) is None
    assert journals.claim(begun) is None  # it is another one by now


def test_a_claim_on_a_full_disk_goes_on_without(prefix, monkeypatch):
    begun = dead(journals.begin(prefix, "create"))

    def full(*_arguments, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journals.fs, "write_text", full)
    assert recover(prefix, Notes()).token == begun.token
    assert names(prefix) == []


def test_an_end_that_was_interrupted_can_be_done_again(prefix):
    begun = journals.begin(prefix, "create")
    journals.end(begun)
    journals.end(begun)
    undo(begun)
    assert names(prefix) == []
