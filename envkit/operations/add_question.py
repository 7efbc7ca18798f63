"""What an addition asks for, and its answer: the packages that come beside what is locked."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from envkit.errors import DownloadError, EnvkitError
from envkit.installers.beside import Fixed, extras_of, requirements_in, resolve_beside
from envkit.installers.resolution_errors import ResolutionError
from envkit.model.additions import Addition, Editable
from envkit.probes.host import current_platform

if TYPE_CHECKING:
    from pathlib import Path

    from packaging.requirements import Requirement

    from envkit.model.environment import Environment
    from envkit.model.lock import Lock
    from envkit.model.locked import LockedPackage
    from envkit.model.progress import Progress
    from envkit.operations.staging import Stage


_COMPANIONS = {"torchaudio", "torchcodec", "torchtext", "torchvision", "xformers"}
"""Compiled against one build of torch; with another one their operators are missing."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked for: requirements, and projects' folders with their extras in brackets."""

    requirements: tuple[Requirement, ...]
    projects: tuple[tuple[Path, str], ...]


@dataclass(frozen=True, slots=True)
class Project:
    """A project that was tried: its entry in the lock, and what it requires."""

    editable: Editable
    extras: str
    requires: tuple[str, ...]


def check_locked(environment: Environment, lock: Lock, asked: Question) -> None:
    """Refuse, before anything is asked of an index, what would change a locked package."""
    for requirement in asked.requirements:
        found = lock.package(current_platform(), canonicalize_name(requirement.name))
        if found is not None and not requirement.specifier.contains(found.version, prereleases=True):
            raise _cannot_change(environment, found, str(requirement))


def _cannot_change(environment: Environment, found: LockedPackage, asked: str) -> ResolutionError:
    return ResolutionError(
        environment.name,
        f"{asked} cannot be added: {found.name} is locked at {found.version}.",
        why="What is locked in an environment never changes, so that it can be restored.",
        hint=f"You cannot change {found.name}; make another environment from a spec with the version that you need.",
    )


def try_project(stage: Stage, lock: Lock, folder: Path, extras: str, progress: Progress) -> Project:
    """Build a project in the stage; one that a locked package has the name of is refused.

    Raises:
        ResolutionError: so.
        ProgramError: it cannot be built.
    """
    progress.step(f"Building {folder.name}")
    name, version, info = stage.install_editable(folder, progress)
    locked = lock.package(current_platform(), name)
    if locked is not None:
        raise _cannot_change(stage.environment, locked, f"The project in {folder}")
    return Project(Editable(name, version, str(folder)), extras, requirements_in(info))


def resolve_addition(
    stage: Stage, lock: Lock, asked: Question, projects: tuple[Project, ...]
) -> tuple[LockedPackage, ...]:
    """The packages that have to come, by name.

    Raises:
        ResolutionError: they do not fit what is locked, or there are none.
        DownloadError: an index could not be asked.
    """
    environment, platform = stage.environment, current_platform()
    extras = extras_of(environment.prefix)
    there = {item.name: item.version for item in lock.additions.editables}
    there |= {item.name: item.version for item in lock.platforms[platform].packages}
    new = {project.editable.name: project for project in projects}
    fixed = [
        Fixed(name, version, extras.get((name, version), ())) for name, version in there.items() if name not in new
    ]
    fixed += [Fixed(name, item.editable.version, item.requires) for name, item in new.items()]
    texts = [str(requirement) for requirement in asked.requirements]
    texts += [f"{name}{item.extras}=={item.editable.version}" for name, item in new.items() if item.extras]
    try:
        found = resolve_beside(
            fixed,
            texts,
            label=environment.name,
            python=environment.python,
            platform=platform,
            config=stage.config,
            offline=stage.offline,
        )
    except ResolutionError as error:
        raise _told(error, environment, texts or list(new)) from error
    without = [item.file for item in found if item.sha256 is None]
    if without:
        raise DownloadError(
            f"Your default index does not state the hash of {', '.join(without)}.",
            why="What is locked is checked by its hash each time it is installed.",
        )
    _check_companions(environment, lock, found)
    return found


def _check_companions(environment: Environment, lock: Lock, found: tuple[LockedPackage, ...]) -> None:
    """Refuse what has to be of the same build as torch, and is not: the default index has another build of it."""
    torch = lock.package(current_platform(), "torch")
    version = torch.version if torch is not None else ""
    label = version.partition("+")[2]
    for item in found:
        if label and item.name in _COMPANIONS and not item.version.endswith(f"+{label}"):
            raise ResolutionError(
                environment.name,
                f"{item.name} {item.version} of your default index does not belong to torch {version}.",
                why=f"It is compiled for one build of torch, and this torch is the build {label}.",
                hint=f"Name {item.name} in a spec beside torch, with the same source, and make another environment.",
            )


def _told(error: ResolutionError, environment: Environment, texts: list[str]) -> EnvkitError:
    """What it means for an addition that uv found no answer."""
    why, names = error.why or "", ", ".join(texts)
    if "network was disabled" in why:
        return DownloadError(
            f"Offline, and not all of {names} is on this disk.",
            why=why,
            hint="Go online once, or name a folder that holds the files as find-links in pip's configuration.",
        )
    unknown = re.search(r"[Bb]ecause (\S+) was not found in the package registry", why)
    if unknown is not None:
        problem = f"your default index has no package {unknown[1]}."
        return ResolutionError(environment.name, problem, why=why, hint="Is the name right?")
    return ResolutionError(
        environment.name,
        f"{names} cannot be had beside what is locked.",
        why=why,
        hint="Ask for another version of it, or make another environment: what is locked stays as it is.",
    )


def grown_lock(lock: Lock, packages: tuple[LockedPackage, ...], asked: Question, projects: tuple[Project, ...]) -> Lock:
    """The environment's own lock with what is added."""
    platform, additions = current_platform(), lock.additions
    if packages:
        texts = (*map(str, asked.requirements), *(project.editable.name for project in projects))
        addition = Addition(texts, tuple(item.name for item in packages))
        additions = replace(additions, added=(*additions.added, addition))
    for project in projects:
        additions = additions.with_editable(project.editable)
    everything = tuple(sorted((*lock.platforms[platform].packages, *packages), key=lambda item: item.name))
    return replace(lock.with_packages(platform, everything), additions=additions)
