"""Finding interpreters; the programs are shell scripts that answer as a Python would."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from envkit.backends.pythons import find_interpreter
from envkit.errors import UnfitMachineError


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine without any Python: nothing on PATH, empty folders for pyenv and uv."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    monkeypatch.setenv("UV_PYTHON_INSTALL_DIR", str(tmp_path / "uv"))
    return tmp_path


def _python(path: Path, version: str, **changes) -> Path:
    """A script that says it is a Python."""
    facts = {"name": "cpython", "bits": 64, "base": str(path), "is_venv": False, "free_threaded": False} | changes
    answer = [[int(part) for part in version.split(".")], *facts.values()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{json.dumps(answer)}'\n")
    path.chmod(0o755)
    return path


def test_the_real_python_that_runs_this_is_found():
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = find_interpreter(version, sys.executable)
    assert found.version == ".".join(map(str, sys.version_info[:3]))
    assert found.path.resolve() == Path(sys._base_executable).resolve()


@pytest.mark.parametrize(
    ("place", "via"),
    [
        ("bin/python3.9", "PATH"),
        ("bin/python3", "PATH"),
        ("bin/python", "PATH"),
        ("pyenv/versions/3.9.18/bin/python", "pyenv"),
        ("uv/cpython-3.9.18-linux-x86_64-gnu/bin/python", "uv"),
    ],
)
def test_every_place_is_looked_at(machine, place, via):
    path = _python(machine / place, "3.9.18")
    found = find_interpreter("3.9")
    assert (found.path, found.version, found.found_via) == (path, "3.9.18", via)


def test_path_wins_and_the_newest_patch_of_pyenv_is_taken(machine):
    _python(machine / "pyenv/versions/3.9.2/bin/python", "3.9.2")
    newest = _python(machine / "pyenv/versions/3.9.18/bin/python", "3.9.18")
    assert find_interpreter("3.9").path == newest
    assert find_interpreter("3.9", "3.9.2").version == "3.9.2"
    on_path = _python(machine / "bin/python3.9", "3.9.1")
    assert find_interpreter("3.9").path == on_path


def test_pyenv_shims_are_passed_over(machine, monkeypatch):
    _python(machine / "pyenv/shims/python3.9", "3.9.1")
    monkeypatch.setenv("PATH", str(machine / "pyenv" / "shims"))
    with pytest.raises(UnfitMachineError):
        find_interpreter("3.9")


@pytest.mark.parametrize(
    "changes", [{"name": "pypy"}, {"bits": 32}, {"free_threaded": True}], ids=["pypy", "32 bits", "free-threaded"]
)
def test_what_torch_has_no_wheels_for_is_passed_over(machine, changes):
    _python(machine / "bin/python3.9", "3.9.18", **changes)
    with pytest.raises(UnfitMachineError, match=r"There is no Python 3\.9"):
        find_interpreter("3.9")


@pytest.mark.parametrize("text", ["exit 1", "echo nonsense", "echo '[1]'"])
def test_a_program_that_does_not_answer_is_passed_over(machine, text):
    broken = machine / "bin" / "python3.9"
    broken.write_text(f"#!/bin/sh\n{text}\n")
    broken.chmod(0o755)
    good = _python(machine / "pyenv/versions/3.9.18/bin/python", "3.9.18")
    assert find_interpreter("3.9").path == good


def test_a_venv_on_path_leads_to_its_base(machine):
    base = _python(machine / "real" / "python3.9", "3.9.18")
    _python(machine / "bin/python3.9", "3.9.18", base=str(base), is_venv=True)
    assert find_interpreter("3.9").path == base


def test_none_names_those_that_were_found_newest_first(machine):
    _python(machine / "bin/python3.8", "3.8.1")
    _python(machine / "pyenv/versions/3.10.13/bin/python", "3.10.13")
    _python(machine / "uv/cpython-3.12.1-linux-x86_64-gnu/bin/python", "3.12.1")
    with pytest.raises(UnfitMachineError) as caught:
        find_interpreter("3.9")
    assert caught.value.exit_code == 3
    assert caught.value.why == "Found: 3.12.1 (uv), 3.10.13 (pyenv), 3.8.1 (PATH)."
    assert "uv python install 3.9" in caught.value.hint


def test_none_at_all(machine):
    with pytest.raises(UnfitMachineError) as caught:
        find_interpreter("3.9")
    assert "No Python was found at all" in caught.value.why


def test_a_given_program_must_run_and_fit(machine):
    path = _python(machine / "opt" / "py", "3.9.18")
    assert find_interpreter("3.9", str(path)).found_via == "given"
    with pytest.raises(UnfitMachineError, match=r"is Python 3\.9\.18; the lock is for Python 3\.10"):
        find_interpreter("3.10", str(path))
    with pytest.raises(UnfitMachineError, match="is no Python that runs"):
        find_interpreter("3.9", str(machine / "missing"))


def test_a_given_version_must_go_with_the_lock(machine):
    _python(machine / "pyenv/versions/3.9.18/bin/python", "3.9.18")
    assert find_interpreter("3.9", "3.9").version == "3.9.18"
    assert find_interpreter("3.9", "3").version == "3.9.18"
    assert find_interpreter("3.9", "3.9.18").version == "3.9.18"
    with pytest.raises(UnfitMachineError, match="does not go with a lock"):
        find_interpreter("3.9", "3.10")
    with pytest.raises(UnfitMachineError, match=r"There is no Python 3\.9\.1 "):
        find_interpreter("3.9", "3.9.1")


def test_entries_of_path_that_are_empty_or_missing_do_no_harm(machine, monkeypatch):
    path = _python(machine / "bin/python3.9", "3.9.18")
    monkeypatch.setenv("PATH", os.pathsep.join(["", str(machine / "nowhere"), str(machine / "bin")]))
    assert find_interpreter("3.9").path == path
