"""Every test has its own home, cache and configuration, and leaves the process as it found it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import filelock
import pytest

from tests.support.forks import run_envkit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PIP_CONFIG_HOME = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
REAL_PYTHONS = {
    "PYENV_ROOT": os.environ.get("PYENV_ROOT") or str(Path.home() / ".pyenv"),
    "UV_PYTHON_INSTALL_DIR": os.environ.get("UV_PYTHON_INSTALL_DIR")
    or str(Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "uv" / "python"),
}
"""Where this machine's Pythons lie; found through the home folder, so settled before a test has another one."""

FOREIGN = re.compile(
    r"CUDA_|NVIDIA_|NVCC|CONDA|_CONDA|_CE_|MAMBA|RATTLER_|VIRTUAL_?ENV|LD_LIBRARY_PATH|LD_PRELOAD|PYTHONPATH|PYTHONHOME|PYTHONUSERBASE|"
    r"ENVKIT_(?!TEST_)|_ENVKIT_|_OLD_VIRTUAL|XDG_|NO_COLOR|FORCE_COLOR|CLICOLOR|COLUMNS|LINES|SHELL$"
)
"""Variables of whoever runs the tests that would change what envkit does."""

INDEX = re.compile(r"PIP_|UV_(?!PYTHON_INSTALL_DIR)")
"""Where this machine gets packages from: only for tests that need an index beyond it (marker ``network``)."""

OF_THE_RUNNER = re.compile(r"PYTEST_|COV_|COVERAGE_")
"""Variables that pytest and coverage change by themselves."""


def pytest_configure() -> None:
    """A shell starts background jobs with SIGINT ignored, nohup with SIGHUP, and children inherit that.

    No test of Ctrl-C or of a closed terminal would work.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    hangup = getattr(signal, "SIGHUP", None)  # not on Windows
    if hangup is not None and signal.getsignal(hangup) is signal.SIG_IGN:
        signal.signal(hangup, signal.SIG_DFL)


def environment_for(home: Path, shared: Path, *, network: bool) -> dict[str, str]:
    """The variables of a test with the home folder ``home``.

    Args:
        home: new; gets the folders that the variables name.
        shared: caches that all tests of a run share.
        network: whether this machine's settings for package indexes count.
    """
    drop = FOREIGN if network else re.compile(f"{FOREIGN.pattern}|{INDEX.pattern}")
    environment = {name: value for name, value in os.environ.items() if not drop.match(name)}
    folders = {
        "HOME": home,
        "USERPROFILE": home,
        "ENVKIT_HOME": home / "envkit",
        "XDG_CACHE_HOME": home / ".cache",
        "XDG_CONFIG_HOME": home / ".config",
        "XDG_DATA_HOME": home / ".local" / "share",
        "XDG_STATE_HOME": home / ".local" / "state",
    }
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    if network and (PIP_CONFIG_HOME / "pip").is_dir():
        shutil.copytree(PIP_CONFIG_HOME / "pip", folders["XDG_CONFIG_HOME"] / "pip", dirs_exist_ok=True)
    environment |= REAL_PYTHONS | {name: str(folder) for name, folder in folders.items()}
    environment |= {
        "ENVKIT_CONFIG": str(folders["XDG_CONFIG_HOME"] / "envkit" / "config.yaml"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "SHELL": "/bin/sh",
        "RATTLER_CACHE_DIR": str(shared / "rattler"),
        "UV_CACHE_DIR": str(shared / "uv"),
        "VIRTUALENV_OVERRIDE_APP_DATA": str(shared / "virtualenv"),
    }
    if not network:
        environment["XDG_CONFIG_DIRS"] = str(home / "no-site-configuration")
    return environment


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all tests of this run share, those in other xdist processes too."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def make_environment(shared_folder: Path):
    """Makes variables as a test has them, for fixtures that outlive a test: ``make_environment(home)``."""

    def make(home: Path, *, network: bool = False) -> dict[str, str]:
        home.mkdir(parents=True, exist_ok=True)
        return environment_for(home, shared_folder, network=network)

    return make


@pytest.fixture(scope="session")
def real_toolkit_132(shared_folder: Path, make_environment) -> Path:
    """A real CUDA 13.2 by `envkit cuda install 13.2`: once per run, from the configured index; not to be changed.

    For tests marked ``network``.
    """
    home = shared_folder / "toolkit-132"
    with filelock.FileLock(shared_folder / "toolkit-132.lock"):
        command = [sys.executable, "-m", "envkit", "cuda", "install", "13.2", "--json"]
        variables = make_environment(home, network=True)
        done = subprocess.run(command, env=variables, cwd=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return Path(json.loads(done.stdout)["toolkit"]["path"])


@pytest.fixture
def shared_pip(shared_folder: Path) -> None:
    """The pip that envkit has unpacked, and Python compiled, is that of all tests of this run."""
    shared, own = shared_folder / "pip", Path(os.environ["ENVKIT_HOME"]) / "cache" / "pip"
    shared.mkdir(exist_ok=True)
    own.parent.mkdir()
    own.symlink_to(shared)


@pytest.fixture(autouse=True)
def _isolated(request: pytest.FixtureRequest, make_environment, tmp_path: Path) -> Iterator[None]:
    """Its own home, cache and configuration for the test; the test fails when it changes folder or variables."""
    network = request.node.get_closest_marker("network") is not None
    before = dict(os.environ)
    given = make_environment(tmp_path / ".own", network=network)
    _set_environment(given)
    folder = Path.cwd()
    yield
    now_in = Path.cwd()
    os.chdir(folder)
    changed = sorted(
        name
        for name in given.keys() | os.environ.keys()
        if given.get(name) != os.environ.get(name) and not OF_THE_RUNNER.match(name)
    )
    _set_environment(before)
    assert now_in == folder, f"the test left the process in {now_in}"
    assert not changed, f"the test changed variables of the process: {', '.join(changed)}"


def _set_environment(variables: Mapping[str, str]) -> None:
    for name in os.environ.keys() - variables.keys():
        if not OF_THE_RUNNER.match(name):
            del os.environ[name]
    os.environ.update({name: value for name, value in variables.items() if not OF_THE_RUNNER.match(name)})


@dataclass(frozen=True)
class Run:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout."""
        value = json.loads(self.out)
        assert isinstance(value, dict)
        return value


@dataclass
class Envkit:
    """The command ``envkit`` as a program: ``envkit("create", spec).code``.

    Attributes:
        cwd: the folder it starts in, one of the test's own.
        home: ENVKIT_HOME.
        environ: variables, as the test has them; a call's ``env`` changes some (None removes).
    """

    cwd: Path
    home: Path
    environ: dict[str, str] = field(default_factory=dict)

    def __call__(
        self,
        *arguments: str | Path,
        env: Mapping[str, str | None] | None = None,
        cwd: Path | None = None,
        stdin: str = "",
        timeout_s: float = 300,
    ) -> Run:
        """Run it to its end; standard input is no terminal and empty."""
        done = run_envkit(
            [str(argument) for argument in arguments],
            env=self.variables(env),
            cwd=self.cwd if cwd is None else cwd,
            stdin=stdin,
            timeout_s=timeout_s,
        )
        return Run(done.returncode, done.stdout, done.stderr)

    def argv(self, *arguments: str | Path) -> list[str]:
        """The command line, for tests that start it themselves."""
        return [sys.executable, "-m", "envkit", *map(str, arguments)]

    def variables(self, env: Mapping[str, str | None] | None = None) -> dict[str, str]:
        """All variables: the process's as they are now, changed by ``env``."""
        changed = {**os.environ, **self.environ, **(env or {})}
        return {name: value for name, value in changed.items() if value is not None}


@pytest.fixture
def envkit(tmp_path: Path) -> Envkit:
    """Runs the command line as a program."""
    folder = tmp_path / "cwd"
    folder.mkdir()
    return Envkit(folder, Path(os.environ["ENVKIT_HOME"]))
