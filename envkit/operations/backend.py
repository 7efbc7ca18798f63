"""Where a new environment goes and what makes its prefix: a virtual environment or a conda prefix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from envkit import paths
from envkit.backends.conda import find_conda, prefix_for
from envkit.backends.pythons import find_interpreter, is_version
from envkit.errors import ExistsError, UnfitMachineError, UsageError
from envkit.model.names import check_environment_name
from envkit.operations import environments
from envkit.operations.places import conda_envs_dirs

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.backends.pythons import Interpreter
    from envkit.model.environment import Environment
    from envkit.model.lock import Lock
    from envkit.model.progress import Progress
    from envkit.operations.options import CreateOptions

Backend = Literal["venv", "conda"]


@dataclass(frozen=True, slots=True)
class Place:
    """A new environment's place.

    Attributes:
        name: of the environment.
        prefix: its folder.
        backend: what makes it.
        interpreter: the Python that was found when a backend was looked for, or None.
        missing: what to say when conda-forge has none either; None where a Python of this machine was not looked for.
    """

    name: str
    prefix: Path
    backend: Backend
    interpreter: Interpreter | None = None
    missing: UnfitMachineError | None = None


def place_of(
    default: str | None, lock: Lock, platform: str, options: CreateOptions, *, what: str, progress: Progress
) -> Place:
    """The place of the environment that ``lock`` gives, and the backend.

    Args:
        default: the version name, or None where the lock has no torch.
        lock: what it is made from.
        platform: conda's name of this platform.
        options: what the user asked for.
        what: the spec or lock as the user named it, for messages.
        progress: told which backend is taken and why.

    Raises:
        UsageError: --name and --prefix together, a name that breaks the rules, or no name; --backend venv for conda's
            packages.
        ExistsError: the environment of that name, or at that place, was made by the other backend.
    """
    name = _name(default, options, what)
    there = environments.read_environment(options.prefix) if options.prefix is not None else _environment_named(name)
    chosen = _choose(lock, platform, options, there)
    backend, why = chosen.backend, chosen.why
    is_given_up = options.prefix is not None and options.replace
    if there is not None and not is_given_up and there.backend and there.backend != backend:
        raise ExistsError(
            f"There is an environment {name} already, made by the backend {there.backend} at {there.prefix}.",
            why=f"This one is made by the backend {backend}: {why or 'so you asked'}.",
            hint=f"Keep both with --name {name}_{backend}, or `envkit remove {environments.word_for(there)}` first.",
        )
    if why is not None:
        progress.note(f"backend: {backend}, because {why}.")
    return Place(name, _prefix(name, backend, options, there), backend, chosen.interpreter, chosen.missing)


def _environment_named(name: str) -> Environment | None:
    """The environment of that name in envkit's folder, or in one of conda's."""
    found = environments.read_environment(environments.prefix_at(str(paths.envs_dir() / name)))
    if found is not None:
        return found
    named = [prefix for prefix in environments.registered_prefixes() if prefix.name == name]
    folders = conda_envs_dirs() if named else ()
    return next(
        (there for prefix in named if prefix.parent in folders and (there := environments.read_environment(prefix))),
        None,
    )


def _name(default: str | None, options: CreateOptions, what: str) -> str:
    if options.name is not None and options.prefix is not None:
        raise UsageError("--name and --prefix exclude each other.", hint="A prefix is named after its last folder.")
    if options.prefix is not None:
        return options.prefix.name or str(options.prefix)
    name = options.name if options.name is not None else default
    if name is None:
        raise UsageError(
            f"{what} does not say which torch it holds, so the environment has no version name.",
            hint="Give it one with --name N.",
        )
    check_environment_name(name)
    return name


def _prefix(name: str, backend: Backend, options: CreateOptions, there: Environment | None) -> Path:
    if options.prefix is not None:
        return options.prefix
    if there is not None:
        return there.prefix
    folder = paths.envs_dir() / name if backend == "venv" else prefix_for(name, conda_envs_dirs())
    return environments.prefix_at(str(folder))


@dataclass(frozen=True, slots=True)
class _Choice:
    """A backend, and why it is taken: None where the user said so, or where it stays what it was."""

    backend: Backend
    why: str | None = None
    interpreter: Interpreter | None = None
    missing: UnfitMachineError | None = None


def _choose(lock: Lock, platform: str, options: CreateOptions, there: Environment | None) -> _Choice:
    if lock.installer == "conda":
        if options.backend == "venv":
            raise UsageError(
                "--backend venv cannot hold conda's packages.",
                why=f"{lock.path or lock.spec} has installer: conda.",
                hint="Leave the option out, or take a spec with installer: pip.",
            )
        return _Choice("conda", None if options.backend == "conda" else "the installer is conda")
    if options.backend in {"conda", "venv"}:
        return _Choice("conda" if options.backend == "conda" else "venv")
    if there is not None and there.backend in {"conda", "venv"}:
        return _Choice("conda" if there.backend == "conda" else "venv")
    return _choose_freely(lock, platform, options)


def _choose_freely(lock: Lock, platform: str, options: CreateOptions) -> _Choice:
    if lock.platforms[platform].base:
        return _Choice("conda", "the lock holds its conda packages")
    program = find_conda()
    if options.python is not None and not is_version(options.python):
        return _Choice("venv", "--python names a program")
    if program is not None:
        why = f"there is {program.name} on this machine ({program.path}); --backend venv does without"
        return _Choice("conda", why)
    try:
        found = find_interpreter(lock.python, options.python)
    except UnfitMachineError as error:
        if options.python is not None:  # the user wants one that is not here
            raise
        why = f"there is neither conda nor a Python {lock.python} here; conda-forge's is taken"
        return _Choice("conda", why, missing=error)
    return _Choice("venv", f"there is no conda here, and Python {found.version} is ({found.found_via})", found)
