"""Real shells, stand-in toolkits, and conda's order of events replayed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from envkit.activation import attach_hooks, install_hooks, quote_csh, quote_fish, quote_posix
from envkit.model.host_compiler import HostCompiler
from envkit.model.toolkit import Toolkit
from tests.support.programs import stub_gcc

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ENV_PROGRAM = "/usr/bin/env"
# What shells themselves change from one command to the next; the last ones are exported only under `set -a`.
PER_SHELL = {"_", "SHLVL", "OLDPWD", "PWD", "LINENO", "EPOCHREALTIME", "EPOCHSECONDS", "SECONDS", "RANDOM", "SRANDOM"}


@dataclass(frozen=True)
class Result:
    returncode: int
    stdout: str
    stderr: str
    dumps: tuple[dict[str, str], ...]


@dataclass(frozen=True)
class Shell:
    """How to start a shell, and how to say a few things in its language."""

    name: str
    argv: tuple[str, ...]
    extension: str
    quote: Callable[[str], str]

    @property
    def hook_extension(self) -> str:
        """Of the files in activate.d that it runs."""
        return self.extension

    def source(self, path: Path) -> str:
        """Source a file and complain on stdout when its status is not 0."""
        if self.extension == "fish":
            return f"source {self.quote(str(path))}; or echo bad status\n"
        if self.extension == "csh":
            return f"source {self.quote(str(path))}\nif ($status != 0) echo bad status\n"
        return f'. {self.quote(str(path))}\n[ "$?" = 0 ] || echo bad status\n'

    def export(self, name: str, value: str) -> str:
        if self.extension == "fish":
            return f"set -gx {name} {self.quote(value)}\n"
        if self.extension == "csh":
            return f"setenv {name} {self.quote(value)}\n"
        return f"export {name}={self.quote(value)}\n"

    def export_path(self, path: list[str]) -> str:
        if self.extension == "fish":
            return "set -gx PATH " + " ".join(map(self.quote, path)) + "\n"
        return self.export("PATH", ":".join(path))

    def prepend(self, entry: str) -> str:
        """Put an entry in front of PATH."""
        if self.extension == "fish":
            return f"set -gx PATH {self.quote(entry)} $PATH\n"
        if self.extension == "csh":
            return f'setenv PATH {self.quote(entry)}":$PATH:q"\n'
        return f'export PATH={self.quote(entry)}":$PATH"\n'

    @property
    def script(self) -> str:
        """The activation script of a virtual environment."""
        return "activate" if self.extension == "sh" else f"activate.{self.extension}"

    def unset(self, name: str) -> str:
        return {"fish": "set -eg", "csh": "unsetenv"}.get(self.extension, "unset -v") + f" {name}\n"

    def dump(self, file: Path) -> str:
        return f"{ENV_PROGRAM} -0 > {self.quote(str(file))}\n"

    def show(self, names: tuple[str, ...], file: Path) -> str:
        """As ``dump``, for some variables and without starting a program (tcsh cannot); unset ones are left out."""
        if self.extension == "csh":
            return self.dump(file)
        if self.extension == "fish":
            shown = "".join(f"set -q {name}; and printf '%s\\0' \"{name}=${name}\"\n" for name in names)
            return f"begin\n{shown}end > {self.quote(str(file))}\n"
        words = " ".join(f'"${{{name}+{name}=}}${{{name}-}}"' for name in names)
        return f"\\printf '%s\\0' {words} > {self.quote(str(file))}\n"

    def run(self, script: str, env: dict[str, str], folder: Path, options: tuple[str, ...] = ()) -> Result:
        """Run a script; each line ``DUMP`` in it records the whole exported environment."""
        folder.mkdir(exist_ok=True, parents=True)
        text = ""
        count = 0
        for line in script.splitlines():
            if line.strip() == "DUMP":
                text += self.dump(folder / f"dump{count}")
                count += 1
            else:
                text += line + "\n"
        file = folder / f"script.{self.extension}"
        file.write_text(text, encoding="utf-8")
        child = subprocess.Popen(
            [*self.argv, *options, file],
            env=env,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, err = child.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)  # with all that it has started
            child.communicate()
            raise
        dumps = tuple(read_dump(folder / f"dump{number}") for number in range(count))
        return Result(child.returncode, out.decode(), err.decode(), dumps)


class Xonsh(Shell):
    """Only in a ``Session``. It knows hooks by conda's way alone: bash runs them, and xonsh takes over the variables.

    Source of the words: conda/activate.py, ``XonshActivator``, at commit 0f64223f.
    """

    @property
    def hook_extension(self) -> str:
        return "sh"

    def source(self, path: Path) -> str:
        return f'source-bash --suppress-skip-message -n "{path}"\n'

    def export(self, name: str, value: str) -> str:
        return f"${name} = {value!r}\n"

    def unset(self, name: str) -> str:
        return f"if {name!r} in ${{...}}:\n    del ${name}\n"


def read_dump(file: Path) -> dict[str, str]:
    if not file.exists():
        return {}
    entries = (os.fsdecode(item).partition("=") for item in file.read_bytes().split(b"\0") if item)
    return {name: value for name, _, value in entries if name not in PER_SHELL}


SHELLS = {
    shell.name: shell
    for shell in (
        Shell("bash", ("bash", "--norc", "--noprofile"), "sh", quote_posix),
        Shell("dash", ("dash",), "sh", quote_posix),
        Shell("zsh", ("zsh", "-f"), "sh", quote_posix),
        Shell("fish", ("fish", "--no-config"), "fish", quote_fish),
        Shell("tcsh", ("tcsh", "-f"), "csh", quote_csh),
        Xonsh("xonsh", ("xonsh", "--no-rc"), "xsh", repr),
    )
}


def get_shell(name: str) -> Shell:
    if name == "xonsh":
        pytest.importorskip("xonsh")
        return replace(SHELLS[name], argv=(sys.executable, "-m", *SHELLS[name].argv))
    program = shutil.which(name)
    if program is None:
        pytest.skip(f"{name} is not installed")
    return replace(SHELLS[name], argv=(program, *SHELLS[name].argv[1:]))  # some tests have no usable PATH


@pytest.fixture(params=["bash", "dash", "zsh", "fish", "tcsh"])
def shell(request) -> Shell:
    return get_shell(request.param)


@pytest.fixture(params=["bash", "dash", "zsh"])
def posix_shell(request) -> Shell:
    return get_shell(request.param)


@pytest.fixture
def every_shell() -> list[Shell]:
    return [get_shell(name) for name in SHELLS if name != "xonsh" and shutil.which(name)]


@pytest.fixture
def shell_named():
    return get_shell


@pytest.fixture
def base_env(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LC_ALL": "C.UTF-8", "TERM": "dumb"}


@pytest.fixture
def make_toolkit(tmp_path: Path):
    def _make(release: str, parent: Path | None = None) -> Toolkit:
        path = (parent or tmp_path / "tk") / f"cuda-{release}"
        for folder in ("bin", "lib64", "include"):
            (path / folder).mkdir(parents=True)
        nvcc = path / "bin" / "nvcc"
        nvcc.write_text(f"#!/bin/sh\necho 'Cuda compilation tools, release {release}, V{release}.109'\n")
        nvcc.chmod(0o755)
        return Toolkit(release, release, path, "test", has_nvcc=True)

    return _make


@pytest.fixture
def make_host_compiler(tmp_path: Path):
    """A gcc and its g++ by name, which are stand-ins: no hook starts them."""

    def _make(version: int, folder: Path | None = None) -> HostCompiler:
        return HostCompiler(f"gcc-{version}", f"g++-{version}", stub_gcc(folder or tmp_path / "gcc", version))

    return _make


@pytest.fixture
def make_prefix(tmp_path: Path):
    """A conda prefix as far as activation is concerned; without a toolkit an unmanaged one."""

    def _make(name: str, toolkit: Toolkit | None = None, *, parent: Path | None = None, **options) -> Path:
        prefix = (parent or tmp_path / "envs") / name
        (prefix / "bin").mkdir(parents=True)
        (prefix / "conda-meta").mkdir()
        (prefix / "conda-meta" / "history").touch()
        if toolkit is not None:
            install_hooks(prefix, slot="CONDA", toolkit=toolkit, **options)
        return prefix

    return _make


VENV_COMMANDS = {
    "venv": ("-m", "venv", "--without-pip"),
    "virtualenv": ("-m", "virtualenv", "--no-download", "--quiet", "--no-seed"),
    "uv": ("-m", "uv", "venv", "--quiet", "--offline"),
}


@pytest.fixture(scope="session")
def make_venv():
    def _make(kind: str, prefix: Path, toolkit: Toolkit | None = None, *, attach=True, **options) -> Path:
        command = [sys.executable, *VENV_COMMANDS[kind]]
        if kind == "uv":
            command += ["--python", sys.executable]
        subprocess.run([*command, prefix], check=True, capture_output=True, timeout=120)
        install_hooks(prefix, slot="VENV", toolkit=toolkit, **options)
        if attach:
            attach_hooks(prefix)
        return prefix

    return _make


@dataclass
class Session:
    """One running shell that is told one thing at a time, so that conda's part can be computed from its state."""

    shell: Shell
    env: dict[str, str]
    folder: Path
    count: int = 0
    stdout: str = ""
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._start()

    def _start(self) -> None:
        argv: tuple[str, ...] = (*self.shell.argv, "-s")
        if self.shell.extension == "fish":  # fish reads all of stdin before it starts
            argv = (*self.shell.argv, "-c", "while read -l line; source $line; end")
        if self.shell.extension == "xsh":
            argv = (*self.shell.argv, "-c", "for line in iter(input, ''):\n    source @(line)\n")
        with (self.folder / "stderr").open("ab") as errors:
            self.process = subprocess.Popen(
                argv, env=self.env, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
            )

    def move_to_a_new_window(self) -> None:
        """Start the shell anew, as a terminal does that is opened from this one: with the exported variables."""
        self.env = self.do("")
        self.close()
        self._start()

    def do(self, text: str, only: tuple[str, ...] = ()) -> dict[str, str]:
        """Run text and give the exported environment after it, or only some variables, which is quicker."""
        self.count += 1  # two files in turn: the shell may not have read the end of the last one yet
        dump, file = self.folder / "dump", self.folder / f"step{self.count % 2}.{self.shell.extension}"
        dump.unlink(missing_ok=True)
        show = self.shell.show(only, dump) if only else self.shell.dump(dump)
        done = "print('done', flush=True)" if self.shell.extension == "xsh" else "echo done"
        file.write_text(f"{text}{show}{done}\n", encoding="utf-8")
        sourcing = {"fish": "", "xsh": "", "csh": "source "}.get(self.shell.extension, ". ")
        line = str(file) if not sourcing else sourcing + self.shell.quote(str(file))
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        while (said := self.process.stdout.readline()) != b"done\n":
            if not said:
                raise AssertionError(f"{self.shell.name} ended: {self.stderr()}")
            self.stdout += said.decode()
        return read_dump(dump)

    def stderr(self) -> str:
        return (self.folder / "stderr").read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        if self.shell.extension == "xsh":
            self.process.stdin.write(b"\n")
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()


@dataclass
class CondaReplay:
    """conda 26's order of events: all text is computed from the shell's state before any of it runs."""

    session: Session
    history: list[tuple[Path, bool]] = field(default_factory=list)  # (prefix, stacked), top last
    environment: dict[str, str] = field(default_factory=dict)
    watched: tuple[str, ...] = ()  # where not empty, ``environment`` has these variables alone

    def __post_init__(self) -> None:
        self.environment = self.session.do("")

    @property
    def active(self) -> Path | None:
        return self.history[-1][0] if self.history else None

    def activate(self, prefix: Path, *, stack: bool = False) -> dict[str, str]:
        if self.active == prefix:
            return self._switch(prefix, prefix)
        old = self.active
        self.history.append((prefix, stack and old is not None))
        if old is None or stack:
            text = self.export_path([f"{prefix}/bin", *self.path()]) + self._conda_variables()
            return self._run(text + self._scripts(prefix, "activate"))
        return self._switch(old, prefix)

    def reactivate(self) -> dict[str, str]:
        return self._switch(self.active, self.active)

    def _switch(self, old: Path, new: Path) -> dict[str, str]:
        path = self._replaced(old, new)
        text = self._scripts(old, "deactivate") + self.export_path(path) + self._conda_variables()
        return self._run(text + self._scripts(new, "activate"))

    def deactivate(self) -> dict[str, str]:
        old, stacked = self.history.pop()
        below = self.active
        path = self._replaced(old, None if below is None or stacked else below)
        text = self.export_path(path) + self._scripts(old, "deactivate") + self._conda_variables()
        return self._run(text + (self._scripts(below, "activate") if below else ""))

    def edit(self, text: str) -> dict[str, str]:
        return self._run(text)

    def _run(self, text: str) -> dict[str, str]:
        self.environment = self.session.do(text, self.watched)
        return self.environment

    def path(self) -> list[str]:
        return self.environment["PATH"].split(":")

    def move_to_a_new_window(self) -> None:
        self.session.move_to_a_new_window()

    def _replaced(self, old: Path, new: Path | None) -> list[str]:
        path = self.path()
        at = 0
        if f"{old}/bin" in path:
            at = path.index(f"{old}/bin")
            del path[at]
        return path if new is None else [*path[:at], f"{new}/bin", *path[at:]]

    def export_path(self, path: list[str]) -> str:
        return self.session.shell.export_path(path)

    def _conda_variables(self) -> str:
        shell = self.session.shell
        text = shell.export("CONDA_SHLVL", str(len(self.history)))
        if self.history:
            return text + shell.export("CONDA_PREFIX", str(self.active))
        # In POSIX shells conda unsets by exporting an empty value.
        return text + (shell.export("CONDA_PREFIX", "") if shell.extension == "sh" else shell.unset("CONDA_PREFIX"))

    def _scripts(self, prefix: Path, direction: str) -> str:
        folder = prefix / "etc" / "conda" / f"{direction}.d"
        files = sorted(folder.glob(f"*.{self.session.shell.hook_extension}"), reverse=direction == "deactivate")
        return "".join(map(self.session.shell.source, files))


@pytest.fixture
def start_session(tmp_path: Path, base_env):
    sessions: list[Session] = []

    def _start(shell: Shell, env: dict[str, str] | None = None) -> Session:
        sessions.append(Session(shell, base_env if env is None else env, tmp_path / f"session{len(sessions)}"))
        return sessions[-1]

    yield _start
    for session in sessions:
        session.close()


@pytest.fixture
def start_conda(start_session):
    def _start(shell: Shell, env: dict[str, str] | None = None) -> CondaReplay:
        return CondaReplay(start_session(shell, env))

    return _start
