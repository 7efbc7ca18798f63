"""What was added to an environment, in its own lock."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml

from envkit.errors import InvalidFileError
from envkit.model.additions import NOTHING_ADDED, Addition, Additions, Editable, without_added
from envkit.model.lock import parse_lock
from envkit.model.lock_text import render_lock

LOCK = """
schema: 1
spec: demo
created_by: a test
installer: pip
python: "3.9"
cuda: cpu
platforms:
  linux-64:
    needs: {}
    packages:
    - {name: numpy, version: 1.21.5, file: numpy-1.21.5-py3-none-any.whl, sha256: AB}
    - {name: tool, version: '1.0', file: tool-1.0-py3-none-any.whl, sha256: AB}
    base: []
""".replace("AB", "ab" * 32)
ADDITIONS = Additions(
    (Addition(("tool>=1", "x[y]; python_version > '3'"), ("tool",)),), (Editable("mine", "0.1", "/home/ada/it's mine"),)
)


def test_they_are_read_and_written_alike():
    lock = replace(parse_lock(LOCK, "x.lock.yaml"), additions=ADDITIONS)
    text = render_lock(lock)
    again = parse_lock(text, "x.lock.yaml")
    assert again.additions == ADDITIONS
    assert render_lock(again) == text
    assert lock.digest("linux-64") == parse_lock(LOCK, "").digest("linux-64")


def test_a_lock_without_them_has_no_such_keys():
    lock = parse_lock(LOCK, "x.lock.yaml")
    assert lock.additions == NOTHING_ADDED
    assert not {"added", "editables"} & yaml.safe_load(render_lock(lock)).keys()


def test_without_what_was_added():
    lock = replace(parse_lock(LOCK, ""), additions=ADDITIONS)
    assert [item.name for item in without_added(lock).platforms["linux-64"].packages] == ["numpy"]
    assert without_added(lock).additions == NOTHING_ADDED


def test_an_editable_replaces_its_namesake():
    new = Editable("mine", "0.2", "/elsewhere")
    assert ADDITIONS.with_editable(new).editables == (new,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("added: x", "expected a list"),
        ("added: [x]", "expected a mapping"),
        ("added: [{requirements: [a], packages: ['no such/name']}]", "is no canonical name"),
        ("added: [{requirements: [a], packages: [Not_Canonical]}]", "is no canonical name"),
        ("added: [{requirement: [a]}]", "Did you mean"),
        ("editables: [{name: mine, version: '1'}]", "'path' is missing"),
        ("editables: [{name: mine, version: '1', path: here}]", "is no absolute path"),
        ("editables: [{name: mine, version: one two, path: /x}]", "is no version"),
        ("editables: [{name: '-e', version: '1', path: /x}]", "is no canonical name"),
        ("editables: [{name: mine, version: '1', path: \"/x\\ny\"}]", "control character"),
    ],
)
def test_anything_else_is_refused(text, said):
    with pytest.raises(InvalidFileError) as caught:
        parse_lock(LOCK + text, "x.lock.yaml")
    assert said in f"{caught.value.message} {caught.value.hint}"
