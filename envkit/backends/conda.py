"""conda on this machine: the program, the folders where it keeps environments, and its list of them.

Only this module knows where conda puts things. It never runs conda: prefixes are made by py-rattler.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from envkit import fs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_PROGRAMS = ("conda", "mamba", "micromamba")
_VARIABLES = ("CONDA_EXE", "MAMBA_EXE")
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
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return CondaProgram(candidate, _root_of(candidate, environ))
    return None


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    for variable in _VARIABLES:
        if environ.get(variable):
            yield Path(environ[variable])
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
    return folder if (folder / "conda-meta").is_dir() else None


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
    while not folder.exists():
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK)


def register(prefix: Path) -> None:
    """Write a prefix into conda's list, ``~/.conda/environments.txt``, as conda does; a list that cannot be is none."""
    listed = _environments_txt()
    try:
        if os.fspath(prefix) in listed.read_text(encoding="utf-8").splitlines():
            return
    except FileNotFoundError:
        pass
    except (OSError, UnicodeDecodeError):
        return
    try:
        listed.parent.mkdir(parents=True, exist_ok=True)
        with listed.open("a", encoding="utf-8", newline="\n") as file:
            file.write(f"{prefix}\n")
    except OSError:  # conda finds it in its own folders all the same
        return


def unregister(prefix: Path) -> None:
    """Take a prefix that is gone out of conda's list."""
    listed = _environments_txt()
    try:
        lines = listed.read_text(encoding="utf-8").splitlines(keepends=True)
        others = [line for line in lines if line.strip() != os.fspath(prefix)]
        if others != lines:
            fs.write_text(listed, "".join(others))
    except (OSError, UnicodeDecodeError):  # conda passes over prefixes that are not there
        return


def registered() -> tuple[Path, ...]:
    """The prefixes in conda's list, whether or not they are there."""
    try:
        lines = _environments_txt().read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ()
    return tuple(Path(line.strip()) for line in lines if line.strip())


def _environments_txt() -> Path:
    return Path.home() / ".conda" / "environments.txt"
