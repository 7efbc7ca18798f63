"""What ``conda activate`` does to a shell, for prefixes that are activated without conda."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envkit.activation.render import render
from envkit.activation.shells import SHELLS
from envkit.resources import hooks_dir

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNSET = "***unset***"
"""A variable that ``conda env config vars`` lists and does not set."""
_RESERVED = {"PATH"}


@dataclass(frozen=True, slots=True)
class CondaSwitch:
    """The steps of an activation, in conda's order.

    Source: conda/activate.py, ``_build_activate_stack`` and ``_yield_commands``, at commit 0f64223f.

    Attributes:
        leave: hooks of the environment that was active.
        variables: what is exported then.
        enter: hooks of the new one.
    """

    leave: tuple[Path, ...]
    variables: dict[str, str]
    enter: tuple[Path, ...]


def conda_switch(prefix: Path, environ: Mapping[str, str]) -> CondaSwitch:
    """How a shell with the variables ``environ`` enters ``prefix``: from nothing, from another one, or once more."""
    level, old = _level(environ), environ.get("CONDA_PREFIX", "")
    if not old or not level:
        level, old = 0, ""
    path = environ["PATH"].split(os.pathsep) if environ.get("PATH") else []
    at = 0
    if old and f"{old}/bin" in path:
        at = path.index(f"{old}/bin")
        del path[at]
    path.insert(at, f"{prefix}/bin")
    name = default_name(prefix)
    variables = {
        "PATH": os.pathsep.join(path),
        "CONDA_PREFIX": str(prefix),
        "CONDA_SHLVL": str(level if old == str(prefix) else level + 1),
        "CONDA_DEFAULT_ENV": name,
        "CONDA_PROMPT_MODIFIER": f"({name}) ",
    }
    if old and old != str(prefix):
        variables[f"CONDA_PREFIX_{level}"] = old
    own = own_variables(prefix)
    variables |= {f"__CONDA_SHLVL_{level}_{name}": environ[name] for name in own.keys() & environ.keys()}
    left = hook_files(Path(old), "deactivate", "sh") if old else ()
    return CondaSwitch(left, {**variables, **own}, hook_files(prefix, "activate", "sh"))


def hook_files(prefix: Path, direction: str, extension: str) -> tuple[Path, ...]:
    """The hooks in a prefix in the order in which conda runs them."""
    folder = prefix / "etc" / "conda" / f"{direction}.d"
    try:
        names = [name for name in os.listdir(folder) if name.endswith(f".{extension}")]  # noqa: PTH208 - names
    except OSError:
        return ()
    return tuple(folder / name for name in sorted(names, reverse=direction == "deactivate"))


def shell_text(prefix: Path, extension: str) -> bytes:
    """A file for an interactive shell that activates ``prefix`` behind the user's own files."""
    (shell,) = (shell for shell in SHELLS if shell.extension == extension)
    name = default_name(prefix)
    values = {
        "PREFIX": (str(prefix),),
        "NAME": (name,),
        "PROMPT": (f"({name}) ",),
        "HOOKS": tuple(map(str, hook_files(prefix, "activate", extension))),
    }
    template = (hooks_dir("run") / f"shell.{extension}").read_bytes()
    return render(template, identifiers={}, values=values, quote=shell.quote)


def default_name(prefix: Path) -> str:
    """What conda calls an environment: its name in a folder ``envs``, else its path."""
    return prefix.name if prefix.parent.name == "envs" else str(prefix)


def _level(environ: Mapping[str, str]) -> int:
    text = environ.get("CONDA_SHLVL", "").strip()
    return int(text) if text.isascii() and text.isdigit() else 0


def own_variables(prefix: Path) -> dict[str, str]:
    """The variables that packages and ``conda env config vars set`` have put into a prefix; the latter win."""
    found: dict[str, Any] = {}
    folder = prefix / "etc" / "conda" / "env_vars.d"
    try:
        files = sorted(folder / name for name in os.listdir(folder))  # noqa: PTH208 - names
    except OSError:
        files = []
    for file in files:
        found |= _object(file)
    own = _object(prefix / "conda-meta" / "state").get("env_vars")
    found |= own if isinstance(own, dict) else {}
    return {
        name: str(value)
        for name, value in found.items()
        if name and "=" not in name and name not in _RESERVED and value != _UNSET
    }


def _object(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
