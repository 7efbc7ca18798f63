"""``envkit hooks clean-all``: which conda environments get the hook that heals PATH; doctor on a stale entry."""

from __future__ import annotations

import os

import pytest

from tests.integration.conftest import tree

HOOKS = [f"etc/conda/activate.d/envkit-cleanup.{end}" for end in ("csh", "fish", "ps1", "sh")]


@pytest.fixture
def conda_env(conda_home):
    """Makes a conda environment as far as conda's list and its mark go."""

    def _make(name, *, folder=None, listed=True):
        prefix = (folder or conda_home.envs) / name
        (prefix / "conda-meta").mkdir(parents=True)
        (prefix / "conda-meta" / "history").touch()
        if listed:
            conda_home.environments_txt.parent.mkdir(exist_ok=True)
            with conda_home.environments_txt.open("a") as file:
                file.write(f"{prefix}\n")
        return prefix

    return _make


def hooks_in(prefix):
    return sorted(path.relative_to(prefix).as_posix() for path in prefix.rglob("envkit-cleanup.*"))


def test_there_and_back(envkit, conda_env, tmp_path):
    listed = conda_env("a b", folder=tmp_path / "elsewhere")
    found = conda_env("found", listed=False)
    other = found / "etc" / "conda" / "activate.d" / "nvcc.sh"
    other.parent.mkdir(parents=True)
    other.write_text("true\n")
    before = tree(listed) | tree(found)

    done = envkit("hooks", "clean-all", "--json")
    assert done.code == 0, done.err
    assert done.json["command"] == "hooks clean-all"
    assert (sorted(done.json["prefixes"]), done.json["skipped"]) == (sorted([str(listed), str(found)]), [])
    assert hooks_in(listed) == hooks_in(found) == HOOKS
    once = tree(listed) | tree(found)
    again = envkit("hooks", "clean-all")
    assert again.code == 0
    assert f"has the hook  {found}" in again.out
    assert tree(listed) | tree(found) == once

    done = envkit("hooks", "clean-all", "--remove", "--json")
    assert done.code == 0, done.err
    assert sorted(done.json["prefixes"]) == sorted([str(listed), str(found)])
    assert tree(listed) | tree(found) == before
    assert envkit("hooks", "clean-all", "--remove").out == "No environment has such a hook.\n"


def test_what_is_left_alone(envkit, conda_env, conda_home, tmp_path):
    base = conda_env("base", folder=tmp_path)
    (base / "condabin").mkdir()
    frozen = conda_env("frozen")
    (frozen / "conda-meta" / "frozen").write_text("{}")
    own = conda_env("own")
    (own / ".envkit").mkdir()
    (own / ".envkit" / "environment.json").write_text("{}")
    mine = conda_env("mine")
    (mine / "etc/conda/activate.d").mkdir(parents=True)
    (mine / "etc/conda/activate.d/envkit-cleanup.sh").write_text("echo mine\n")
    conda_env("gone").rename(tmp_path / "moved")
    (conda_home.envs / "no environment").mkdir()
    expected = {base: "of conda itself", frozen: "frozen", own: "envkit made it", mine: "is not envkit's"}
    if os.getuid() == 0:
        foreign = conda_env("foreign")
        os.chown(foreign, 12345, -1)
        expected[foreign] = "belongs to another user"
    before = tree(conda_home.envs) | tree(base)

    done = envkit("hooks", "clean-all", "--json")
    assert (done.code, done.json["prefixes"]) == (0, [])
    told = {item["prefix"]: item["why"] for item in done.json["skipped"]}
    assert told.keys() == set(map(str, expected))
    assert [prefix for prefix, why in expected.items() if why not in told[str(prefix)]] == []
    assert tree(conda_home.envs) | tree(base) == before
    assert envkit("hooks", "clean-all", "--remove", "--json").json["prefixes"] == []
    assert tree(conda_home.envs) | tree(base) == before


def test_without_any_conda_environment(envkit, conda_home):
    done = envkit("hooks", "clean-all")
    assert (done.code, done.out) == (0, "There is no other conda environment.\n")


def test_one_that_conda_has_forgotten_loses_the_hook_too(envkit, conda_env, conda_home, tmp_path):
    prefix = conda_env("x", folder=tmp_path / "elsewhere")
    assert envkit("hooks", "clean-all").code == 0
    conda_home.environments_txt.write_text("")
    assert envkit("hooks", "clean-all", "--remove", "--json").json["prefixes"] == [str(prefix)]
    assert hooks_in(prefix) == []


def test_a_broken_condarc_is_named(envkit, conda_home):
    conda_home.condarc().write_text("envs_dirs: [")
    done = envkit("hooks", "clean-all", "--json")
    assert done.code == 4
    assert ".condarc" in done.json["error"]["message"]
    assert (done.json["prefixes"], done.json["skipped"]) == ([], [])


ENTRY = "/opt/cuda-11.3/bin"


@pytest.mark.parametrize(
    ("variables", "path", "is_told"),
    [
        ({"_ENVKIT_CONDA_BIN": ENTRY, "_ENVKIT_CONDA_OWN": ""}, [ENTRY], True),
        ({"_ENVKIT_CONDA_BIN": ENTRY, "_ENVKIT_CONDA_OWN": "x"}, [ENTRY, ENTRY], True),
        ({"_ENVKIT_CONDA_BIN": ENTRY, "_ENVKIT_CONDA_OWN": "x"}, [ENTRY], False),
        ({"_ENVKIT_CONDA_BIN": ENTRY, "_ENVKIT_CONDA_OWN": "", "_ENVKIT_CONDA_TOOLKIT": "/x"}, [ENTRY], False),
        ({}, [ENTRY], False),
    ],
    ids=["stale", "beside the user's", "the user's alone", "in force", "never ours"],
)
def test_doctor_tells_of_a_stale_entry(envkit, variables, path, is_told):
    env = {**variables, "PATH": os.pathsep.join([*path, os.environ["PATH"]])}
    done = envkit("doctor", "--json", env=env)
    assert done.code == 0, done.err
    found = [item for item in done.json["findings"] if item["id"] == "path-stale"]
    assert bool(found) == is_told
    if is_told:
        assert found[0]["evidence"] == [ENTRY]
        assert "envkit hooks clean-all" in " ".join(found[0]["fix"])
