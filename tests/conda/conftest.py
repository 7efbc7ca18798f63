"""A real conda, for tests of what only it can show. Skipped where there is none.

``ENVKIT_TEST_CONDA`` names the program, else the first ``conda`` on PATH is taken. It is never changed: each test has
its own home, folder of environments and package cache. All tests in this folder have the marker ``conda``.

``conda("info", "--json")``
    runs it as a program and gives how it ended (``code``, ``out``, ``err``, ``json``); ``check=True`` asserts that it
    ended with 0. ``conda.envs`` is where it makes environments by name, ``conda.environ`` has the variables that
    make it the test's own: ``envkit(..., env=conda.environ)`` sees the same conda.
``conda_shell("bash", "conda activate a\\nDUMP\\n")``
    runs a script in a real shell (bash, zsh, dash, fish, tcsh) that knows conda's own function ``conda``; each line
    ``DUMP`` records the exported variables, in ``dumps`` of what it gives.
``start_conda("fish")``
    one running shell that is told one thing at a time: ``activate(prefix, stack=True)``, ``deactivate()``,
    ``reactivate()``, ``edit(text)`` each give the exported variables afterwards.
``make_prefix("A", toolkit)``, ``make_toolkit("11.3")``
    a conda prefix as far as activation is concerned, with envkit's hooks for a stand-in toolkit.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import Run
from tests.integration.conftest import conda_channels  # noqa: F401 - a fixture
from tests.shells.conftest import (  # noqa: F401 - fixtures
    Result,
    Session,
    Shell,
    get_shell,
    make_prefix,
    make_toolkit,
    make_venv,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = Path(__file__).parent
TIMEOUT_S = 300
SHELLS = ("bash", "zsh", "fish", "tcsh")
OF_CONDA = ("CONDA", "_CONDA", "_CE_", "__conda", "prompt")
"""What conda's own variables begin with."""


def pytest_collection_modifyitems(items) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.conda)


@pytest.fixture(scope="session")
def conda_program() -> Path:
    """The program, or a skip."""
    named = os.environ.get("ENVKIT_TEST_CONDA") or shutil.which("conda")
    if not named or not Path(named).is_file():
        pytest.skip("there is no conda here (ENVKIT_TEST_CONDA, PATH)")
    return Path(named).absolute()


@dataclass
class Conda:
    """The program with a home of its own."""

    program: Path
    home: Path
    shared: Path
    hooks: Mapping[str, Path] = field(default_factory=dict)

    @property
    def envs(self) -> Path:
        """Where it makes environments by name."""
        return self.home / "conda" / "envs"

    @property
    def environ(self) -> dict[str, str]:
        """Variables, for programs that are to see the same conda."""
        return {
            "CONDA_ENVS_DIRS": str(self.envs),
            "CONDA_PKGS_DIRS": str(self.shared / "conda-pkgs"),
            "CONDA_NUMBER_CHANNEL_NOTICES": "0",
            "CONDA_NOTIFY_OUTDATED_CONDA": "false",
            "CONDA_REPORT_ERRORS": "false",
            "CONDA_AUTO_ACTIVATE": "false",
            "PATH": f"{self.program.parent}{os.pathsep}{os.environ['PATH']}",
        }

    def __call__(
        self, *arguments: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None, check: bool = False
    ) -> Run:
        """Run it to its end."""
        done = subprocess.run(
            [self.program, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**os.environ, **self.environ, **(env or {})},
            cwd=cwd or self.home,
            timeout=TIMEOUT_S,
            check=False,
        )
        run = Run(done.returncode, done.stdout.decode(), done.stderr.decode())
        assert not check or run.code == 0, run.err
        return run


@pytest.fixture
def conda(conda_program, shared_folder, tmp_path) -> Conda:
    """conda as a program, with the test's own home."""
    return Conda(conda_program, Path(os.environ["HOME"]), shared_folder)


@pytest.fixture(scope="session")
def hook_of(conda_program, tmp_path_factory, make_environment):
    """conda's own shell functions, as ``conda init`` would have a shell read them: a file for each kind of shell."""
    folder = tmp_path_factory.mktemp("conda-hooks")
    environment = {**make_environment(folder / "home"), "CONDA_AUTO_ACTIVATE": "false"}  # not into base
    made: dict[str, Path] = {}

    def _of(shell: Shell) -> Path:
        kind = {"sh": "posix"}.get(shell.extension, shell.extension)
        if kind not in made:
            done = subprocess.run(
                [conda_program, f"shell.{kind}", "hook"], env=environment, capture_output=True, check=True, timeout=60
            )
            made[kind] = folder / f"hook.{shell.extension}"
            made[kind].write_bytes(done.stdout + b"\n")
        return made[kind]

    return _of


def variables_of(conda: Conda, **changes: str) -> dict[str, str]:
    """What a shell starts with: little, so that what conda and envkit add is easy to see."""
    plain = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": str(conda.home),
        "LC_ALL": "C.UTF-8",
        "TERM": "dumb",
        "CONDA_CHANGEPS1": "false",
    }
    return {**conda.environ, **plain, **changes}


def ready(shell: Shell, hook: Path) -> str:
    """Text that makes conda's function known; tcsh has no prompt where nobody looks."""
    prompt = "set prompt = ''\n" if shell.extension == "csh" else ""
    return prompt + shell.source(hook)


@pytest.fixture
def conda_shell(conda, hook_of, tmp_path):
    """Runs a script in a real shell in which ``conda activate`` works."""
    count = 0

    def _run(name: str, script: str, *, env: Mapping[str, str] | None = None, options: tuple[str, ...] = ()) -> Result:
        nonlocal count
        count += 1
        shell = get_shell(name)
        variables = variables_of(conda, **(env or {}))
        return shell.run(ready(shell, hook_of(shell)) + script, variables, tmp_path / f"shell{count}", options)

    return _run


@dataclass
class RealConda:
    """A running shell with conda's own function; the same calls as ``CondaReplay`` of ``tests/shells``."""

    session: Session
    hook: Path
    history: list[tuple[Path, bool]] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    watched: tuple[str, ...] = ()  # where not empty, ``environment`` has these variables alone

    def __post_init__(self) -> None:
        self.edit(ready(self.session.shell, self.hook))

    @property
    def active(self) -> Path | None:
        return self.history[-1][0] if self.history else None

    def activate(self, prefix: Path, *, stack: bool = False) -> dict[str, str]:
        if self.active != prefix:
            self.history.append((prefix, stack and self.active is not None))
        option = "--stack " if stack else ""
        return self.edit(f"conda activate {option}{self.session.shell.quote(str(prefix))}\n")

    def reactivate(self) -> dict[str, str]:
        return self.activate(self.active)

    def deactivate(self) -> dict[str, str]:
        self.history.pop()
        return self.edit("conda deactivate\n")

    def edit(self, text: str) -> dict[str, str]:
        self.environment = self.session.do(text, self.watched)
        return self.environment

    def path(self) -> list[str]:
        return self.environment["PATH"].split(":")

    def export_path(self, path: list[str]) -> str:
        return self.session.shell.export_path(path)

    def move_to_a_new_window(self) -> None:
        if self.session.shell.extension != "csh":  # conda.csh sets CONDA_SHLVL to 0 there
            self.session.move_to_a_new_window()
            self.edit(ready(self.session.shell, self.hook))


@pytest.fixture
def start_conda(conda, hook_of, tmp_path):
    """Starts a shell in which conda is told one thing at a time."""
    started: list[Session] = []

    def _start(name: str, env: Mapping[str, str] | None = None) -> RealConda:
        shell = get_shell(name)
        started.append(Session(shell, variables_of(conda, **(env or {})), tmp_path / f"session{len(started)}"))
        return RealConda(started[-1], hook_of(shell))

    yield _start
    for session in started:
        session.close()


def without_conda(environment: Mapping[str, str]) -> dict[str, str]:
    """The exported variables that are not conda's own, and PATH without its ``condabin``."""
    path = ":".join(entry for entry in environment["PATH"].split(":") if not entry.endswith("/condabin"))
    return {**{name: value for name, value in environment.items() if not name.startswith(OF_CONDA)}, "PATH": path}
