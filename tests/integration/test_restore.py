"""Restore and remove, on stub wheels."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.integration.conftest import tree
from tests.support.wheels import make_wheel

NAME = "torch112_cu113_py39"


def _home() -> Path:
    return Path(os.environ["ENVKIT_HOME"])


def _names(prefix) -> list[str]:
    site = next(Path(prefix).glob("lib/python3.*/site-packages"))
    return sorted(path.name.removesuffix(".dist-info") for path in site.glob("*.dist-info"))


def test_restore_of_a_lock_file(envkit, project):
    done = envkit("restore", project.lock, "--no-verify", "--json")

    assert done.code == 0, done.err
    assert done.json["environment"]["name"] == NAME
    assert _names(done.json["environment"]["prefix"]) == ["numpy-1.21.5", "pip-22.0", "torch-1.12.1+cu113"]
    assert envkit("restore", project.lock, "--json").json["created"] is False


def test_restore_of_an_environment_under_another_name(envkit, project):
    first = envkit("create", project.spec, "--no-verify", "--json").json["environment"]

    done = envkit("restore", NAME, "--name", "second", "--no-verify", "--json")
    there = envkit("restore", NAME, "--json")

    assert done.code == 0, done.err
    assert done.json["environment"]["id"] != first["id"]
    assert _names(done.json["environment"]["prefix"]) == _names(first["prefix"])
    assert there.code == 0
    assert there.json["created"] is False


def test_restore_of_an_environment_that_has_drifted_names_the_drift(envkit, project):
    prefix = Path(envkit("create", project.spec, "--no-verify", "--json").json["environment"]["prefix"])
    site = next(prefix.glob("lib/python3.*/site-packages"))
    (site / "numpy-1.21.5.dist-info").rename(site / "numpy-2.0.0.dist-info")
    before = tree(_home())

    refused = envkit("restore", NAME, "--json")
    assert refused.code == 11
    assert "numpy 2.0.0 (locked 1.21.5)" in refused.json["error"]["message"]
    assert tree(_home()) == before
    replaced = envkit("restore", NAME, "--replace", "--no-verify", "--json")
    assert replaced.code == 0, replaced.err
    assert _names(prefix) == ["numpy-1.21.5", "pip-22.0", "torch-1.12.1+cu113"]


def test_restore_of_a_spec_says_what_it_is(envkit, project):
    done = envkit("restore", project.spec, "--json")
    assert done.code == 2
    assert "envkit create" in done.json["error"]["hint"]


def test_restore_of_what_is_not_there(envkit, tmp_path):
    for what in ("nothing", "nothing@2026", tmp_path / "x.lock.yaml", tmp_path / "x"):
        done = envkit("restore", what, "--json")
        assert done.code == 9, what
        assert done.json["environment"] is None


def test_remove_wants_to_be_confirmed_and_shows_what_no_package_owns(envkit, project):
    prefix = Path(envkit("create", project.spec, "--no-verify", "--json").json["environment"]["prefix"])
    (prefix / "notebook.ipynb").write_text("{}")
    before = tree(_home())

    asked = envkit("remove", NAME, "--json")
    assert asked.code == 2
    assert asked.json["removed"] is None
    assert "notebook.ipynb" in asked.err
    assert asked.err.count("no package owns") == 1
    assert tree(_home()) == before
    done = envkit("remove", NAME, "--yes", "--json")
    assert done.code == 0
    assert done.json["removed"] == str(prefix)
    assert list((_home() / "envs").glob("*")) == []
    assert envkit("remove", NAME, "--yes").code == 9


def test_broken_environments_are_shown_as_such_and_can_be_removed(envkit, project):
    prefix = Path(envkit("create", project.spec, "--no-verify", "--json").json["environment"]["prefix"])
    record = prefix / ".envkit" / "environment.json"
    whole = record.read_text()
    damages = {
        "not JSON": "{",
        "a list": "[]",
        "a newer schema": whole.replace('"schema": 1', '"schema": 2'),
        "a missing key": json.dumps({"schema": 1}),
    }
    for damage, text in damages.items():
        record.write_text(text)
        listed = envkit("list", "--json")
        assert [(item["name"], item["state"]) for item in listed.json["environments"]] == [(NAME, "broken")], damage
        assert envkit("run", NAME, "--", "true").code == 125
        assert envkit("verify", NAME).code == 6
        assert envkit("create", project.spec).code == 11
        assert "Traceback" not in envkit("info", NAME).err
    record.write_text(whole)
    (prefix / "bin" / "python").unlink()
    assert [item["state"] for item in envkit("list", "--json").json["environments"]] == ["broken"]
    assert envkit("create", project.spec, "--replace", "--no-verify").code == 0
    assert [item["state"] for item in envkit("list", "--json").json["environments"]] == ["complete"]
    record.write_text("{")
    assert envkit("remove", NAME, "--yes").code == 0
    assert envkit("list", "--json").json["environments"] == []


def test_info_lists_packages_with_their_sources(envkit, project):
    envkit("create", project.spec, "--no-verify")
    done = envkit("info", NAME, "--json").json

    assert done["packages"] == [
        {"name": "numpy", "version": "1.21.5", "source": None, "installer": "pip"},
        {"name": "pip", "version": "22.0", "source": None, "installer": "pip"},
        {"name": "torch", "version": "1.12.1+cu113", "source": project.source.url, "installer": "pip"},
    ]
    assert done["snapshots"] == []
    text = envkit("info", NAME).out
    assert "torch==1.12.1+cu113" in text
    assert "CUDA 11.3" in text


def test_list_of_nothing_says_where_to_go(envkit):
    assert "envkit specs" in envkit("list").out
    assert envkit("list", "--json").json["environments"] == []


def test_create_with_a_wheel_that_needs_a_console_script(envkit, project):
    make_wheel(project.default.folder, "tool", "1.0", entry_points="[console_scripts]\ntool = tool:main\n")
    project.write_lock(spec_sha256=None)
    assert envkit("create", project.lock, "--no-verify").code == 0
    assert (_home() / "envs" / NAME / "bin" / "tool").exists()
    assert "no package owns" not in envkit("remove", NAME).err


def test_remove_says_what_is_left_to_make_it_again_from(envkit, project):
    envkit("create", project.spec, "--no-verify")
    done = envkit("remove", NAME, "--yes")
    assert "It had no snapshot. `envkit create FILE`, with the file that it was made from, makes it again." in done.out


def test_restore_takes_the_patch_version_that_it_had_or_says_so(envkit, project):
    prefix = Path(envkit("create", project.spec, "--no-verify", "--json").json["environment"]["prefix"])
    record = prefix / ".envkit" / "environment.json"
    content = json.loads(record.read_text())
    same = envkit("restore", NAME, "--name", "same", "--no-verify", "--json")
    assert same.json["environment"]["python"] == content["python"]
    assert "It had Python" not in same.err
    record.write_text(json.dumps(content | {"python": "3.9.99"}))
    other = envkit("restore", NAME, "--name", "other", "--no-verify")
    assert other.code == 0, other.err
    assert "It had Python 3.9.99, which is not here" in other.err


def test_lock_and_spec_are_not_taken_for_each_other(envkit, project):
    done = envkit("lock", project.lock, "--json")
    assert done.code == 2
    assert "is a lock" in done.json["error"]["message"]
    assert envkit("restore", project.spec).code == 2
