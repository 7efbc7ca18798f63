"""The guard's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.installers.guard import PIP_SETTINGS, constraint_entry, guard_state, install_guard, is_own_pip_settings
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


PACKAGES = [LockedPackage("torch", "1.12", "f", "0"), LockedPackage("pip", "22.0", "f", "0")]
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
    assert guard_state(folder, PACKAGES) == "missing"
    install_guard(folder, PACKAGES, Notes())
    assert guard_state(folder, PACKAGES) == "current"
    return folder


@pytest.mark.parametrize("file", FILES)
def test_a_guard_that_was_damaged_is_told_and_mended(prefix, file):
    text = (prefix / file).read_bytes()
    (prefix / file).write_bytes(b"# Made by envkit, long ago\n" if file == PIP_SETTINGS else b"other\n")
    assert guard_state(prefix, PACKAGES) == "stale"
    (prefix / file).unlink()
    assert guard_state(prefix, PACKAGES) == "missing"
    install_guard(prefix, PACKAGES, Notes())
    assert (prefix / file).read_bytes() == text
    assert guard_state(prefix, PACKAGES) == "current"
    assert guard_state(prefix, PACKAGES[:1]) == "stale"


def test_the_user_s_own_settings_of_pip_stay_and_are_told(prefix):
    settings = prefix / PIP_SETTINGS
    ours = settings.read_text()
    settings.write_text(ours + "[global]\ntimeout = 5\n")
    assert guard_state(prefix, PACKAGES) == "current"
    assert is_own_pip_settings(prefix)
    settings.write_text("[global]\ntimeout = 5\n")
    assert guard_state(prefix, PACKAGES) == "stale"
    assert not is_own_pip_settings(prefix)
    notes = Notes()
    install_guard(prefix, PACKAGES, notes)
    assert settings.read_text() == "[global]\ntimeout = 5\n"
    (note,) = notes.notes
    assert "constraint = file:///" in note
    settings.write_text(f"[install]\n{ours.splitlines()[-1]}\n")  # as the note says
    assert guard_state(prefix, PACKAGES) == "current"
