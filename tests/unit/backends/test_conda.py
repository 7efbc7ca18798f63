from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from envkit.backends import conda
from envkit.installers.condarc_files import config_files

if TYPE_CHECKING:
    from pathlib import Path


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def test_condas_own_variable_comes_first(home, tmp_path, monkeypatch):
    root = tmp_path / "root"
    (root / "conda-meta").mkdir(parents=True)
    exe = program(root / "bin" / "conda")
    program(tmp_path / "bin" / "mamba")
    found = conda.find_conda()
    assert found is not None
    assert (found.name, found.root) == ("mamba", None)
    monkeypatch.setenv("CONDA_EXE", str(exe))
    assert conda.find_conda() == conda.CondaProgram(exe, root)
    monkeypatch.setenv("CONDA_EXE", str(tmp_path / "gone"))
    assert conda.find_conda() == found


def test_the_folders_that_installers_propose(home):
    exe = program(home / "miniforge3" / "bin" / "conda")
    (home / "miniforge3" / "conda-meta").mkdir()
    assert conda.find_conda() == conda.CondaProgram(exe, home / "miniforge3")


def test_micromamba_keeps_environments_where_its_variable_says(home, tmp_path, monkeypatch):
    exe = program(tmp_path / "bin" / "micromamba")
    assert conda.find_conda() == conda.CondaProgram(exe, None)
    monkeypatch.setenv("MAMBA_ROOT_PREFIX", str(tmp_path / "mm"))
    assert conda.find_conda() == conda.CondaProgram(exe, tmp_path / "mm")


def test_what_condas_shell_functions_export(home, tmp_path, monkeypatch):
    exe = program(tmp_path / "root" / "bin" / "conda")
    monkeypatch.setenv("_CONDA_ROOT", str(tmp_path / "root"))
    assert conda.find_conda() == conda.CondaProgram(exe, None)
    (tmp_path / "root" / "conda-meta").mkdir()
    assert conda.find_conda() == conda.CondaProgram(exe, tmp_path / "root")


def test_without_any_conda_there_is_none(home):
    assert conda.find_conda() is None


def test_a_name_is_looked_for_in_all_folders_and_goes_to_the_first_that_can_be_written(tmp_path):
    no_folder = tmp_path / "file"
    no_folder.write_text("")
    folders = (no_folder / "envs", tmp_path / "a", tmp_path / "b")
    assert conda.prefix_for("x", folders) == tmp_path / "a" / "x"
    (tmp_path / "b" / "x").mkdir(parents=True)
    assert conda.prefix_for("x", folders) == tmp_path / "b" / "x"
    assert conda.prefix_for("x", folders[:1]) == no_folder / "envs" / "x"


def test_what_the_system_does_not_let_us_look_at_is_passed_over(home, tmp_path, monkeypatch):
    beyond = tmp_path / ("x" * 300)  # as a closed folder an error of the system; that cannot be had as root
    monkeypatch.setenv("CONDA_EXE", str(beyond / "conda"))
    monkeypatch.setenv("CONDA_PREFIX", str(beyond))
    assert conda.find_conda() is None
    assert conda.prefix_for("x", (tmp_path / "a",)) == tmp_path / "a" / "x"
    assert config_files({"CONDA_PREFIX": str(beyond), "HOME": str(home)}) == ()


def test_condas_list_is_added_to_and_taken_from(home, tmp_path):
    listed = home / ".conda" / "environments.txt"
    assert conda.registered() == ()
    conda.register(tmp_path / "a")
    conda.register(tmp_path / "b c")
    conda.register(tmp_path / "a")
    assert listed.read_text() == f"{tmp_path}/a\n{tmp_path}/b c\n"
    assert conda.registered() == (tmp_path / "a", tmp_path / "b c")
    conda.unregister(tmp_path / "a")
    conda.unregister(tmp_path / "never")
    assert listed.read_text() == f"{tmp_path}/b c\n"


def test_what_is_no_place_in_the_list_is_left_out(home, tmp_path):
    listed = home / ".conda" / "environments.txt"
    listed.parent.mkdir()
    listed.write_bytes(b"relative\n/with\0nul\n\n \n" + bytes(tmp_path) + b"\n")
    assert conda.registered() == (tmp_path,)


def test_a_list_that_cannot_be_used_is_none(home, tmp_path):
    (home / ".conda").write_text("a file")
    conda.register(tmp_path / "a")
    conda.unregister(tmp_path / "a")
    assert conda.registered() == ()
    (home / ".conda").unlink()
    (home / ".conda" / "environments.txt").mkdir(parents=True)
    conda.register(tmp_path / "a")
    conda.unregister(tmp_path / "a")
    assert conda.registered() == ()
