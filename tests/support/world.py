"""A small world for rough treatment: stub wheels on a loopback index, envkit's folders, a tree that must not change.

It needs no pytest, so that a script can use it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.channel import Channel
from tests.support.conda_pythons import python_package
from tests.support.conda_torch import distribution
from tests.support.forks import run_envkit
from tests.support.index import Index, serve_index
from tests.support.wheels import file_hash, make_wheel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

STUB_TORCH = Path(__file__).parents[1] / "data" / "stub_torch"
TORCH = "1.12.1+cpu"
KINDS = ("venv", "conda", "pip-in-conda")
"""What environments are: virtual ones, those of the installer conda, those of pip in a conda prefix."""
OLD, NEW = "1.0", "2.0"
"""Versions of the stub ``marker``: of the environment that is there, and of the one that replaces it."""
PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
DROPPED = (
    "ENVKIT_",
    "_ENVKIT",
    "UV_",
    "PIP_",
    "CONDA",
    "XDG_",
    "CUDA_",
    "PYTHON",
    "VIRTUAL_ENV",
    "LD_",
    "PYTEST_",
    "COV_",
)
"""Variables of whoever runs this that would change what envkit does."""
Entry = tuple[int, int, str]
"""Mode, time of the last change, and content of a file."""


@dataclass(frozen=True)
class Done:
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

    @property
    def told(self) -> str:
        """The end of what it said, in one line."""
        return " | ".join(f"{self.out}\n{self.err}".strip().splitlines()[-6:])


@dataclass(frozen=True)
class Place:
    """Where the environment under test lies.

    Attributes:
        prefix: its folder.
        options: what leads ``create`` there.
        env: what names it on a command line.
    """

    prefix: Path
    options: tuple[str, ...]
    env: str

    def ours(self) -> list[str]:
        """Names beside the prefix that belong to its creation, replacement or removal."""
        names = os.listdir(self.prefix.parent) if self.prefix.parent.is_dir() else []
        return sorted(name for name in names if f".{self.prefix.name}." in name)


class World:
    """Folders below one root, a lock of an old and of a new environment, and the variables to use them.

    Attributes:
        root: holds everything.
        variables: of every command.
        hidden: files and folders whose names begin with a dot and that are not envkit's.
        files: how many files the stub ``filler`` has.
        kind: of ``KINDS``.
    """

    def __init__(self, root: Path, index: Index, files: int, kind: str = "venv", packages: Path | None = None) -> None:
        self.root, self.index, self.files, self.kind = root, index, files, kind
        self.hidden: set[Path] = set()
        self.home, self.project, self.elsewhere = root / "user", root / "project", root / "elsewhere"
        self.data, self.cache, self.temporary = root / "data", root / "cache", root / "tmp"
        for folder in (self.home, self.project, self.elsewhere, self.data, self.cache, self.temporary):
            folder.mkdir()
        self.variables = {name: value for name, value in os.environ.items() if not name.startswith(DROPPED)} | {
            "HOME": str(self.home),
            "USERPROFILE": str(self.home),
            "ENVKIT_HOME": str(self.data),
            "ENVKIT_CONFIG": str(self.home / "config.yaml"),
            "XDG_CACHE_HOME": str(self.cache / "xdg"),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local"),
            "XDG_CONFIG_DIRS": str(self.home / "none"),
            "UV_CACHE_DIR": str(self.cache / "uv"),
            "RATTLER_CACHE_DIR": str(self.cache / "rattler"),
            "VIRTUALENV_OVERRIDE_APP_DATA": str(self.cache / "virtualenv"),
            "RUSTUP_HOME": str(self.cache / "rustup"),  # pip asks rustc for its version
            "TMPDIR": str(self.temporary),
            "UV_DEFAULT_INDEX": index.url,
            "PIP_INDEX_URL": index.url,
            "PIP_CONFIG_FILE": os.devnull,
            "STUB_TORCH": json.dumps({"version": TORCH, "cuda": None, "torchvision": None, "torchaudio": None}),
        }
        self.channel = Channel(root / "channels" / "forge") if kind != "venv" else None
        if self.channel is not None:
            python_package(self.channel, PYTHON, cache=packages or root / "packages")
        if self.channel is not None and kind == "conda":
            self._make_packages(self.channel)
        else:
            self._make_wheels()
        if self.channel is not None:
            self.channel.index()
            (self.home / ".condarc").write_text(json.dumps({"channel_alias": (root / "channels").as_uri()}))
            (self.home / ".conda").mkdir()
            (self.home / ".conda" / "envs").mkdir()
        self.old = self.write_lock("old", {"marker": OLD})
        self.new = self.write_lock("new", {"marker": NEW})
        self.tiny = self.write_lock("tiny", {"marker": OLD}, without={"filler"})

    def _make_wheels(self) -> None:
        folder = self.index.folder
        for name, version in (("torch", TORCH), ("numpy", "1.26.4")):
            files = {f"{name}/{path.name}": path.read_bytes() for path in (STUB_TORCH / name).glob("*.py")}
            make_wheel(folder, name, version, files=files)
        for version in (OLD, NEW):
            make_wheel(folder, "marker", version)
        make_wheel(folder, "filler", "1.0", files={f"filler/f{n:05}.py": f"n = {n}\n" for n in range(self.files)})

    def _make_packages(self, channel: Channel) -> None:
        site = f"lib/python{PYTHON}/site-packages"

        def add(name: str, version: str, files: Mapping[str, str | bytes], project: str | None = None) -> None:
            build = "py_cpu_0" if name == "pytorch" else "0"
            channel.add(name, version, build=build, files=distribution(project or name, version, files, site))

        for package, project, version in (("pytorch", "torch", TORCH), ("numpy", "numpy", "1.26.4")):
            modules = {f"{project}/{path.name}": path.read_bytes() for path in (STUB_TORCH / project).glob("*.py")}
            add(package, version.partition("+")[0], modules, project)
        for version in (OLD, NEW):
            add("marker", version, {"marker/__init__.py": f"__version__ = {version!r}\n"})
        add("filler", "1.0", {f"filler/f{n:05}.py": f"n = {n}\n" for n in range(self.files)})

    def write_lock(
        self,
        name: str,
        versions: Mapping[str, str],
        *,
        without: Iterable[str] = (),
        cuda: str = "cpu",
        needs: Mapping[str, Any] | None = None,
    ) -> Path:
        """Write a lock of the wheels on the index: of ``versions`` where several are there, nothing of ``without``."""
        packages = []
        for wheel in [] if self.kind == "conda" else sorted(self.index.folder.iterdir()):
            project, version = wheel.name.split("-")[:2]
            if project not in without and versions.get(project, version) == version:
                packages.append({"name": project, "version": version, "file": wheel.name, "sha256": file_hash(wheel)})
        base = [
            record
            for record in (self.channel.locked() if self.channel is not None else ())
            if record["name"] not in without and versions.get(record["name"], record["version"]) == record["version"]
        ]
        is_conda = self.kind == "conda"
        content = {
            "schema": 1,
            "spec": "demo",
            "spec_sha256": None,
            "created_by": "a test",
            "installer": "conda" if is_conda else "pip",
            "python": PYTHON,
            "cuda": cuda,
            "toolkit": "none",
            "platforms": {
                "linux-64": {
                    "needs": dict(needs or {}),
                    "packages": base if is_conda else packages,
                    "base": [] if is_conda else base,
                }
            },
        }
        path = self.project / f"{name}.lock.yaml"
        path.write_text(json.dumps(content, indent=1))
        return path

    def place(self, kind: str, name: str = "demo") -> Place:
        """A place in envkit's own folder, or conda's (``home``), or outside it (``prefix``)."""
        if kind == "home":
            return Place(self.envs / name, ("--name", name), name)
        prefix = self.elsewhere / name
        return Place(prefix, ("--prefix", str(prefix)), str(prefix))

    @property
    def envs(self) -> Path:
        """Where environments go that have a name."""
        return self.data / "envs" if self.kind == "venv" else self.home / ".conda" / "envs"

    def conda_list(self) -> list[str]:
        """The lines of conda's list of environments."""
        path = self.home / ".conda" / "environments.txt"
        return path.read_text().splitlines() if path.exists() else []

    def write_conda_list(self, lines: Iterable[str]) -> None:
        """Write them again, each once."""
        text = "".join(f"{line}\n" for line in dict.fromkeys(lines))
        (self.home / ".conda" / "environments.txt").write_text(text)

    def argv(self, *arguments: str | Path) -> list[str]:
        """The command line of envkit."""
        return [sys.executable, "-m", "envkit", *map(str, arguments)]

    def create(self, lock: Path, place: Place, *options: str) -> list[str]:
        """Arguments of a creation."""
        python = ["--python", sys.executable] if self.kind == "venv" else []
        return ["create", str(lock), *place.options, *python, *options]

    def envkit(self, *arguments: str | Path, env: Mapping[str, str] | None = None, timeout_s: float = 120) -> Done:
        """Run envkit to its end."""
        done = run_envkit(
            [str(argument) for argument in arguments],
            env=self.variables | dict(env or {}),
            cwd=self.project,
            timeout_s=timeout_s,
            errors="replace",
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def run(self, argv: list[str], *, env: Mapping[str, str] | None = None, timeout_s: float = 120) -> Done:
        """Run a program to its end, without input."""
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=self.variables | dict(env or {}),
            cwd=self.project,
            timeout=timeout_s,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str | Path, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        """Start envkit in a session of its own, without waiting for it."""
        return subprocess.Popen(
            self.argv(*arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            env=self.variables | dict(env or {}),
            cwd=self.project,
            start_new_session=True,
        )

    def listed(self, place: Place) -> str:
        """The state of the environment at ``place`` as ``list`` has it, or ``absent``."""
        done = self.envkit("list", "--json")
        assert done.code == 0, f"list ended with {done.code}: {done.told}"
        states = [item["state"] for item in done.json["environments"] if item["prefix"] == str(place.prefix)]
        assert len(states) <= 1, f"list shows {place.prefix} {len(states)} times"
        return states[0] if states else "absent"

    def version_of(self, prefix: Path) -> str | None:
        """The version of ``marker`` in a working environment; None when it does not work as a whole."""
        python, site = prefix / "bin" / "python", prefix / "lib" / f"python{PYTHON}" / "site-packages"
        if not python.exists():
            return None
        code = "import torch, numpy, marker; print(torch.__version__, marker.__version__)"
        done = self.run([str(python), "-B", "-c", code])
        whole = not (site / "filler").is_dir() or len(list((site / "filler").glob("f*.py"))) == self.files
        return done.out.split()[1] if done.code == 0 and whole and done.out.startswith(TORCH) else None

    def strays(self, *places: Place) -> list[str]:
        """What envkit left behind: temporary files, journals and folders that were set aside."""
        folders = [self.data, *(self.data / name for name in ("envs", "locks", "snapshots", "cache", "logs"))]
        folders += [*(self.data / "snapshots").glob("*"), self.elsewhere, self.project, self.envs]
        folders += [place.prefix / ".envkit" for place in places] + [place.prefix for place in places]
        usual = {".envkit", ".gitignore", ".lock"}
        found = [
            folder / name
            for folder in dict.fromkeys(folders)
            if folder.is_dir()
            for name in os.listdir(folder)
            if name.startswith(".") and name not in usual and folder / name not in self.hidden
        ]
        return [str(path.relative_to(self.root)) for path in sorted(found)]

    def processes(self) -> list[str]:
        """Command lines of running processes that name this world, this one and its other children aside."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
                if int(entry.name) != os.getpid() and any(str(self.root) in word for word in words):
                    found.append(" ".join(words))
        return found


def entries(*folders: Path, but: Iterable[Path] = ()) -> dict[str, Entry]:
    """Every file and folder below ``folders``: mode, time and content; nothing at and below ``but``."""
    left_out = set(but)
    found: dict[str, Entry] = {}
    for folder in folders:
        for top, names, files in os.walk(folder):
            here = Path(top)
            names[:] = [name for name in names if here / name not in left_out]
            for path in (here, *(here / name for name in files if here / name not in left_out)):
                found[str(path)] = _entry(path)
            for path in (here / name for name in names if (here / name).is_symlink()):
                found[str(path)] = _entry(path)
    return found


def _entry(path: Path) -> Entry:
    status = os.lstat(path)
    content = ""
    if stat.S_ISREG(status.st_mode):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
    elif stat.S_ISLNK(status.st_mode):
        content = os.readlink(path)
    return status.st_mode, status.st_mtime_ns, content


def differences(before: Mapping[str, Entry], after: Mapping[str, Entry], *, times_of: Iterable[str] = ()) -> list[str]:
    """Paths that came, went or changed; of ``times_of`` the time does not count: something may be made in them."""
    loose = set(times_of)

    def seen(path: str, entry: Entry | None) -> Entry | None:
        return entry if entry is None or path not in loose else (entry[0], 0, entry[2])

    paths = sorted(before.keys() | after.keys())
    return [path for path in paths if seen(path, before.get(path)) != seen(path, after.get(path))]


def remove(path: Path) -> None:
    """Remove a file or folder, whatever it is."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def make_world(root: Path, *, files: int = 1500, kind: str = "venv", packages: Path | None = None) -> Iterator[World]:
    """Make a world below ``root``, an empty folder, and serve its index while the block runs.

    Args:
        root: an empty folder.
        files: how many the stub ``filler`` has.
        kind: of ``KINDS``.
        packages: where conda packages of Python are kept from one world to the next.
    """
    (root / "wheels").mkdir(exist_ok=True)
    with serve_index(root / "wheels") as index:
        yield World(root, index, files, kind, packages)
