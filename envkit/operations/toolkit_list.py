"""Every CUDA toolkit of this machine: which is in force, which is the machine's default, and what is odd."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envkit.operations.toolkits import environment_prefixes
from envkit.probes.nvcc_on_path import nvccs_on_path
from envkit.probes.toolkit_places import USUAL_ROOTS
from envkit.probes.toolkits import Note, can_switch, choose_toolkit, search_toolkits

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from envkit.model.toolkit import Toolkit

_ACTIVE = ("CUDA_HOME", "CUDA_PATH")


@dataclass(frozen=True, slots=True)
class ListedToolkit:
    """A toolkit, and whether it is in force.

    Attributes:
        toolkit: the folder.
        is_active: CUDA_HOME or CUDA_PATH of this process names it; where both are unset, it has the first nvcc in PATH.
        is_default: ``/usr/local/cuda`` leads to it; on Windows the machine's own CUDA_PATH.
    """

    toolkit: Toolkit
    is_active: bool
    is_default: bool

    def to_json(self) -> dict[str, Any]:
        """The facts that ``--json`` shows."""
        return {**self.toolkit.to_full_json(), "is_active": self.is_active, "is_default": self.is_default}


@dataclass(frozen=True, slots=True)
class ToolkitList:
    """All toolkits of this machine, newest first, and what was odd."""

    toolkits: tuple[ListedToolkit, ...]
    notes: tuple[Note, ...]

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit cuda list --json``."""
        return {
            "toolkits": [item.to_json() for item in self.toolkits],
            "notes": [item.to_json() for item in self.notes],
        }


def list_toolkits(environ: Mapping[str, str] | None = None, roots: Sequence[str | Path] = USUAL_ROOTS) -> ToolkitList:
    """Every toolkit that is found, those among the packages of environments too.

    Args:
        environ: variables, by default this process's.
        roots: folders that may hold ``cuda*`` folders; the ``cuda`` in the first is the default toolkit.

    Raises:
        InvalidFileError: config.yaml, or the list of folders that were added, is damaged.
    """
    given = os.environ if environ is None else environ
    notes: list[Note] = []
    found = search_toolkits(given, roots, environment_prefixes(notes))
    active, default = _active(given), _default(Path(roots[0]) / "cuda" if roots else None)
    listed = tuple(
        ListedToolkit(item, is_active=_real(item.path) == active, is_default=_real(item.path) == default)
        for item in found.toolkits
    )
    return ToolkitList(listed, (*found.notes, *notes, *_differing(given), *_doubled(found.toolkits)))


def _real(path: str | Path) -> str:
    return os.path.normcase(os.path.realpath(path))


def _active(environ: Mapping[str, str]) -> str | None:
    """The folder that programs take; torch looks at CUDA_HOME first."""
    for name in _ACTIVE:
        if environ.get(name):
            return _real(environ[name])
    folder = next((found.folder for found in nvccs_on_path(environ) if found.folder is not None), None)
    return None if folder is None else _real(folder)


def _default(link: Path | None) -> str | None:
    if sys.platform == "win32":
        return _machine_wide("CUDA_PATH")
    return None if link is None else _real(link)


def _machine_wide(name: str) -> str | None:  # pragma: no cover - Windows alone has a registry
    """A variable of the whole machine, which this window may have changed."""
    if sys.platform != "win32":
        return None
    import winreg  # noqa: PLC0415 - as above

    key = r"SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key) as opened:
            return _real(str(winreg.QueryValueEx(opened, name)[0]))
    except OSError:
        return None


def _differing(environ: Mapping[str, str]) -> list[Note]:
    home, path = (environ.get(name) for name in _ACTIVE)
    if not home or not path or _real(home) == _real(path):
        return []
    message = f"CUDA_HOME is {home} and CUDA_PATH is {path}: some programs take the one, some the other."
    return [Note(Path(home), "CUDA_HOME", message)]


def _doubled(toolkits: Iterable[Toolkit]) -> list[Note]:
    """Releases that are here several times, and which one envkit takes."""
    usable = [toolkit for toolkit in toolkits if toolkit.is_shared and can_switch(toolkit)]
    notes = []
    for release in dict.fromkeys(toolkit.release for toolkit in usable if toolkit.release is not None):
        chosen = choose_toolkit(release, usable)
        same = [str(toolkit.path) for toolkit in usable if toolkit.release == release]
        if chosen is not None and len(same) > 1:
            places = ", ".join(same)
            message = f"CUDA {release} is here {len(same)} times: {places}. envkit takes {chosen.path} unless told."
            notes.append(Note(chosen.path, chosen.found_via, message))
    return notes
