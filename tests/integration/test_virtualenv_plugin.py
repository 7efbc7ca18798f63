"""virtualenv beside envkit: ``--cuda`` makes environments that switch, all others are what they are without envkit."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import virtualenv

import envkit
from envkit.model.progress import Silent
from envkit.operations.hooks import show_hooks, uninstall_hooks
from tests.integration.test_hooks_unmanaged import SHELLS, cuda_home, everything
from tests.support.toolkits import stub_toolkit

if TYPE_CHECKING:
    from collections.abc import Iterator

QUICK = ("--no-seed", "--no-periodic-update")


def make(*words: str | Path) -> None:
    """Run virtualenv in this process: the same as its command, but for the messages of a failure."""
    virtualenv.cli_run([*QUICK, *map(str, words)], setup_logging=False)


def run(*words: str | Path, program: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run virtualenv as a program, by default the one beside envkit."""
    command = [program or sys.executable, "-m", "virtualenv", *QUICK, *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **variables}, cwd=os.environ["HOME"], check=False
    )


def packages_of(name: str) -> set[str]:
    """The top entries of site-packages that a distribution and what it needs consist of."""
    found = {path.parts[0] for path in distribution(name).files or () if path.parts[0] != ".."}
    for requirement in distribution(name).requires or ():
        if "extra ==" not in requirement:
            needed = requirement.split(";")[0].split("<")[0].split(">")[0].split("=")[0].split("!")[0].strip()
            try:
                found |= packages_of(needed)
            except ModuleNotFoundError:  # for another Python
                continue
    return found


@pytest.fixture(scope="session")
def without_envkit(tmp_path_factory, make_environment) -> Path:
    """A Python that has virtualenv, and no envkit."""
    folder = tmp_path_factory.mktemp("plain")
    variables = make_environment(folder / "home")
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True, env=variables, capture_output=True
    )
    (site,) = (folder / "venv").glob("lib/python3*/site-packages")
    for name in packages_of("virtualenv"):
        (site / name).symlink_to(Path(virtualenv.__file__).parents[1] / name)
    python = folder / "venv" / "bin" / "python"
    assert subprocess.run([python, "-c", "import envkit"], cwd=folder, check=False, capture_output=True).returncode == 1
    return python


@pytest.fixture
def toolkit(tmp_path, monkeypatch) -> Path:
    """A toolkit that is found by its release, 98.7."""
    folder = stub_toolkit(tmp_path / "kits" / "cuda-98.7", "98.7")
    monkeypatch.setenv("CUDA_PATH", str(folder))
    return folder


@pytest.fixture
def configure():
    """Writes the user's config.yaml."""

    def _write(text: str) -> None:
        path = Path(os.environ["ENVKIT_CONFIG"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return _write


@contextlib.contextmanager
def envkit_beside(python: Path) -> Iterator[None]:
    """Put envkit into the environment of a Python while the block runs."""
    (site,) = python.parents[1].glob("lib/python3*/site-packages")
    info = next(Path(folder) for folder in map(Path, sys.path) if list(folder.glob("conda_envkit-*.dist-info")))
    sources = [Path(envkit.__file__).parent, *info.glob("conda_envkit-*.dist-info")]
    for source in sources:
        (site / source.name).symlink_to(source)
    yield
    for source in sources:
        (site / source.name).unlink()


def test_without_the_option_it_is_what_it_is_without_envkit(without_envkit, tmp_path):
    place = tmp_path / "venv"
    done = run(place, program=without_envkit)
    assert done.returncode == 0, done.stderr
    plain = everything(place)
    shutil.rmtree(place)
    with envkit_beside(without_envkit):
        done = run(place, program=without_envkit)
        assert "--cuda" in run("--help", program=without_envkit).stdout  # the plugin is there
    assert (done.returncode, done.stderr) == (0, "")
    assert everything(place) == plain
    make(place, "--cuda", "none")
    assert everything(place).keys() == plain.keys()


def test_with_the_option_activation_switches(toolkit, tmp_path):
    place = tmp_path / "a venv"
    make(place)
    plain = everything(place)
    shutil.rmtree(place)
    make(place, "--cuda", "98.7")
    assert {item.state for item in show_hooks(str(place)).hooks} == {"current"}
    for shell in filter(shutil.which, SHELLS):
        assert cuda_home(place, shell) == str(toolkit), shell
    uninstall_hooks(str(place), Silent())
    assert everything(place) == plain


def test_a_toolkit_that_is_not_here_stops_it_before_anything_is_made(tmp_path):
    for variables in ({}, {"VIRTUALENV_CUDA": "99.9"}):
        words = [] if variables else ["--cuda", "99.9"]
        done = run(tmp_path / "venv", *words, **variables)
        assert done.returncode == 2
        assert "error: argument --cuda: There is no CUDA toolkit 99.9." in done.stderr
        assert not (tmp_path / "venv").exists()


def test_a_forgotten_value_is_told(tmp_path):
    done = run("--cuda", "v3", tmp_path / "venv")
    assert done.returncode == 2
    assert "--cuda wants a value before the folder: virtualenv --cuda 13.2 v3" in done.stderr


def test_what_is_switched_to_is_told(toolkit, tmp_path):
    done = run(tmp_path / "venv", "--cuda", "98.7")
    assert f"switches to CUDA 98.7 in {toolkit}" in done.stdout
    assert run(tmp_path / "quiet", "--quiet", "--cuda", "98.7").stdout == ""


def test_the_configuration(toolkit, configure, tmp_path, capfd):
    configure("schema: 1\nvirtualenv_cuda: '98.7'\n")
    make(tmp_path / "set")
    assert cuda_home(tmp_path / "set") == str(toolkit)
    make(tmp_path / "plain", "--cuda", "none")
    assert cuda_home(tmp_path / "plain") == ""
    assert not (tmp_path / "plain" / "etc").exists()
    assert capfd.readouterr().err == ""
    for number, text in enumerate(("schema: 1\nvirtualenv_cuda: '99.9'\n", "schema: [\n", "virtualenv_cuda: 11.3\n")):
        configure(text)
        make(place := tmp_path / f"warned{number}")
        assert capfd.readouterr().err.startswith("envkit: The setting virtualenv_cuda does not count. ")
        assert cuda_home(place) == ""
        assert not (place / "etc").exists()


def test_virtualenv_s_own_settings(toolkit, tmp_path, monkeypatch):
    (tmp_path / "virtualenv.ini").write_text("[virtualenv]\ncuda = 98.7\n")
    monkeypatch.setenv("VIRTUALENV_CONFIG_FILE", str(tmp_path / "virtualenv.ini"))
    make(tmp_path / "venv")
    assert cuda_home(tmp_path / "venv") == str(toolkit)


def states(place: Path) -> str:
    """CUDA_HOME of a user who has one: before, active, active again, after."""
    show = 'echo "$CUDA_HOME"'
    script = f'{show}; . "{place}/bin/activate"; {show}; . "{place}/bin/activate"; {show}; deactivate; {show}'
    environment = {"PATH": "/usr/bin:/bin", "HOME": os.environ["HOME"], "CUDA_HOME": "/opt/mine"}
    done = subprocess.run(["sh", "-eu", "-c", script], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_run_again_over_the_same_folder(toolkit, without_envkit, tmp_path, capfd):
    """EK-C27, with the plugin there, and with it gone in between."""
    place = tmp_path / "venv"
    make(place)
    scripts = sorted(path.name for path in (place / "bin").glob("*activate*"))
    make(place, "--cuda", "98.7")
    switching = ["/opt/mine", str(toolkit), str(toolkit), "/opt/mine"]
    for words in ([], ["--cuda", "98.7"], ["--cuda", str(toolkit)]):
        make(place, *words)
        assert sorted(path.name for path in (place / "bin").glob("*activate*")) == scripts
        assert states(place) == switching

    assert run(place, program=without_envkit).returncode == 0
    assert states(place) == ["/opt/mine"] * 4
    assert {item.state for item in show_hooks(str(place)).hooks} == {"current", "missing"}
    make(place)
    assert states(place) == switching
    make(place, "--cuda", "none")
    assert states(place) == ["/opt/mine"] * 4
    assert not (place / ".envkit").exists()
    make(place, "--cuda", "98.7")
    make(place, "--clear")
    assert states(place) == ["/opt/mine"] * 4
    assert capfd.readouterr().err == ""


def test_hooks_that_cannot_be_put_in(toolkit, tmp_path, capfd):
    place = tmp_path / "venv"
    make(place, "--cuda", "98.7")
    (place / ".envkit" / "hooks.json").write_text("{")
    make(place)
    assert "hooks.json" in capfd.readouterr().err
    shutil.rmtree(place)
    (place / "etc").mkdir(parents=True)
    (place / "etc" / "conda").write_text("in the way")
    done = run(place, "--cuda", "98.7")
    assert done.returncode == 1
    assert "switches no CUDA toolkit" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert not (place / ".envkit").exists()


def test_environments_of_envkit_are_left_alone(envkit, project, toolkit, configure, tmp_path):
    configure("schema: 1\nvirtualenv_cuda: '98.7'\n")
    other = stub_toolkit(tmp_path / "kits" / "cuda-11.3", "11.3")
    prefix = tmp_path / "own"
    words = ("create", project.spec, "--no-verify", "--engine", "pip", "--prefix", prefix, "--toolkit", other)
    done = envkit(*words, env={"VIRTUALENV_CUDA": "99.9"})
    assert done.code == 0, done.err
    assert cuda_home(prefix) == str(other)
    assert not (prefix / ".envkit" / "hooks.json").exists()
    make(prefix)  # over it, with new scripts
    assert cuda_home(prefix) == str(other)
    with pytest.raises(RuntimeError, match="envkit hooks install"):
        make(prefix, "--cuda", "98.7")


def test_loading_it_costs_nothing():
    code = (
        "import sys, virtualenv.run.plugin.activators, virtualenv.activation; known = set(sys.modules);"
        "import envkit.plugins.virtualenv; print(*sorted(set(sys.modules) - known))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["envkit", "envkit.plugins", "envkit.plugins.virtualenv"]
