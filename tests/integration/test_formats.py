"""Other tools' files: environments made from them, and written for them; packages of local channels and indexes."""

from __future__ import annotations

import json
import re
import shutil
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


def test_what_a_list_leaves_out_comes_from_the_channel(envkit, conda, made):
    """An explicit list holds addresses only; conda needs the dependencies in its records."""
    text = envkit("export", CPU, "--format", "explicit").out
    bare = "".join(line.partition("#sha256")[0] + "\n" for line in text.splitlines())
    (conda.folder / "bare.txt").write_text(bare)
    assert envkit("restore", conda.folder / "bare.txt", "--name", "back", "--no-verify").code == 0
    assert explicit(conda.envs / "back") == explicit(made)
    for path in (made / "conda-meta").glob("*.json"):
        mine, its = (json.loads(item.read_text()) for item in (path, conda.envs / "back" / "conda-meta" / path.name))
        for key in ("depends", "constrains", "noarch", "build_number", "size", "timestamp"):
            assert mine.get(key) == its.get(key), (path.name, key)


def test_a_list_with_hashes_is_enough_without_the_index_of_the_channel(envkit, conda, conda_home, made):
    file = conda.folder / "list.txt"
    file.write_text(envkit("export", CPU, "--format", "explicit").out)
    conda_home.condarc(channel_alias="http://127.0.0.1:9")
    done = envkit("restore", file, "--name", "back", "--no-verify", "--offline")
    assert done.code == 0, done.err
    assert "is taken as it is" in done.err
    names = {path.name for path in (made / "conda-meta").glob("*.json")}
    assert {path.name for path in (conda.envs / "back" / "conda-meta").glob("*.json")} == names


def test_another_file_than_the_list_says(envkit, conda, made):
    text = envkit("export", CPU, "--format", "explicit").out
    wrong = re.sub(r"(/pytorch-1\S+)#sha256:\S+", rf"\1#{'0' * 32}", text)
    (conda.folder / "wrong.txt").write_text(wrong)
    done = envkit("restore", conda.folder / "wrong.txt", "--name", "back", "--no-verify", "--json")
    assert done.code == 5
    assert "pytorch-1.12.1" in done.json["error"]["message"]
    assert "0" * 32 in done.json["error"]["why"]
    wrong = re.sub(r"(/pytorch-1\S+)#sha256:\S+", rf"\1#{'0' * 64}", text)
    (conda.folder / "wrong.txt").write_text(wrong)
    done = envkit("restore", conda.folder / "wrong.txt", "--name", "back", "--no-verify", "--json")
    assert done.code == 5
    assert not (conda.envs / "back").exists()


@pytest.mark.parametrize("cache", ["new", "filled"])
def test_a_channel_in_a_folder_is_checked_as_any_other(envkit, conda, made, tmp_path, cache):
    """py-rattler checks no hash of local files."""
    text = (made / ".envkit" / "lock.yaml").read_text()
    file = conda.folder / "w.lock.yaml"
    file.write_text(re.sub(r"(name: pytorch,.*sha256: )[0-9a-f]{64}", rf"\g<1>{'f' * 64}", text))
    variables = {"RATTLER_CACHE_DIR": str(tmp_path / "cache")} if cache == "new" else {}
    done = envkit("restore", file, "--name", "w", "--no-verify", "--json", env=variables)
    assert done.code == 5
    assert "pytorch-1.12.1-py3.11_cpu_0.conda" in done.json["error"]["message"]
    assert "f" * 64 in done.json["error"]["why"]
    assert not (conda.envs / "w").exists()


def test_a_list_of_a_channel_from_outside_has_to_be_trusted(envkit, conda):
    file = conda.folder / "list.txt"
    file.write_text("@EXPLICIT\nhttps://example.org/c/linux-64/python-3.11.7-h_0.conda\n")
    done = envkit("create", file, "--name", "x", "--json")
    assert done.code == 4
    assert "--trust-source example.org" in done.json["error"]["hint"]


@pytest.mark.parametrize("name", ["conda-lock.yml", "pixi.lock"])
def test_a_venv_there_and_back(envkit, project, name):
    """pip's packages: the file holds addresses, the lock made of it none of the default index."""
    assert envkit("create", project.spec, "--no-verify").code == 0
    file = project.folder / FORMATS[name]
    done = envkit("export", "torch112_cu113_py39", "--format", name, "-o", file, "--json")
    assert done.code == 0, done.err
    assert any("Python 3.9 itself" in lost for lost in done.json["lost"])
    for index, package in ((project.source, "torch"), (project.default, "numpy"), (project.default, "pip")):
        assert f"http://{index.host}/files/{package}-" in file.read_text()
    prefix = Path(envkit("info", "torch112_cu113_py39", "--json").json["environment"]["prefix"])
    mine, its = (
        {item.name: item for item in lock.platforms["linux-64"].packages}
        for lock in (own_lock(prefix), read_spec_or_lock(file, file.name))
    )
    assert its == mine
    assert {name: item.source for name, item in its.items()} == {
        "torch": project.source.url,
        "numpy": None,
        "pip": None,
    }
    back = envkit("create", file, "--name", "back", "--no-verify", "--json")
    assert back.code == 0, back.err
    listed = {item["name"]: item["version"] for item in envkit("info", "back", "--json").json["packages"]}
    assert listed == {"torch": "1.12.1+cu113", "numpy": "1.21.5", "pip": "22.0"}


def test_a_venv_as_environment_yml(envkit, project):
    assert envkit("create", project.spec, "--no-verify").code == 0
    file = project.folder / "environment.yml"
    done = envkit("export", "torch112_cu113_py39", "--format", "environment.yml", "-o", file)
    assert done.code == 0, done.err
    assert yaml.safe_load(file.read_text()) == {
        "name": "torch112_cu113_py39",
        "channels": ["conda-forge"],
        "dependencies": [
            "python=3.9",
            "pip",
            {"pip": [f"--extra-index-url {project.source.url}", "numpy==1.21.5", "pip==22.0", "torch==1.12.1+cu113"]},
        ],
    }
    back = envkit("create", file, "--name", "back", "--backend", "venv", "--no-verify", "--json")
    assert back.code == 0, back.err
    assert "The name and prefix in the file do not count" in back.err
    assert (project.folder / "environment.lock.yaml").is_file()


def test_a_venv_is_no_explicit_list(envkit, project):
    assert envkit("create", project.spec, "--no-verify").code == 0
    done = envkit("export", "torch112_cu113_py39", "--format", "explicit", "--json")
    assert done.code == 2
    assert "conda-lock.yml and pixi.lock" in done.json["error"]["hint"]
    assert done.json["lost"] == []


def test_an_index_that_has_the_file_no_more(envkit, project):
    assert envkit("create", project.spec, "--no-verify").code == 0
    next(project.source.folder.glob("torch-*")).unlink()
    done = envkit("export", "torch112_cu113_py39", "--format", "pixi.lock", "--json")
    assert done.code == 5
    assert "does not have torch-1.12.1+cu113" in done.json["error"]["message"]
    assert "environment.yml" in done.json["error"]["hint"]
    for file in project.default.folder.glob("numpy-*"):
        file.unlink()
    done = envkit("export", "torch112_cu113_py39", "--format", "pixi.lock", "--json")
    assert done.code == 5
    assert "Your default index" in done.json["error"]["message"]


@pytest.mark.parametrize("name", ["conda-lock.yml", "pixi.lock", "environment.yml"])
def test_pip_in_a_conda_prefix_there_and_back(envkit, project, conda, name):
    content = project.lock_content()
    content.update(python="3.11", cuda="cpu", spec_sha256=None)
    locked = content["platforms"]["linux-64"]
    locked["packages"] = [entry for entry in locked["packages"] if entry["name"] == "pip"]
    (project.folder / "p.lock.yaml").write_text(json.dumps(content))
    done = envkit("restore", project.folder / "p.lock.yaml", "--backend", "conda", "--name", "p", "--no-verify")
    assert done.code == 0, done.err
    refused = envkit("export", "p", "--format", "explicit", "--json")
    assert refused.code == 2
    file = project.folder / FORMATS[name]
    done = envkit("export", "p", "--format", name, "-o", file, "--json")
    assert done.code == 0, done.err
    back = envkit("restore", file, "--name", "back", "--backend", "conda", "--no-verify", "--json")
    assert back.code == 0, back.err
    assert back.json["environment"]["installer"] == "pip"
    again = envkit("create", file, "--name", "back", "--backend", "conda", "--no-verify", "--json")
    assert (again.code, again.json["created"]) == (0, False), again.err
    assert explicit(conda.envs / "back") == explicit(conda.envs / "p")
    assert [item.file for item in own_lock(conda.envs / "back").platforms["linux-64"].packages] == [
        "pip-22.0-py3-none-any.whl"
    ]


def test_a_snapshot_is_exported_after_its_environment_is_gone(envkit, conda, made):
    taken = envkit("snapshot", "take", CPU, "--json")
    assert taken.code == 0, taken.err
    before = envkit("export", CPU, "--format", "explicit").out
    assert envkit("remove", CPU, "--yes").code == 0
    snapshot = Path(taken.json["snapshot"]).name
    for what in (CPU, f"{CPU}@{snapshot}"):
        done = envkit("export", what, "--format", "explicit")
        assert done.code == 0, done.err
        assert done.out == before
    assert envkit("export", "nothing", "--format", "explicit").code == 9
    for place in ("no-such-folder/x", "."):
        assert envkit("export", f"{CPU}@{snapshot}", "--format", "explicit", "-o", place).code == 12
    assert envkit("export", f"{CPU}@{snapshot}", "--format", "explicit", "--platform", "win-64").code == 2
    assert conda.envs.exists()


def test_c18_the_snapshot_of_a_conda_environment_is_portable(envkit, conda, conda_home, made, tmp_path):
    """EK-C18: no prefix, no home folder; restored under another name, beside an environment that has the stored one."""
    taken = envkit("snapshot", "take", CPU, "--json")
    assert taken.code == 0, taken.err
    folder = Path(taken.json["snapshot"])
    content = yaml.safe_load((folder / "environment.yml").read_text())
    assert list(content) == ["name", "channels", "dependencies"]
    assert content["channels"] == ["pytorch", "conda-forge"]
    for file in ("environment.yml", "conda-explicit.txt"):
        assert str(tmp_path) not in (folder / file).read_text()
    lines = (folder / "conda-explicit.txt").read_text().splitlines()
    assert "# platform: linux-64" in lines
    names = {
        line.rpartition("/")[2].partition("#")[0] for line in lines if line.startswith("https://conda.anaconda.org/")
    }
    assert names == {json.loads(path.read_text())["fn"] for path in (made / "conda-meta").glob("*.json")}
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["host"]["platform"] == "linux-64"
    assert {"environment.yml", "conda-explicit.txt"} <= manifest["files"].keys()

    marker = made / "marker"
    marker.write_text("untouched")
    before = sorted(str(path) for path in made.rglob("*"))
    for file, name in (("environment.yml", "other"), ("conda-explicit.txt", "third")):
        copy = tmp_path / file
        copy.write_bytes((folder / file).read_bytes())
        done = envkit("restore", copy, "--name", name, "--no-verify", "--json")
        assert done.code == 0, done.err
        assert done.json["environment"]["prefix"] == str(conda.envs / name)
        assert explicit(conda.envs / name) == explicit(made)
    elsewhere = envkit("restore", tmp_path / "environment.yml", "--prefix", tmp_path / "here", "--no-verify", "--json")
    assert elsewhere.code == 0, elsewhere.err
    assert sorted(str(path) for path in made.rglob("*")) == before


def test_c17_lines_that_point_to_a_build_machine(envkit, conda, made):
    """EK-C17: conda's Python packages may say where they were built; a snapshot says their versions."""
    (info,) = made.glob("lib/python3.11/site-packages/numpy-*.dist-info")
    (info / "direct_url.json").write_text('{"url": "file:///build/feedstock_root/numpy_163/work", "dir_info": {}}')
    taken = envkit("snapshot", "take", CPU, "--json")
    assert taken.code == 0, taken.err
    folder = Path(taken.json["snapshot"])
    assert "numpy==1.26.4" in (folder / "pip-freeze.txt").read_text().splitlines()
    assert "file:///build" in (folder / "pip-freeze.raw.txt").read_text()
    stored = {path.name for path in folder.iterdir() if "feedstock_root" in path.read_text()}
    assert stored == {"pip-freeze.raw.txt"}
    assert envkit("remove", CPU, "--yes").code == 0
    done = envkit("restore", CPU, "--dry-run", "--json")
    assert done.code == 0, done.err
    assert not conda.envs.joinpath(CPU).exists()


def test_an_exported_address_holds_no_password(envkit, project, monkeypatch):
    """The user's index wants a login; what is written is fit to be handed on."""
    assert envkit("create", project.spec, "--no-verify").code == 0
    project.default.auth = ("ada", "secret")
    monkeypatch.setenv("UV_DEFAULT_INDEX", project.default.url.replace("://", "://ada:secret@"))
    done = envkit("export", "torch112_cu113_py39", "--format", "pixi.lock")
    assert done.code == 0, done.err
    assert f"http://{project.default.host}/files/numpy-" in done.out
    assert "secret" not in done.out + done.err


def test_files_of_a_folder_of_the_users(envkit, project, monkeypatch):
    assert envkit("create", project.spec, "--no-verify").code == 0
    monkeypatch.delenv("UV_DEFAULT_INDEX")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(project.default.folder))
    done = envkit("export", "torch112_cu113_py39", "--format", "conda-lock.yml")
    assert done.code == 0, done.err
    assert "cannot hold the files that lie in a folder of this machine" in done.err
    (numpy,) = project.default.folder.glob("numpy-*")
    assert f"url: {numpy.as_uri()}\n" in done.out


def test_what_was_added_and_what_drifted_is_told(envkit, project, tmp_path):
    assert envkit("create", project.spec, "--no-verify").code == 0
    prefix = Path(envkit("info", "torch112_cu113_py39", "--json").json["environment"]["prefix"])
    shutil.rmtree(next(prefix.glob("lib/python3.9/site-packages/numpy-*.dist-info")))
    done = envkit("export", "torch112_cu113_py39", "--format", "environment.yml", "--json")
    assert done.code == 0
    assert "Not as locked, and exported as locked: numpy is missing (locked 1.21.5)." in done.err
    assert any("hashes" in lost for lost in done.json["lost"])
    assert "numpy==1.21.5" in done.json["text"]
