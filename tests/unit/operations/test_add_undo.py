"""Undoing an addition: nothing outside the environment, nothing of the user's, as often as need be."""

from __future__ import annotations

import json

import pytest

from envkit import fs
from envkit.errors import InvalidFileError
from envkit.operations.add_undo import add_folder, has_plan, undo_add, write_plan

SITE = "lib/python3.9/site-packages"


@pytest.fixture
def prefix(tmp_path):
    prefix = tmp_path / "env"
    for relative, text in {
        f"{SITE}/old/__init__.py": "old",
        f"{SITE}/old/gone.py": "gone",
        ".envkit/lock.yaml": "old lock",
        "requirements-lock.txt": "old list",
    }.items():
        (prefix / relative).parent.mkdir(parents=True, exist_ok=True)
        (prefix / relative).write_text(text)
    add_folder(prefix).mkdir()
    return prefix


def content(prefix):
    return {str(path.relative_to(prefix)): path.read_text() for path in prefix.rglob("*") if path.is_file()}


def test_it_puts_back_what_was_there_and_keeps_what_is_the_user_s(prefix, tmp_path):
    before = content(prefix)
    coming = {f"{SITE}/new/__init__.py", f"{SITE}/new-1.dist-info/RECORD", "bin/new", f"{SITE}/old/__init__.py"}
    write_plan(prefix, coming, {f"{SITE}/old/__init__.py", f"{SITE}/old/gone.py", f"{SITE}/old/never.py"})
    shared = tmp_path / "cache.py"
    shared.write_text("of uv's cache")
    (prefix / SITE / "old" / "__init__.py").unlink()
    (prefix / SITE / "old" / "__init__.py").hardlink_to(shared)
    (prefix / SITE / "old" / "gone.py").unlink()
    for relative in (f"{SITE}/new/__init__.py", f"{SITE}/new/__pycache__/__init__.cpython-39.pyc", "bin/new",
                     f"{SITE}/new-1.dist-info/RECORD", f"{SITE}/new-1.dist-info/INSTALLER", f"{SITE}/~ld/x",
                     f"{SITE}/old/.tmpAbC123/x", f"{SITE}/new/mine.txt"):  # fmt: skip
        (prefix / relative).parent.mkdir(parents=True, exist_ok=True)
        (prefix / relative).write_text("new")
    (prefix / ".envkit" / "lock.yaml").write_text("new lock")
    undo_add(prefix)
    assert content(prefix) == {**before, f"{SITE}/new/mine.txt": "new"}
    assert shared.read_text() == "of uv's cache"
    assert not (prefix / "bin").exists()
    undo_add(prefix)  # nothing left to do
    assert content(prefix) == {**before, f"{SITE}/new/mine.txt": "new"}


def test_what_uv_and_pip_leave_goes_and_nothing_else_of_such_a_name(prefix):
    for name in ("~ld", "old/.tmpBefore"):
        (prefix / SITE / name).mkdir()
    write_plan(prefix, [f"{SITE}/old/__init__.py", f"{SITE}/new.py"], [f"{SITE}/old/gone.py"])
    left = ("old/.tmpAb12cD", ".tmpxY34zz", "~-d")
    kept = ("old/.tmpBefore", ".tmp-notes", ".tmp", "~", "~mine", "~ld")
    for name in (*left, *kept):
        (prefix / SITE / name).mkdir(exist_ok=True)
    undo_add(prefix)
    assert [name for name in (*left, *kept) if (prefix / SITE / name).exists()] == list(kept)


def test_what_is_kept_for_the_undo_is_on_the_disk_before_the_plan(prefix, monkeypatch):
    seen = []
    monkeypatch.setattr(fs, "flush", lambda folder: seen.append((folder, has_plan(prefix))))
    write_plan(prefix, [], [f"{SITE}/old/gone.py"])
    assert seen == [(prefix, False)]
    undo_add(prefix)
    assert seen[1:] == [(prefix, True)]
    assert not has_plan(prefix)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"new": [1], "folders": []}'])
def test_a_damaged_plan_is_no_obstacle_to_a_removal(prefix, text):
    write_plan(prefix, [], [])
    (add_folder(prefix) / "plan.json").write_text(text)
    with pytest.raises(InvalidFileError, match=r"plan\.json"):
        undo_add(prefix)
    undo_add(prefix, is_going=True)
    assert has_plan(prefix)


def test_a_plan_leads_nowhere_else(prefix, tmp_path):
    (tmp_path / "precious").write_text("x")
    write_plan(prefix, [], [])
    path = add_folder(prefix) / "plan.json"
    plan = json.loads(path.read_text())
    plan["new"] += ["../precious", str(tmp_path / "precious"), "."]
    plan["folders"] += ["..", ".", "../env.dist-info"]
    path.write_text(json.dumps(plan))
    undo_add(prefix)
    assert (tmp_path / "precious").exists()
    assert prefix.is_dir()


def test_without_a_plan_nothing_was_changed(prefix):
    before = content(prefix)
    (add_folder(prefix) / "stage").mkdir()
    undo_add(prefix)
    assert content(prefix) == before
    assert not add_folder(prefix).exists()
