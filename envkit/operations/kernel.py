"""Kernel: a Jupyter kernel whose process has the variables of an environment."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envkit import fs
from envkit.activation import slot_of
from envkit.activation.kernel_script import kernel_script
from envkit.errors import ExistsError, NotFoundError, UsageError
from envkit.installers.installed import installed_packages
from envkit.model.environment import python_of, scripts_of
from envkit.operations.env_variables import changed_variables
from envkit.operations.environments import (
    find_environment,
    is_path,
    prefix_at,
    read_environment,
    usable_environment,
    word_for,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from envkit.model.environment import Environment
    from envkit.model.progress import Progress

_NAME = re.compile(r"(?!\.)[a-z0-9._-]+", re.ASCII)
"""https://jupyter-client.readthedocs.io/en/stable/kernels.html#kernel-specs"""
_SCRIPT = "start.sh"
_SPEC = "kernel.json"


@dataclass(frozen=True, slots=True)
class KernelResult:
    """A kernelspec.

    Attributes:
        environment: None when it has been removed since.
        name: of the kernel, for Jupyter's commands.
        display_name: what Jupyter shows.
        path: its folder.
        argv: how Jupyter starts it.
        is_removed: whether it was taken away.
    """

    environment: Environment | None
    name: str
    display_name: str
    path: Path
    argv: tuple[str, ...]
    is_removed: bool = False

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit kernel --json`` (docs/json.md)."""
        return {
            "environment": None if self.environment is None else self.environment.to_json(),
            "kernel": {
                "name": self.name,
                "display_name": self.display_name,
                "path": str(self.path),
                "argv": list(self.argv),
            },
        }


def make_kernel(env: str, name: str | None, display_name: str | None, progress: Progress) -> KernelResult:
    """Make a kernelspec of an environment for this user; the same again writes it anew.

    Raises:
        NotFoundError: there is no such environment, or it has no ipykernel, which envkit does not install unasked.
        UsageError: Jupyter takes no such name.
        ExistsError: the name is taken by a kernel that is not this environment's.
        OSError: it could not be written.
    """
    environment = usable_environment(env, progress)
    chosen = _checked(name) if name is not None else _default_name(environment)
    if "ipykernel" not in installed_packages(environment.prefix):
        raise NotFoundError(
            f"{environment.name} has no ipykernel, which a Jupyter kernel of Python consists of.",
            hint=f"`envkit add {word_for(environment)} ipykernel` adds it.",
        )
    folder = _kernels_dir() / chosen
    _check_free(folder, environment)
    shown = display_name or environment.name
    spec: dict[str, Any] = {
        "argv": [*_start(environment, folder), "-f", "{connection_file}"],
        "display_name": shown,
        "language": "python",
        "interrupt_mode": "signal",
        "metadata": {
            "debugger": True,
            "envkit": {"environment": environment.name, "prefix": str(environment.prefix)},
        },
    }
    folder.mkdir(parents=True, exist_ok=True)
    if os.name == "nt":  # nothing is run that could activate it
        spec["env"] = changed_variables(environment, progress)[0]
    else:
        prefix = environment.prefix
        activate, python = scripts_of(prefix) / "activate", python_of(prefix)
        fs.write_bytes(folder / _SCRIPT, kernel_script(prefix, slot=slot_of(prefix), activate=activate, python=python))
    fs.write_json(folder / _SPEC, spec)
    return KernelResult(environment, chosen, shown, folder, tuple(spec["argv"]))


def remove_kernel(env: str, name: str | None) -> KernelResult:
    """Take a kernelspec of an environment away; the environment itself may have gone before.

    Raises:
        NotFoundError: it has none, or none of that name.
        UsageError: it has several, and none is named.
    """
    environment = None
    with contextlib.suppress(NotFoundError):
        environment = find_environment(env)
    prefix = environment.prefix if environment is not None else prefix_at(env) if is_path(env) else None
    found = {
        folder.name: spec
        for folder, spec in _own_specs()
        if name in {None, folder.name}
        and (spec["metadata"]["envkit"]["prefix"] == str(prefix) if prefix else _environment_of(spec) == env)
    }
    if not found:
        which = "" if name is None else f" of the name {name}"
        raise NotFoundError(f"{env} has no Jupyter kernel{which} in {_kernels_dir()}.")
    if len(found) > 1:
        raise UsageError(f"{env} has several kernels: {', '.join(found)}.", hint="Name one: --name N.")
    ((chosen, spec),) = found.items()
    folder = _kernels_dir() / chosen
    fs.remove_tree(folder)
    return KernelResult(
        environment, chosen, str(spec.get("display_name")), folder, tuple(spec["argv"]), is_removed=True
    )


def _start(environment: Environment, folder: Path) -> list[str]:
    """How the kernel is started: by a script that activates the environment, and needs no envkit for that."""
    if os.name == "nt":
        return [str(python_of(environment.prefix)), "-m", "ipykernel_launcher"]
    shell = shutil.which("bash") if environment.backend == "conda" else None  # as conda run
    return [shell or "/bin/sh", str(folder / _SCRIPT)]


def _check_free(folder: Path, environment: Environment) -> None:
    if not os.path.lexists(folder):
        return
    spec = _read_spec(folder)
    if spec is None:
        is_free = folder.is_dir() and {path.name for path in folder.iterdir()} <= {_SCRIPT}
        what = "It is not envkit's."
    else:
        prefix = Path(spec["metadata"]["envkit"]["prefix"])
        is_free = prefix == environment.prefix or read_environment(prefix) is None
        what = f"It is that of {prefix}."
    if not is_free:
        raise ExistsError(
            f"There is a Jupyter kernel {folder.name} already, in {folder}.",
            why=what,
            hint="Choose another name: --name N.",
        )


def _own_specs() -> Iterator[tuple[Path, dict[str, Any]]]:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        for folder in sorted(_kernels_dir().iterdir()):
            spec = _read_spec(folder)
            if spec is not None:
                yield folder, spec


def _read_spec(folder: Path) -> dict[str, Any] | None:
    """The kernelspec in a folder when envkit has written it."""
    try:
        spec = json.loads((folder / _SPEC).read_text(encoding="utf-8"))
        own = spec["metadata"]["envkit"]
        is_own = (
            isinstance(own["prefix"], str) and isinstance(own["environment"], str) and isinstance(spec["argv"], list)
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return spec if is_own else None


def _environment_of(spec: dict[str, Any]) -> str:
    return str(spec["metadata"]["envkit"]["environment"])


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name of a Jupyter kernel.", hint="Use small letters, digits, `.`, `_` and `-`."
        )
    return name


def _default_name(environment: Environment) -> str:
    name = re.sub(r"[^a-z0-9._-]+", "-", environment.name.lower()).strip(".-")
    return name or f"envkit-{environment.id}"


def _kernels_dir() -> Path:
    """Where Jupyter looks for the kernels of this user.

    https://docs.jupyter.org/en/latest/use/jupyter-directories.html, jupyter_core 5.9 ``paths.py``.
    """
    return _data_dir() / "kernels"


def _data_dir() -> Path:
    if os.environ.get("JUPYTER_DATA_DIR"):
        return Path(os.environ["JUPYTER_DATA_DIR"])
    if os.environ.get("JUPYTER_PLATFORM_DIRS", "").lower() not in {"", "no", "n", "false", "off", "0", "0.0"}:
        import platformdirs  # noqa: PLC0415 - start-up counts

        return Path(platformdirs.user_data_dir("jupyter", appauthor=False))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Jupyter"
    if os.name == "nt":
        return Path(os.environ["APPDATA"]) / "jupyter" if os.environ.get("APPDATA") else Path.home() / ".jupyter/data"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "jupyter"
