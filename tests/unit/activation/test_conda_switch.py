from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from envkit.activation.conda_switch import conda_switch, hook_files

if TYPE_CHECKING:
    from pathlib import Path


def write(file: Path, text: str = "") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


@pytest.fixture
def envs(tmp_path):
    folder = tmp_path / "envs"
    for name in ("a", "b"):
        for direction in ("activate", "deactivate"):
            for hook in ("b.sh", "a.sh", "~z.sh", "b.fish"):
                write(folder / name / "etc" / "conda" / f"{direction}.d" / hook)
    return folder


def test_from_nothing(envs):
    switch = conda_switch(envs / "a", {"PATH": "/usr/bin::/bin", "CONDA_SHLVL": "0", "CONDA_PREFIX": ""})
    assert switch.variables == {
        "PATH": f"{envs}/a/bin:/usr/bin::/bin",
        "CONDA_PREFIX": str(envs / "a"),
        "CONDA_SHLVL": "1",
        "CONDA_DEFAULT_ENV": "a",
        "CONDA_PROMPT_MODIFIER": "(a) ",
    }
    assert switch.leave == ()
    assert [path.name for path in switch.enter] == ["a.sh", "b.sh", "~z.sh"]


@pytest.mark.parametrize("path", [None, ""])
def test_without_a_path(envs, path):
    environ = {} if path is None else {"PATH": path}
    assert conda_switch(envs / "a", environ).variables["PATH"] == f"{envs}/a/bin"


def test_from_another_environment(envs):
    environ = {"PATH": f"/front:{envs}/a/bin:/bin", "CONDA_SHLVL": "2", "CONDA_PREFIX": str(envs / "a")}
    switch = conda_switch(envs / "b", environ)
    assert switch.variables["PATH"] == f"/front:{envs}/b/bin:/bin"
    assert switch.variables["CONDA_SHLVL"] == "3"
    assert switch.variables["CONDA_PREFIX_2"] == str(envs / "a")
    assert [path.name for path in switch.leave] == ["~z.sh", "b.sh", "a.sh"]
    assert {path.parents[3].name for path in switch.leave} == {"a"}


def test_once_more(envs):
    environ = {"PATH": f"{envs}/a/bin:/bin", "CONDA_SHLVL": "1", "CONDA_PREFIX": str(envs / "a")}
    switch = conda_switch(envs / "a", environ)
    assert switch.variables["PATH"] == environ["PATH"]
    assert switch.variables["CONDA_SHLVL"] == "1"
    assert "CONDA_PREFIX_1" not in switch.variables
    assert len(switch.leave) == len(switch.enter) == 3


@pytest.mark.parametrize("level", ["", "x", "-1", "1; rm"])
def test_a_level_that_is_no_number_is_none(envs, level):
    switch = conda_switch(envs / "a", {"CONDA_SHLVL": level, "CONDA_PREFIX": "/elsewhere"})
    assert switch.variables["CONDA_SHLVL"] == "1"
    assert switch.leave == ()


def test_variables_of_packages_and_of_the_user(envs):
    write(envs / "a/etc/conda/env_vars.d/2.json", json.dumps({"ONE": "late", "PATH": "/never", "A=B": "x"}))
    write(envs / "a/etc/conda/env_vars.d/1.json", json.dumps({"ONE": "early", "TWO": 2, "GONE": "x"}))
    write(envs / "a/etc/conda/env_vars.d/3.json", "[broken")
    write(envs / "a/conda-meta/state", json.dumps({"version": 1, "env_vars": {"GONE": "***unset***", "OWN": "mine"}}))
    variables = conda_switch(envs / "a", {"TWO": "before"}).variables
    assert {name: variables.get(name) for name in ("ONE", "TWO", "OWN", "GONE")} == {
        "ONE": "late", "TWO": "2", "OWN": "mine", "GONE": None,
    }  # fmt: skip
    assert variables["PATH"] == f"{envs}/a/bin"
    assert variables["__CONDA_SHLVL_0_TWO"] == "before"
    assert "A=B" not in variables


def test_an_environment_elsewhere_is_called_by_its_path(tmp_path):
    assert conda_switch(tmp_path / "x", {}).variables["CONDA_DEFAULT_ENV"] == str(tmp_path / "x")
    assert hook_files(tmp_path / "x", "activate", "sh") == ()
