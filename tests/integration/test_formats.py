"""Other tools' files: environments made from them, and written for them; packages of local channels and indexes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from envkit.model.lock import parse_lock
from envkit.operations.specs import read_spec_or_lock
from tests.integration.test_conda_create import CPU, CondaProject, explicit

FORMATS = {"explicit": "list.txt", "environment.yml": "env.yml", "pixi.lock": "pixi.lock", "conda-lock.yml": "cl.yml"}


@pytest.fixture
def conda(conda_channels, conda_home, tmp_path):
    conda_home.condarc(channel_alias=conda_channels.alias)
    folder = tmp_path / "conda-project"
    folder.mkdir()
    return CondaProject(folder, conda_home.envs)


@pytest.fixture
def made(envkit, conda):
    """An environment of conda's packages."""
    done = envkit("create", conda.spec(), "--no-verify", "--json")
    assert done.code == 0, done.err
    return conda.envs / CPU


def own_lock(prefix):
    return parse_lock((prefix / ".envkit" / "lock.yaml").read_text(), "own")


@pytest.mark.parametrize("name", FORMATS)
def test_there_and_back(envkit, conda, made, name):
    """A conda environment, exported and made again elsewhere from the file: the same packages."""
    file = conda.folder / FORMATS[name]
    done = envkit("export", CPU, "--format", name, "-o", file, "--json")
    assert done.code == 0, done.err
    assert done.json["file"] == str(file)
    assert "what the files need of a machine" in done.err or not own_lock(made).platforms["linux-64"].needs
    assert conda.envs.as_posix() not in file.read_text()
    back = envkit("restore", file, "--name", "back", "--no-verify", "--json")
    assert back.code == 0, back.err
    assert explicit(conda.envs / "back") == explicit(made)
    assert own_lock(conda.envs / "back").environment_name("linux-64") == CPU
    if name != "environment.yml":
        mine, its = own_lock(made), own_lock(conda.envs / "back")
        assert sorted(record.identity for record in mine.platforms["linux-64"].base) == sorted(
            record.identity for record in its.platforms["linux-64"].base
        )
        again = envkit("create", file, "--name", "back", "--no-verify", "--json")
        assert (again.code, again.json["created"]) == (0, False)
