"""Only what envkit has installed is deleted; what was added is forgotten, anything else left alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.integration.conftest import tree
from tests.support.kills import DIE_AT
from tests.support.stub_toolkit import nvcc, put_installed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def installed(envkit):
    """A stub toolkit in envkit's folder."""
    return put_installed(envkit.home)


def foreign_toolkit(folder: Path) -> Path:
    """Somebody else's, with a stub as its compiler."""
    (folder / "bin").mkdir(parents=True)
    (folder / "include").mkdir()
    (folder / "bin/nvcc").write_text(nvcc("11.3"))
    (folder / "bin/nvcc").chmod(0o755)
    (folder / "include/cuda.h").write_text("#define CUDA_VERSION 11030\n")
    (folder / "version.json").write_text('{"cuda": {"name": "CUDA SDK", "version": "11.3.1"}}\n')
    return folder


@pytest.mark.parametrize("asked", ["13.2", "the folder"])
def test_an_installed_one_goes_completely(envkit, installed, asked):
    done = envkit("cuda", "remove", str(installed) if asked == "the folder" else asked, "--json")
    assert done.code == 0, done.err
    assert (done.json["removed"], done.json["forgotten"]) == (str(installed), None)
    assert os.listdir(installed.parent) == []


def test_an_environment_that_uses_it_is_named_and_it_wants_yes(envkit, installed, project):
    done = envkit("create", project.spec, "--no-verify", "--toolkit", installed, "--backend", "venv")
    assert done.code == 0, done.err
    refused = envkit("cuda", "remove", "13.2.2", "--json")
    assert (refused.code, refused.json["error"]["type"]) == (2, "Usage")
    assert "switches to it" in refused.err
    assert installed.is_dir()
    assert envkit("cuda", "remove", "13.2.2", "--yes").code == 0
    assert not installed.exists()


def test_files_of_the_users_own_are_named_and_want_yes(envkit, installed):
    """A link to a folder and an odd name among them; Python's own caches do not count."""
    (installed / "samples" / "a b").mkdir(parents=True)
    (installed / "samples" / "a b" / "mine.cu").write_text("")
    (installed / "samples" / "link").symlink_to("a b")
    (installed / "lib" / "libcudnn.so.8").write_text("")
    (installed / "no\nname").write_text("")
    (installed / "bin" / "__pycache__").mkdir()
    (installed / "bin" / "__pycache__" / "x.pyc").write_text("")
    refused = envkit("cuda", "remove", "13.2", "--json")
    assert (refused.code, refused.json["error"]["type"]) == (2, "Usage")
    own = "lib/libcudnn.so.8, no\\nname, samples/a b/mine.cu, samples/link"
    assert f"4 files in it that `envkit cuda install` did not put there: {own}" in refused.err
    assert installed.is_dir()
    assert envkit("cuda", "remove", "13.2", "--yes").code == 0
    assert not installed.exists()


@pytest.mark.parametrize("text", [None, "{", "7"])
def test_without_the_list_of_its_files_it_wants_yes(envkit, installed, text):
    file = installed / ".envkit" / "files.json"
    file.unlink() if text is None else file.write_text(text)
    refused = envkit("cuda", "remove", "13.2")
    assert refused.code == 2
    assert "cannot be told" in refused.err
    assert envkit("cuda", "remove", "13.2", "--yes").code == 0


def test_nothing_is_locked_where_nothing_is_listed(envkit, tmp_path):
    folder = foreign_toolkit(tmp_path / "cuda-11.3")
    (envkit.home / "locks").write_text("a file is in the way of the locks")
    done = envkit("cuda", "remove", folder)
    assert done.code == 2
    assert "was not installed by envkit" in done.err


def test_a_prefix_with_hooks_is_named_and_it_wants_yes(envkit, installed, tmp_path):
    """An environment that envkit did not make, by the list of such; an entry that is gone does not count."""
    prefix = tmp_path / "a prefix"
    (prefix / "conda-meta").mkdir(parents=True)
    (prefix / "conda-meta" / "history").touch()
    assert envkit("hooks", "install", prefix, "--toolkit", installed).code == 0
    assert (envkit.home / "hooked.txt").read_text() == f"{prefix}\n"
    refused = envkit("cuda", "remove", "13.2.2")
    assert refused.code == 2
    assert str(prefix) in refused.err
    assert installed.is_dir()
    shutil.rmtree(prefix)
    assert envkit("cuda", "remove", "13.2.2").code == 0


def test_the_caller_s_own_window_is_a_user_too(envkit, installed, tmp_path):
    venv = tmp_path / "venv"
    (venv / ".envkit").mkdir(parents=True)
    toolkit = {"version": "13.2.2", "release": "13.2", "path": str(installed), "has_nvcc": True}
    (venv / ".envkit" / "hooks.json").write_text(json.dumps({"schema": 1, "toolkit": toolkit, "folders": []}))
    for name, value in {
        "CUDA_PATH": f"{installed}/",
        "_ENVKIT_WINDOW_TOOLKIT": installed,
        "VIRTUAL_ENV": venv,
    }.items():
        refused = envkit("cuda", "remove", "13.2.2", env={name: str(value)})
        assert refused.code == 2, name
        assert (name in refused.err) != (str(venv) in refused.err)
    assert installed.is_dir()
    assert envkit("cuda", "remove", "13.2.2", env={"CUDA_HOME": "/usr/elsewhere", "VIRTUAL_ENV": "/gone"}).code == 0


def test_a_folder_that_was_added_is_only_forgotten(envkit, tmp_path):
    folder = foreign_toolkit(tmp_path / "apps" / "cuda-11.3")
    before = tree(folder)
    assert envkit("cuda", "add", folder).code == 0
    done = envkit("cuda", "remove", "11.3", "--json")
    assert done.code == 0, done.err
    assert (done.json["removed"], done.json["forgotten"]) == (None, str(folder))
    assert tree(folder) == before
    assert envkit("cuda", "remove", folder).code == 2


def test_what_is_not_envkits_is_left_alone(envkit, installed, tmp_path):
    others = {
        "elsewhere": foreign_toolkit(tmp_path / "cuda-11.3"),
        "in envkit's folder, without a record": foreign_toolkit(installed.parent / "cuda-11.3.1"),
        "a copy": shutil.copytree(installed, tmp_path / "copy", symlinks=True),
    }
    link = installed.parent / "cuda-12.0.0"
    link.symlink_to(others["a copy"])
    before = tree(tmp_path)
    for folder in (*others.values(), link):
        done = envkit("cuda", "remove", folder, "--yes")
        assert done.code == 2, (folder, done.err)
        assert "nothing was changed" in done.err
    assert envkit("cuda", "remove", "12.0.0", "--yes").code == 9
    assert tree(tmp_path).keys() == before.keys()


def test_the_name_of_a_release_must_mean_one(envkit, installed):
    put_installed(envkit.home, "13.2.1")
    done = envkit("cuda", "remove", "13.2")
    assert done.code == 2
    assert "13.2.1" in done.err
    assert envkit("cuda", "remove", "13.2.1").code == 0
    assert os.listdir(installed.parent) == ["cuda-13.2.2"]


def test_a_damaged_record_is_no_obstacle(envkit, installed):
    (installed / ".envkit" / "toolkit.yaml").write_text("schema: [")
    assert envkit("cuda", "remove", "13.2.2").code == 0
    assert os.listdir(installed.parent) == []


def test_a_killed_removal_is_finished_by_the_next_command(envkit, installed, tmp_path):
    copy = shutil.copytree(installed, tmp_path / "copy", symlinks=True)
    log = tmp_path / "log"
    command = [sys.executable, str(DIE_AT), "0", str(installed.parent), str(log), "cuda", "remove", "13.2.2"]
    subprocess.run(command, env=envkit.variables(), capture_output=True, check=True)
    changes = log.read_text().splitlines()
    number = 1 + next(number for number, line in enumerate(changes) if "rename" in line and "cuda-13.2.2" in line)
    shutil.copytree(copy, installed, symlinks=True)
    command[2] = str(number + 3)  # some files of it are gone
    killed = subprocess.run(command, env=envkit.variables(), capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not installed.exists()
    assert len(os.listdir(installed.parent)) == 1
    shutil.copytree(copy, installed, symlinks=True)
    assert envkit("cuda", "remove", "13.2.2").code == 0
    assert os.listdir(installed.parent) == []
