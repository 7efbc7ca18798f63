"""Projects' own folders in an environment of the installer conda: what they depend on has to be conda's."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from envkit.errors import InstallerMixedError
from envkit.installers.beside import requirements_in
from envkit.installers.installed import installed_packages
from envkit.installers.mixing import CONDA_NAMES, conda_owners
from envkit.installers.resolution_errors import ResolutionError
from envkit.model.additions import Editable
from envkit.operations.add_question import Project
from envkit.operations.environments import word_for

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.lock import Lock
    from envkit.model.progress import Progress
    from envkit.operations.staging import Stage


def try_conda_project(stage: Stage, lock: Lock, folder: Path, extras: str, progress: Progress) -> Project:
    """Build a project in the stage, and look whether the environment has what it depends on.

    Raises:
        ResolutionError: a package of conda has its name.
        InstallerMixedError: something that it depends on is missing.
        ProgramError: it cannot be built.
    """
    progress.step(f"Building {folder.name}")
    name, version, info = stage.install_editable(folder, progress)
    environment = stage.environment
    if name in conda_owners(environment.prefix):
        raise ResolutionError(
            environment.name,
            f"The project in {folder} cannot be added: {name} is there already, a package of conda's.",
            why="What is locked in an environment never changes, so that it can be restored.",
            hint=f"Make another environment, from a spec without {name}.",
        )
    requires = requirements_in(info)
    there = installed_packages(environment.prefix) | {item.name: item.version for item in lock.additions.editables}
    missing = [text for text in _wanted(requires, extras) if not _is_there(text, there)]
    if missing:
        packages = " ".join(shlex.quote(_for_conda(text)) for text in missing)
        raise InstallerMixedError(
            environment.name,
            "conda",
            "pip",
            needed=f"{', '.join(f'{item.name}{item.specifier}' for item in missing)}, which {folder} needs",
            hint=f"Add that first, from its channels, where names may differ: "
            f"`envkit add {word_for(environment)} {packages}`.",
        )
    return Project(Editable(name, version, str(folder)), extras, requires)


def _wanted(requires: tuple[str, ...], extras: str) -> list[Requirement]:
    """The requirements that count for these extras."""
    names = ["", *(name.strip() for name in extras.strip("[]").split(",") if name.strip())]
    found = [Requirement(text) for text in requires]
    return [
        item
        for item in found
        if item.marker is None or any(item.marker.evaluate({"extra": canonicalize_name(name)}) for name in names)
    ]


def _is_there(requirement: Requirement, there: dict[str, str]) -> bool:
    version = there.get(canonicalize_name(requirement.name))
    return version is not None and requirement.specifier.contains(version, prereleases=True)


def _for_conda(requirement: Requirement) -> str:
    name = canonicalize_name(requirement.name)
    return f"{CONDA_NAMES.get(name, name)}{requirement.specifier}"
