"""The guard: pip and uv themselves, run by hand in an environment, do not change what is locked."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from envkit.installers.uv import uv_program
from tests.integration.conftest import tree
from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from pathlib import Path

ENV = "torch112_cu113_py39"
INSTALLERS = ["pip", "uv"]


@pytest.fixture(autouse=True)
def _more_packages(project):
    """The default index, with some packages more than the lock names."""
    folder = project.default.folder
    make_wheel(folder, "needs-new-numpy", "1.0", requires=["numpy>=2"])
    make_wheel(folder, "numpy", "2.0.0")
    make_wheel(folder, "torch", "2.0.0")
    make_wheel(folder, "harmless", "1.0", requires=["numpy"])


def by_hand(prefix: Path, command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the activated environment, as a user does."""
    environ = {name: value for name, value in os.environ.items() if name not in {"PIP_CONFIG_FILE", "VIRTUAL_ENV"}}
    environ |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "UV": str(uv_program())} | variables
    script = f'. "$1/bin/activate" && {command}'
    return subprocess.run(
        ["/bin/sh", "-c", script, "sh", prefix], env=environ, capture_output=True, text=True, timeout=120, check=False
    )


def install(installer: str, requirement: str) -> str:
    """pip is not this environment's (that is a stub), but runs with its interpreter and reads its settings."""
    if installer == "uv":
        return f'"$UV" pip install --no-progress {requirement}'
    return f'PYTHONPATH="$PIPS" python -m pip install {requirement}'


@pytest.fixture(scope="session")
def pips():
    """A folder with a real pip, from the wheel that virtualenv brings along."""
    from virtualenv.seed.wheels.embed import get_embed_wheel  # noqa: PLC0415

    return str(get_embed_wheel("pip", "3.9").path)


@pytest.fixture
def made(envkit, project, tmp_path):
    """An environment made by create, and its prefix."""
    prefix = tmp_path / "at" / "odd ünï %41 name"
    done = envkit("create", project.spec, "--no-verify", "--prefix", prefix)
    assert done.code == 0, done.err
    return prefix


@pytest.mark.parametrize("installer", INSTALLERS)
@pytest.mark.parametrize("requirement", ["needs-new-numpy", "torch==2.0.0", "'numpy>1.21.5'"])
def test_a_locked_package_cannot_be_changed(made, installer, requirement, pips):
    before = tree(made)
    done = by_hand(made, install(installer, requirement), PIPS=pips)
    assert done.returncode != 0
    said = done.stderr + done.stdout
    assert ("ResolutionImpossible" if installer == "pip" else "No solution found") in said or "No matching" in said
    assert changed(before, tree(made)) == set()


def changed(before: dict, after: dict) -> set[str]:
    """Files that differ; what Python compiles while it runs aside."""
    names = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    return {name for name in names if "__pycache__" not in name and not name.endswith(".lock")}


@pytest.mark.parametrize("installer", INSTALLERS)
def test_others_may_be_installed_and_are_drift(envkit, made, installer, pips):
    done = by_hand(made, install(installer, "harmless"), PIPS=pips)
    assert done.returncode == 0, done.stderr
    assert {p["name"]: p["version"] for p in envkit("info", made, "--json").json["packages"]}["numpy"] == "1.21.5"
    again = envkit("restore", made)
    assert again.code == 11
    assert "harmless 1.0 (not in the lock)" in again.err


def test_without_guard_anything_goes(envkit, project):
    done = envkit("create", project.spec, "--no-verify", "--no-guard")
    assert done.code == 0, done.err
    prefix = envkit.home / "envs" / ENV
    assert not (prefix / "pip.conf").exists()
    assert not (prefix / "etc").exists()
    assert envkit("info", ENV, "--json").json["environment"]["guard"] is False
    assert "none (--no-guard)" in envkit("info", ENV).out
    done = by_hand(prefix, install("uv", "numpy==2.0.0"))
    assert done.returncode == 0, done.stderr
    # and the choice goes with it
    done = envkit("restore", ENV, "--replace", "--no-verify", "--json")
    assert done.json["environment"]["guard"] is False


def test_the_guard_is_part_of_the_environment(envkit, made):
    assert envkit("info", made, "--json").json["environment"]["guard"] is True
    assert "keep the locked versions" in envkit("info", made).out
    text = (made / ".envkit" / "constraints.txt").read_text()
    assert text == "numpy==1.21.5\npip==22.0\ntorch==1.12.1+cu113\n"
    assert (made / ".envkit" / "constraints-pip.txt").read_text() == "numpy==1.21.5\ntorch==1.12.1+cu113\n"
    removed = envkit("remove", made, "--yes")
    assert removed.code == 0
    assert "no package owns" not in removed.err


def test_hooks_of_the_toolkit_come_and_go_without_the_guard_s(envkit, made, tmp_path):
    (tmp_path / "cuda" / "bin").mkdir(parents=True)
    (tmp_path / "cuda" / "bin" / "nvcc").write_text("#!/bin/sh\necho 'Cuda compilation tools, release 11.3, V11.3.1'\n")
    (tmp_path / "cuda" / "bin" / "nvcc").chmod(0o755)
    (tmp_path / "cuda" / "version.json").write_text('{"cuda": {"version": "11.3.1"}}')
    installed = envkit("hooks", "install", made, "--toolkit", tmp_path / "cuda")
    assert installed.code == 0, installed.err
    assert envkit("hooks", "remove", made).code == 0
    left = sorted(str(path.relative_to(made / "etc/conda")) for path in (made / "etc/conda").rglob("*.*h"))
    assert left == [
        f"{way}.d/envkit-guard.{end}" for way in ("activate", "deactivate") for end in ("csh", "fish", "sh")
    ]


def test_run_sets_the_constraint_and_envkit_s_own_calls_do_not_see_it(envkit, made, project):
    shown = envkit("run", made, "--", "sh", "-c", 'echo "$UV_CONSTRAINT"')
    assert shown.out.strip().endswith("constraints.txt")
    other = made.parent / "other"
    environ = {"UV_CONSTRAINT": "/nowhere/at all.txt", "PIP_CONSTRAINT": "/nowhere.txt"}
    for engine in ("uv", "pip"):
        done = envkit(
            "create", project.spec, "--no-verify", "--prefix", other, "--engine", engine, "--replace", env=environ
        )
        assert done.code == 0, done.err


def test_the_settings_of_the_prefix_do_not_disturb_the_pip_engine_or_the_check(envkit, project, tmp_path):
    prefix = tmp_path / "by pip"
    done = envkit("create", project.spec, "--no-verify", "--prefix", prefix, "--engine", "pip")
    assert done.code == 0, done.err
    (prefix / ".envkit" / "constraints-pip.txt").unlink()  # pip would refuse anything now
    done = envkit("restore", prefix, "--no-verify", "--replace")
    assert done.code == 0, done.err
    told = subprocess.run(
        [prefix / "bin" / "python", prefix / "check_env.py", "--help"], capture_output=True, check=False
    )
    assert told.returncode == 0


def test_a_guard_that_was_lost_is_put_right(envkit, made):
    before = tree(made)
    (made / "pip.conf").unlink()
    (made / ".envkit" / "constraints.txt").write_text("")
    (made / "etc" / "conda" / "activate.d" / "envkit-guard.sh").unlink()
    done = envkit("hooks", "install", made)
    assert done.code == 0, done.err
    assert "The guard's hooks and files are written again" in done.err
    assert tree(made) == before
    assert envkit("hooks", "install", made).code == 9  # nothing is wrong with the guard, and there is no toolkit


def test_the_user_s_own_pip_conf_is_told_and_kept(envkit, made):
    (made / "pip.conf").write_text("[global]\ntimeout = 5\n")
    done = envkit("hooks", "install", made)
    assert done.code == 0, done.err
    assert "is not envkit's and stays as it is" in done.err
    assert (made / "pip.conf").read_text() == "[global]\ntimeout = 5\n"
    assert f"no package owns {made / 'pip.conf'}" in envkit("remove", made).err
    assert (made / "pip.conf").exists()


def test_without_guard_hooks_install_makes_none(envkit, project):
    assert envkit("create", project.spec, "--no-verify", "--no-guard").code == 0
    assert envkit("hooks", "install", ENV).code == 9
    assert not (envkit.home / "envs" / ENV / "pip.conf").exists()
