"""What a command sees on Windows, where no activation script is run."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from envkit.model.environment import unreadable
from envkit.operations.run import _activated_on_windows


@pytest.fixture
def environment(tmp_path):
    (tmp_path / "a b" / ".envkit").mkdir(parents=True)
    (tmp_path / "a b" / ".envkit" / "constraints.txt").touch()
    return replace(unreadable(tmp_path / "a b", "complete", ""), guard=True)


@pytest.mark.parametrize("own", [None, "mine.txt"])
def test_the_guard_is_in_force(environment, own, monkeypatch):
    if own is not None:
        monkeypatch.setenv("UV_CONSTRAINT", own)
    found = _activated_on_windows(environment)["UV_CONSTRAINT"]
    assert found.split()[:-1] == ([] if own is None else [own])
    assert found.endswith("/a%20b/.envkit/constraints.txt")


def test_without_a_guard_the_variable_is_the_user_s(environment):
    assert "UV_CONSTRAINT" not in _activated_on_windows(replace(environment, guard=False))
    (environment.prefix / ".envkit" / "constraints.txt").unlink()
    assert _activated_on_windows(environment).get("UV_CONSTRAINT") == os.environ.get("UV_CONSTRAINT")


def test_a_conda_prefix_gets_what_conda_sets(environment, monkeypatch):
    monkeypatch.setenv("PATH", "mine")
    monkeypatch.setenv("PYTHONHOME", "kept")
    prefix = environment.prefix
    (prefix / "conda-meta").mkdir()
    (prefix / "conda-meta" / "state").write_text('{"env_vars": {"OWN": "1"}}')
    found = _activated_on_windows(replace(environment, backend="conda"))
    assert "VIRTUAL_ENV" not in found
    assert (found["CONDA_PREFIX"], found["OWN"], found["PYTHONNOUSERSITE"]) == (str(prefix), "1", "1")
    folders = ("Library/mingw-w64/bin", "Library/usr/bin", "Library/bin", "Scripts", "bin")
    assert found["PATH"].split(os.pathsep) == [str(prefix), *(str(prefix / name) for name in folders), "mine"]
    assert _activated_on_windows(environment)["VIRTUAL_ENV"] == str(prefix)
