"""Finding the interpreter of a version: PATH, pyenv's and uv's folders, or a given program. None is downloaded."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from envkit import process
from envkit.errors import EnvkitError, UnfitMachineError

if TYPE_CHECKING:
    from collections.abc import Iterator

_ASK = """\
import json, os, struct, sys, sysconfig
name = "python%d.%d" % sys.version_info[:2]
base = getattr(sys, "_base_executable", None)
if base in (None, sys.executable):  # up to 3.10 on Linux it names the venv's own
    base = os.path.join(sys.base_prefix, "bin", name)
free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
is_venv = sys.prefix != sys.base_prefix
bits = struct.calcsize("P") * 8
print(json.dumps([sys.version_info[:3], sys.implementation.name, bits, base, is_venv, free_threaded]))
"""
_TIMEOUT_S = 30.0
_EXE = ".exe" if os.name == "nt" else ""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A CPython that environments can be made from.

    Attributes:
        path: the program.
        version: "3.9.18".
        found_via: "PATH", "pyenv", "uv" or "given".
    """

    path: Path
    version: str
    found_via: str

    def serves(self, version: str) -> bool:
        """Whether it is of ``version``, "3.9" or "3.9.18"."""
        return self.version == version or self.version.startswith(version + ".")


def find_interpreter(version: str, asked: str | None = None) -> Interpreter:
    """The interpreter for an environment with Python ``version``.

    Args:
        version: "3.9" or "3.9.18", from the lock.
        asked: what the user gave: a program, a version, or nothing.

    Raises:
        UnfitMachineError: there is none; names those which were found.
    """
    if asked is not None and not is_version(asked):
        return _given(version, asked)
    if asked is not None:
        version = agreed_version(version, asked)
    others: dict[str, Interpreter] = {}
    for path, via in _candidates(version):
        found = _ask(path, via)
        if found is None:
            continue
        if found.serves(version):
            return found
        others.setdefault(found.version, found)
    raise _not_found(version, others)


def is_version(asked: str) -> bool:
    """Whether ``--python`` names a version; else it is a program."""
    return re.fullmatch(r"\d+(\.\d+)*", asked, re.ASCII) is not None


def agreed_version(version: str, asked: str) -> str:
    """The longer one of a lock's version and the one that ``--python`` asks for.

    Raises:
        UnfitMachineError: they contradict each other.
    """
    if not (asked + ".").startswith(version + ".") and not (version + ".").startswith(asked + "."):
        raise UnfitMachineError(
            f"--python {asked} does not go with a lock for Python {version}.",
            why="The files in a lock fit one Python version.",
            hint=f'Write python: "{asked}" into a spec of your own and run `envkit lock` on it.',
        )
    return max(version, asked, key=len)


def _given(version: str, asked: str) -> Interpreter:
    program = shutil.which(os.path.expanduser(asked))  # noqa: PTH111 - `which` takes text
    found = _ask(Path(program), "given") if program else None
    if found is None:
        raise UnfitMachineError(
            f"--python {asked} is no Python that runs.", hint="Give the program itself, or a version."
        )
    if not found.serves(version):
        raise UnfitMachineError(
            f"--python {asked} is Python {found.version}; the lock is for Python {version}.",
            why="The files in a lock fit one Python version.",
            hint=f"Give a Python {version}.",
        )
    return found


def _candidates(version: str) -> Iterator[tuple[Path, str]]:
    """Programs that may be of ``version``, the likeliest first, each once."""
    seen: set[Path] = set()
    minor = ".".join(version.split(".")[:2])
    for path, via in (*_on_path(f"python{minor}"), *_pyenv(version), *_uv(version), *_on_path("python3", "python")):
        key = Path(os.path.realpath(path))
        if key not in seen:
            seen.add(key)
            yield path, via


def _on_path(*names: str) -> Iterator[tuple[Path, str]]:
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if not folder or Path(folder).name == "shims":  # pyenv's shims only work for versions switched on; see _pyenv
            continue
        for name in names:
            path = Path(folder) / (name + _EXE)
            if path.is_file() and os.access(path, os.X_OK):
                yield path, "PATH"


def _pyenv(version: str) -> Iterator[tuple[Path, str]]:
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for folder in _newest(root / "versions", re.escape(version) + r"(\.\d+)*"):
        yield folder / ("python.exe" if os.name == "nt" else "bin/python"), "pyenv"


def _uv(version: str) -> Iterator[tuple[Path, str]]:
    given = os.environ.get("UV_PYTHON_INSTALL_DIR")
    if given:
        root = Path(given)
    elif os.name == "nt":
        root = Path(os.environ.get("APPDATA") or Path.home()) / "uv" / "data" / "python"
    else:
        root = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "uv" / "python"
    for folder in _newest(root, rf"cpython-{re.escape(version)}(\.\d+)*-.*"):
        yield folder / ("python.exe" if os.name == "nt" else "bin/python"), "uv"


def _newest(root: Path, pattern: str) -> list[Path]:
    try:
        names = [name for name in os.listdir(root) if re.fullmatch(pattern, name)]  # noqa: PTH208 - names are matched
    except OSError:
        return []
    return [root / name for name in sorted(names, key=_version_key, reverse=True)]


def _version_key(name: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", name)[:3])


def _ask(path: Path, via: str) -> Interpreter | None:
    """What a program says of itself; None when it does not run or is no 64-bit CPython with a GIL."""
    if not path.is_file():
        return None
    try:
        said = process.run([path, "-I", "-c", _ASK], timeout_s=_TIMEOUT_S).stdout
        version, implementation, bits, base, is_venv, free_threaded = json.loads(said)
    except (EnvkitError, ValueError):
        return None
    if implementation != "cpython" or bits != 64 or free_threaded:  # noqa: PLR2004 - torch has wheels for these only
        return None
    return Interpreter(Path(base) if is_venv else path, ".".join(map(str, version)), via)


def _not_found(version: str, others: dict[str, Interpreter]) -> UnfitMachineError:
    for via, finder in (("pyenv", _pyenv), ("uv", _uv)):
        root = next(finder(r"3"), None)
        folder = root[0].parent.parent.parent if root and os.name != "nt" else None
        for name in os.listdir(folder) if folder is not None else ():  # noqa: PTH208 - names are matched
            if found := re.search(r"(?:cpython-)?(3\.\d+\.\d+)", name):
                others.setdefault(found.group(1), Interpreter(root[0] if root else Path(), found.group(1), via))
    for minor in range(6, 20):
        for path, via in _on_path(f"python3.{minor}"):
            if not any(other.startswith(f"3.{minor}.") for other in others) and (found_one := _ask(path, via)):
                others[found_one.version] = found_one
    listed = ", ".join(f"{name} ({others[name].found_via})" for name in sorted(others, key=_version_key, reverse=True))
    return UnfitMachineError(
        f"There is no Python {version} on this machine.",
        why=f"Found: {listed}." if listed else "No Python was found at all on PATH, in pyenv's or uv's folder.",
        hint=f"Install it (`uv python install {version}`, `pyenv install {version}`, your system's packages), "
        "or name one with --python PROGRAM.",
    )
