"""conda on this machine: the program, the folders where it keeps environments, and its list of them.

Only this module knows where conda puts things. It never runs conda: prefixes are made by py-rattler.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from envkit import fs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PROGRAMS = ("conda", "mamba", "micromamba")
_VARIABLES = ("CONDA_EXE", "MAMBA_EXE")
_ROOTS = ("CONDA_ROOT", "_CONDA_ROOT")
"""conda's own shell functions export the second."""
_USUAL = ("miniforge3", "mambaforge", "miniconda3", "anaconda3")
"""Folders, in the home folder and in /opt, that the installers of conda propose."""
_SCRIPTS = "Scripts" if os.name == "nt" else "bin"
_EXE = ".exe" if os.name == "nt" else ""


@dataclass(frozen=True, slots=True)
class CondaProgram:
    """A conda, mamba or micromamba.

    Attributes:
        path: the program.
        root: the prefix under which it keeps environments and packages, or None where that cannot be told.
    """

    path: Path
    root: Path | None

    @property
    def name(self) -> str:
        """Which it is: conda, mamba or micromamba."""
        return self.path.stem


def find_conda(environ: Mapping[str, str] | None = None) -> CondaProgram | None:
    """The conda of this machine: by conda's own variables, PATH, then the folders that its installers propose."""
    environ = os.environ if environ is None else environ
    for candidate in _candidates(environ):
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):  # noqa: PTH113 - no error in a closed folder
            return CondaProgram(candidate, _root_of(candidate, environ))
    return None


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    for variable in _VARIABLES:
        if environ.get(variable):
            yield Path(environ[variable])
    for variable in _ROOTS:
        if environ.get(variable):
            yield Path(environ[variable]) / _SCRIPTS / f"conda{_EXE}"
    for name in _PROGRAMS:
        found = shutil.which(name, path=environ.get("PATH", ""))
        if found:
            yield Path(found)
    home = environ.get("USERPROFILE" if os.name == "nt" else "HOME")
    for parent in (*([Path(home)] if home else []), Path("/opt")):
        for folder in _USUAL:
            yield parent / folder / _SCRIPTS / f"conda{_EXE}"
    yield Path("/opt/conda/bin/conda")


def _root_of(program: Path, environ: Mapping[str, str]) -> Path | None:
    """The root prefix: of conda and mamba the prefix that they are in, of micromamba what its variable says."""
    if environ.get("MAMBA_ROOT_PREFIX") and program.stem != "conda":
        return Path(environ["MAMBA_ROOT_PREFIX"])
    folder = Path(os.path.realpath(program)).parent.parent
    return folder if os.path.isdir(folder / "conda-meta") else None  # noqa: PTH112 - likewise


def prefix_for(name: str, folders: Sequence[Path]) -> Path:
    """Where conda has the environment of that name, or else would put it.

    Args:
        name: of the environment.
        folders: ``envs_dirs`` of conda's settings; the first that can be written takes new ones. Where none can, the
            first of all, so that the error is about the folder that the user has configured.
    """
    there = [folder / name for folder in folders if os.path.lexists(folder / name)]
    writable = [folder / name for folder in folders if _takes_new(folder)]
    return next(iter([*there, *writable, folders[0] / name]))


def _takes_new(folder: Path) -> bool:
    """Whether a folder can be written, or made."""
    while not os.path.exists(folder):  # noqa: PTH110 - no error in a closed folder
        folder = folder.parent
    return os.path.isdir(folder) and os.access(folder, os.W_OK)  # noqa: PTH112 - likewise


def register(prefix: Path) -> None:
    """Write a prefix into conda's list, ``~/.conda/environments.txt``, as conda does; a list that cannot be is none."""
    lines, listed = _listed(), _environments_txt()
    if lines is None or is_registered(prefix):
        return
    separator = b"\n" if lines and lines[-1] else b""
    try:
        listed.parent.mkdir(parents=True, exist_ok=True)
        with listed.open("ab") as file:
            file.write(separator + os.fsencode(prefix) + b"\n")
    except OSError:  # conda finds it in its own folders all the same
        return


def unregister(prefix: Path) -> None:
    """Take a prefix that is gone out of conda's list, whatever links lead to it there."""
    lines = _listed()
    others = [line for line in lines or () if not _means(line, prefix)]
    if lines is None or others == lines:
        return
    listed = Path(os.path.realpath(_environments_txt()))
    with contextlib.suppress(OSError):  # conda passes over prefixes that are not there
        if os.access(listed, os.W_OK):
            fs.write_bytes(listed, b"\n".join(others), mode=stat.S_IMODE(listed.stat().st_mode))


def is_registered(prefix: Path) -> bool:
    """Whether conda's list has a prefix."""
    return any(_means(line, prefix) for line in _listed() or ())


def _means(line: bytes, prefix: Path) -> bool:
    """Whether a line of conda's list is that prefix, or leads there."""
    place = line.strip()
    if not place or b"\0" in place or os.path.basename(place) != os.fsencode(prefix.name):  # noqa: PTH119 - bytes
        return False
    return place == os.fsencode(prefix) or os.path.realpath(place) == os.fsencode(os.path.realpath(prefix))


def registered() -> tuple[Path, ...]:
    """The prefixes in conda's list, whether or not they are there; what is no absolute path is left out."""
    lines = [os.fsdecode(line.strip()) for line in _listed() or () if b"\0" not in line]
    return tuple(Path(line) for line in lines if os.path.isabs(line))  # noqa: PTH117 - text


def list_folder() -> Path:
    """Where conda's list lies, and what a killed process leaves that was writing it."""
    return Path(os.path.realpath(_environments_txt())).parent


def _listed() -> list[bytes] | None:
    """The lines of conda's list, byte by byte as they are; None where it cannot be read."""
    listed = _environments_txt()
    try:
        if listed.exists() and not listed.is_file():  # a pipe would be waited for
            return None
        return listed.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError:
        return None


def _environments_txt() -> Path:
    return Path.home() / ".conda" / "environments.txt"
