"""The guard's files."""

from __future__ import annotations

import configparser
import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from envkit.installers.guard import (
    PIP_SETTINGS,
    Guarded,
    changed_guard_files,
    constraint_entry,
    guard_state,
    install_guard,
    is_own_pip_settings,
    renew_refusals,
)
from envkit.installers.refusals import own_refusals
from envkit.model.locked import LockedPackage


@pytest.mark.parametrize(
    ("path", "entry"),
    [
        ("/home/ada/envs/a_b-1.0+x/c.txt", "/home/ada/envs/a_b-1.0+x/c.txt"),
        ("/a b/c.txt", "file:///a%20b/c.txt"),
        ("/ünï/c.txt", "file:///%C3%BCn%C3%AF/c.txt"),
        ("/100%/c.txt", "file:///100%25/c.txt"),
        ("/a$HOME#?/c.txt", "file:///a%24HOME%23%3F/c.txt"),
    ],
)
def test_a_path_becomes_one_word_of_ascii(path, entry):
    assert constraint_entry(Path(path)) == entry


class Notes:
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


PACKAGES = (LockedPackage("torch", "1.12", "f", "0"), LockedPackage("pip", "22.0", "f", "0"))
FILES = [
    PIP_SETTINGS,
    ".envkit/constraints.txt",
    ".envkit/constraints-pip.txt",
    "etc/conda/activate.d/envkit-guard.sh",
    "etc/conda/deactivate.d/envkit-guard.fish",
]


@pytest.fixture
def prefix(tmp_path):
    folder = tmp_path / "an env"
    folder.mkdir()
    (folder / "pyvenv.cfg").touch()
    guarded = guarded_at(folder)
    assert guard_state(guarded) == "missing"
    install_guard(guarded, Notes())
    assert guard_state(guarded) == "current"
    return folder


def guarded_at(prefix, installer="pip", packages=PACKAGES, word="demo"):
    return Guarded(prefix, installer, word, packages if installer == "pip" else ())


@pytest.mark.parametrize("file", FILES)
def test_a_guard_that_was_damaged_is_told_and_mended(prefix, file):
    text = (prefix / file).read_bytes()
    (prefix / file).write_bytes(b"# Made by envkit, long ago\n" if file == PIP_SETTINGS else b"other\n")
    assert guard_state(guarded_at(prefix)) == "stale"
    (prefix / file).unlink()
    assert guard_state(guarded_at(prefix)) == "missing"
    install_guard(guarded_at(prefix), Notes())
    assert (prefix / file).read_bytes() == text
    assert guard_state(guarded_at(prefix)) == "current"
    assert guard_state(guarded_at(prefix, packages=PACKAGES[:1])) == "stale"


def test_the_user_s_own_settings_of_pip_stay_and_are_told(prefix):
    settings = prefix / PIP_SETTINGS
    ours = settings.read_text()
    settings.write_text(ours + "[global]\ntimeout = 5\n")
    assert guard_state(guarded_at(prefix)) == "current"
    assert is_own_pip_settings(prefix)
    settings.write_text("[global]\ntimeout = 5\n")
    assert guard_state(guarded_at(prefix)) == "stale"
    assert not is_own_pip_settings(prefix)
    notes = Notes()
    install_guard(guarded_at(prefix), notes)
    assert settings.read_text() == "[global]\ntimeout = 5\n"
    (note,) = notes.notes
    assert "constraint = file:///" in note
    settings.write_text(f"[install]\n{ours.splitlines()[-1]}\n")  # as the note says
    assert guard_state(guarded_at(prefix)) == "current"


@pytest.fixture
def conda_prefix(tmp_path):
    """What the guard looks at in a conda prefix, with the link that conda-forge's Python brings."""
    folder = tmp_path / "a conda env"
    for file in ("conda-meta/history", "lib/python3.11/os.py"):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).touch()
    (folder / "lib/python3.1").symlink_to("python3.11")
    return folder


MARKER = "lib/python3.11/EXTERNALLY-MANAGED"


def test_in_a_conda_prefix_pip_keeps_conda_out(conda_prefix):
    guarded = guarded_at(conda_prefix)
    install_guard(guarded, Notes())
    assert guard_state(guarded) == "current"
    message = json.loads((conda_prefix / "conda-meta/frozen").read_text(encoding="utf-8"))["message"]
    assert message.startswith("envkit made this environment")
    assert "envkit add demo PACKAGE" in message
    assert not list(conda_prefix.rglob("EXTERNALLY-MANAGED"))
    assert (conda_prefix / PIP_SETTINGS).exists()


def test_in_a_conda_prefix_conda_keeps_pip_and_uv_out(conda_prefix):
    guarded = guarded_at(conda_prefix, "conda", word="'odd $name'")
    install_guard(guarded, Notes())
    assert guard_state(guarded) == "current"
    assert [str(path.relative_to(conda_prefix)) for path in conda_prefix.rglob("EXTERNALLY-MANAGED")] == [MARKER]
    parser = configparser.ConfigParser(interpolation=None)  # as pip reads it
    parser.read(conda_prefix / MARKER, encoding="utf-8")
    said = parser["externally-managed"]["Error"]
    for command in ("envkit add 'odd $name' PACKAGE", "envkit add 'odd $name' -e .", "envkit verify 'odd $name'"):
        assert command in said
    for file in (PIP_SETTINGS, "conda-meta/frozen", ".envkit/constraints.txt"):
        assert not (conda_prefix / file).exists()
    hook = (conda_prefix / "etc/conda/activate.d/envkit-guard.sh").read_text()
    assert "constraints" not in hook.replace("UV_CONSTRAINT", "")


@pytest.mark.parametrize(("installer", "file"), [("pip", "conda-meta/frozen"), ("conda", MARKER)])
def test_a_refusal_that_was_damaged_is_told_and_mended(conda_prefix, installer, file):
    guarded, path = guarded_at(conda_prefix, installer), conda_prefix / file
    install_guard(guarded, Notes())
    text = path.read_text()
    path.write_text(text.replace("add", "remove"))
    assert changed_guard_files(guarded) == (path,)
    assert guard_state(guarded) == "stale"
    path.unlink()
    assert guard_state(guarded) == "missing"
    install_guard(guarded, Notes())
    assert path.read_text() == text
    # the name depends on conda's settings, which may be others tomorrow; the path always leads there
    path.unlink()
    install_guard(replace(guarded, word=shlex.quote(str(conda_prefix))), Notes())
    assert str(conda_prefix) in path.read_text()
    assert guard_state(guarded) == guard_state(replace(guarded, word="another")) == "current"
    path.unlink()
    install_guard(replace(guarded, word="another"), Notes())
    assert guard_state(guarded) == "stale"
    assert renew_refusals(guarded) == (path,)
    assert path.read_text() == text
    assert renew_refusals(guarded) == ()


@pytest.mark.parametrize(
    ("installer", "file", "text"),
    [
        ("pip", "conda-meta/frozen", ""),
        ("pip", "conda-meta/frozen", '{"message": "Ask the lab."}'),
        ("pip", "conda-meta/frozen", '{"message": ["envkit made this environment"]}'),
        ("pip", "conda-meta/frozen", "[" * 100_000),
        ("conda", MARKER, "[externally-managed]\nError=Ask the lab.\n"),
    ],
)
def test_somebody_else_s_refusal_holds_and_is_kept_and_told(conda_prefix, installer, file, text):
    guarded, notes = guarded_at(conda_prefix, installer), Notes()
    (conda_prefix / file).write_text(text)
    install_guard(guarded, notes)
    assert (conda_prefix / file).read_text() == text
    assert [f"{conda_prefix / file} is not envkit's" in note for note in notes.notes] == [True]
    assert guard_state(guarded) == "current"


def test_a_new_minor_version_of_python_needs_the_marker_again(conda_prefix):
    guarded = guarded_at(conda_prefix, "conda")
    install_guard(guarded, Notes())
    new = conda_prefix / "lib/python3.12"
    new.mkdir()
    (new / "os.py").touch()
    (conda_prefix / "lib/python3.11/os.py").unlink()
    assert changed_guard_files(guarded) == (new / "EXTERNALLY-MANAGED",)
    install_guard(guarded, Notes())
    assert guard_state(guarded) == "current"
    assert len(list(own_refusals(conda_prefix))) == 2  # the old one goes with the environment
