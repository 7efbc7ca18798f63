"""The guard: what is locked stays as it is, whatever pip or uv is asked to install later.

It uses what both programs have themselves, so that it holds when envkit does not run: pip reads ``pip.conf`` in the
prefix, uv the variable ``UV_CONSTRAINT``, which the environment's activation sets. Neither reads the other's.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from envkit import fs
from envkit.activation import install_guard_hooks

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from envkit.model.lock import LockedPackage

PIP_SETTINGS = "pip.ini" if os.name == "nt" else "pip.conf"
"""pip's file of settings in a prefix."""
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


def install_guard(prefix: Path, packages: Iterable[LockedPackage]) -> None:
    """Let the versions of ``packages`` be constraints for pip and uv in the virtual environment ``prefix``."""
    update_guard(prefix, packages)
    text = (
        "# Made by envkit: pip keeps the locked versions; `envkit add` adds packages.\n"
        f"[install]\nconstraint = {constraint_entry(pip_constraints_of(prefix))}\n"
    )
    fs.write_text(prefix / PIP_SETTINGS, text)
    constraints = constraints_of(prefix)
    install_guard_hooks(prefix, slot="VENV", constraints=constraints, entry=constraint_entry(constraints))


def update_guard(prefix: Path, packages: Iterable[LockedPackage]) -> None:
    """Write the constraints again; pip's settings and the hooks stay as they are."""
    lines = {item.name: f"{item.name}=={item.version}\n" for item in sorted(packages, key=lambda item: item.name)}
    constraints_of(prefix).parent.mkdir(parents=True, exist_ok=True)
    fs.write_text(constraints_of(prefix), "".join(lines.values()))
    held = (line for name, line in lines.items() if name not in _BUILD_TOOLS)
    fs.write_text(pip_constraints_of(prefix), "".join(held))
