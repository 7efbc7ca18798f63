"""The guard: what is locked stays as it is, whatever pip or uv is asked to install later.

It uses what both programs have themselves, so that it holds when envkit does not run: pip reads ``pip.conf`` in the
prefix, uv the variable ``UV_CONSTRAINT``, which the environment's activation sets. Neither reads the other's. In conda
prefixes there is a second installer to keep out as well (``refusals.py``), and activation switches the user site off.
"""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from envkit import fs
from envkit.activation import guard_hooks, install_guard_hooks, slot_of
from envkit.installers.refusals import is_own, refusals

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.locked import LockedPackage
    from envkit.model.progress import Progress

GuardState = Literal["current", "stale", "missing"]

PIP_SETTINGS = "pip.ini" if os.name == "nt" else "pip.conf"
"""pip's file of settings in a prefix."""
_MADE_BY = "# Made by envkit"
_BUILD_TOOLS = {"pip", "setuptools", "wheel"}
"""Not held for pip: until 25.x it applies a constraint of its settings inside isolated builds too (tried with 20.3,
21.3, 22.0, 23.2, 24.3 and 25.2; 26.3 does not), and a project that needs newer setuptools could not be built. numpy is
held there as well: what is built against a newer one may not run with the locked one. uv keeps builds apart."""
_PLAIN = re.compile(r"[A-Za-z0-9/._+:\\-]+", re.ASCII)


def constraints_of(prefix: Path) -> Path:
    """The file with every locked version, for uv."""
    return prefix / ".envkit" / "constraints.txt"


def pip_constraints_of(prefix: Path) -> Path:
    """The same for pip, without the tools that build packages."""
    return prefix / ".envkit" / "constraints-pip.txt"


def constraint_entry(path: Path) -> str:
    """A constraints file as pip's settings and ``UV_CONSTRAINT`` can name it.

    Both split their value at blanks, and pip reads its settings in the locale's encoding; a ``file:`` address has
    neither blanks nor other letters than ASCII's (tried with pip 20.0 to 26.3 and uv 0.13.9).
    """
    return str(path) if _PLAIN.fullmatch(str(path)) else path.as_uri()


@dataclass(frozen=True, slots=True)
class Guarded:
    """An environment as the guard needs to know it.

    Attributes:
        prefix: its folder.
        installer: "pip" or "conda": the only one that may put packages into it.
        word: what the user types for it.
        packages: what pip has put into it by its lock.
    """

    prefix: Path
    installer: str
    word: str
    packages: tuple[LockedPackage, ...] = ()


def install_guard(guarded: Guarded, progress: Progress) -> None:
    """Keep pip and uv from the locked versions, and in conda prefixes whoever is not the installer out altogether.

    Files of that kind that somebody else has written there stay, and that is told.
    """
    prefix = guarded.prefix
    for path in _refusals(guarded):
        if os.path.lexists(path) and not is_own(path):
            progress.note(f"{path} is not envkit's and stays as it is; it says who may change this environment.")
    update_guard(guarded)
    if guarded.installer == "pip":
        _install_pip_settings(prefix, progress)
    constraints, entry = _constraint_of_uv(guarded)
    slot = slot_of(prefix)
    install_guard_hooks(prefix, slot=slot, constraints=constraints, entry=entry, user_site_off=slot == "CONDA")


def _install_pip_settings(prefix: Path, progress: Progress) -> None:
    settings = prefix / PIP_SETTINGS
    if os.path.lexists(settings) and not is_own_pip_settings(prefix):
        progress.note(
            f"{settings} is not envkit's and stays as it is, so that pip does not keep the locked versions. "
            f"For that write `constraint = {constraint_entry(pip_constraints_of(prefix))}` under [install] there."
        )
    else:
        fs.write_text(settings, _pip_settings(prefix))


def update_guard(guarded: Guarded) -> None:
    """Write the constraints again, and what keeps others out; pip's settings and the hooks stay as they are."""
    renew_refusals(guarded)
    for path, text in _constraints(guarded).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        fs.write_text(path, text)


def renew_refusals(guarded: Guarded) -> tuple[Path, ...]:
    """Write what keeps the other installer out where it is missing or stale; gives what was written.

    A new minor version of Python has a folder of its own, and ``conda rename`` does not copy ``conda-meta/frozen``.
    """
    changed = _changed_refusals(guarded)
    for path in changed:
        if not os.path.lexists(path) or is_own(path):
            fs.write_bytes(path, _refusals(guarded)[path])
    return changed


def guard_state(guarded: Guarded) -> GuardState:
    """Whether the guard's files and hooks are what ``install_guard`` writes.

    ``missing``: one of them is not there; ``stale``: one is another. Settings of pip count as long as the guard's own
    stand first in them, or the same constraint is named in them.
    """
    changed = changed_guard_files(guarded)
    if not changed:
        return "current"
    return "stale" if all(path.is_file() for path in changed) else "missing"


def changed_guard_files(guarded: Guarded) -> tuple[Path, ...]:
    """The files of the guard that are gone, or do not do what ``install_guard`` has made them for.

    Somebody else's file that makes pip or conda refuse does that, with another text.
    """
    prefix, slot = guarded.prefix, slot_of(guarded.prefix)
    constraints, entry = _constraint_of_uv(guarded)
    wanted = {path: text.encode() for path, text in _constraints(guarded).items()}
    wanted |= guard_hooks(prefix, slot=slot, constraints=constraints, entry=entry, user_site_off=slot == "CONDA")
    changed = [path for path, text in wanted.items() if _read(path) != text]
    changed += _changed_refusals(guarded)
    settings = _read(prefix / PIP_SETTINGS)
    holds = guarded.installer != "pip" or (settings is not None and _holds_for_pip(prefix, settings))
    return tuple(changed if holds else [prefix / PIP_SETTINGS, *changed])


def _changed_refusals(guarded: Guarded) -> tuple[Path, ...]:
    by_path = _refusals(replace(guarded, word=shlex.quote(str(guarded.prefix))))
    found = {path: {text, by_path[path]} for path, text in _refusals(guarded).items()}  # either word leads there
    return tuple(
        path for path, texts in found.items() if _read(path) is None or (is_own(path) and _read(path) not in texts)
    )


def _refusals(guarded: Guarded) -> dict[Path, bytes]:
    """The files that keep others out; none in a virtual environment, where PEP 668 does not count and conda is not."""
    if slot_of(guarded.prefix) == "VENV":
        return {}
    return refusals(guarded.prefix, guarded.installer, guarded.word)


def _constraint_of_uv(guarded: Guarded) -> tuple[Path | None, str]:
    """The file for ``UV_CONSTRAINT``, and how that names it; nothing where uv is kept out altogether."""
    if guarded.installer != "pip":
        return None, ""
    constraints = constraints_of(guarded.prefix)
    return constraints, constraint_entry(constraints)


def is_own_pip_settings(prefix: Path) -> bool:
    """Whether pip's settings in a prefix are those that envkit wrote there."""
    return (_read(prefix / PIP_SETTINGS) or b"").startswith(_MADE_BY.encode())


def _holds_for_pip(prefix: Path, settings: bytes) -> bool:
    line = f"constraint = {constraint_entry(pip_constraints_of(prefix))}"
    return settings.startswith(_pip_settings(prefix).encode()) or line.encode() in settings.splitlines()


def _pip_settings(prefix: Path) -> str:
    return (
        f"{_MADE_BY}: pip keeps the locked versions; `envkit add` adds packages.\n"
        f"[install]\nconstraint = {constraint_entry(pip_constraints_of(prefix))}\n"
    )


def _constraints(guarded: Guarded) -> dict[Path, str]:
    if guarded.installer != "pip":
        return {}
    prefix, packages = guarded.prefix, sorted(guarded.packages, key=lambda item: item.name)
    lines = {item.name: f"{item.name}=={item.version}\n" for item in packages}
    held = (line for name, line in lines.items() if name not in _BUILD_TOOLS)
    return {constraints_of(prefix): "".join(lines.values()), pip_constraints_of(prefix): "".join(held)}


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:  # something else is in its place
        return b""
