"""The single looks that ``envkit doctor`` takes; each answers with findings and raises for nothing that is broken."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from envkit import paths
from envkit.errors import UPDATE, EnvkitError, InvalidFileError
from envkit.installers.guard import changed_guard_files
from envkit.model.finding import Finding
from envkit.operations import journal
from envkit.operations.content import check_environment, counted, lines_of, sharing_text
from envkit.operations.editables import is_project
from envkit.operations.environments import registered_prefixes, word_for
from envkit.operations.own_files import guarded_by, lock_for, own_lock
from envkit.operations.places import place_options
from envkit.probes.host import current_platform

if TYPE_CHECKING:
    from collections.abc import Iterator

    from envkit.model.environment import Environment
    from envkit.operations.content import ContentCheck

_ASIDE = re.compile(r"\..+\.envkit-(?:old|gone)-[0-9a-f]{8}")
"""Folders that are moved aside while an environment is replaced or removed."""


def of_state(environment: Environment) -> list[Finding]:
    """Whether an environment is whole, as far as a few looks tell."""
    if environment.state == "complete":
        return [] if environment.last_verify != "fail" else [_failed(environment)]
    if environment.state == "incomplete":
        return [_incomplete(environment)]
    name = environment.name
    gone = bool(environment.id) and not os.path.exists(environment.executable)  # noqa: PTH110 - raises for no permission
    return [
        Finding(
            "interpreter-gone" if gone else "environment-broken",
            "error",
            f"{name} is broken.",
            why=environment.problem,
            fix=(
                f"Make it again: `envkit restore {word_for(environment)} --replace`, or create it with --replace.",
                f"Or remove it: `envkit remove {word_for(environment)}`.",
            ),
            evidence=(str(environment.prefix),),
        )
    ]


def _failed(environment: Environment) -> Finding:
    return Finding(
        "verification-failed",
        "error",
        f"The last verification of {environment.name} failed.",
        fix=(
            f"See which layer: `envkit verify {word_for(environment)}`.",
            f"Make it again: `envkit restore {word_for(environment)} --replace`.",
        ),
    )


def _incomplete(environment: Environment) -> Finding:
    evidence = (str(environment.prefix), str(journal.journal_path(environment.prefix)))
    try:
        pending = journal.read(environment.prefix)
    except InvalidFileError as error:
        message = f"{environment.name} is incomplete: a newer envkit is, or was, at work on it."
        return Finding("environment-in-work", "warning", message, why=error.message, fix=(UPDATE,), evidence=evidence)
    liveness = "dead" if pending is None else pending.owner.liveness()
    if liveness != "dead":
        is_sure = liveness == "alive"
        return Finding(
            "environment-in-work",
            "note" if is_sure else "warning",
            f"{environment.name} is incomplete: envkit {'is' if is_sure else 'may be'} at work on it.",
            why=environment.problem,
            fix=() if is_sure else ("If that has died, run the command that it was with --break-lock.",),
            evidence=evidence,
        )
    return Finding(
        "environment-incomplete",
        "error",
        f"{environment.name} is incomplete.",
        why=environment.problem,
        fix=(
            "Run the `envkit create` or `envkit restore` that was to make it again; it cleans up first.",
            f"Or remove it: `envkit remove {word_for(environment)}`.",
        ),
        evidence=evidence,
    )


def of_projects(environment: Environment) -> list[Finding]:
    """Whether the folders of editable projects are still there."""
    try:
        projects = own_lock(environment).additions.editables
    except EnvkitError:  # the lock is told elsewhere
        return []
    gone = tuple(f"{item.name}: {item.path}" for item in projects if not is_project(Path(item.path)))
    if not gone:
        return []
    return [
        Finding(
            "project-gone",
            "error",
            f"Folders of editable projects in {environment.name} are gone.",
            why="Such a project is imported from its own folder.",
            fix=(f"Put it back, or name its new place: `envkit add {word_for(environment)} -e DIR`.",),
            evidence=gone,
        )
    ]


def of_contents(environment: Environment) -> list[Finding]:
    """Whether the packages are what the lock says, and the files what the packages say."""
    try:
        platform = current_platform()
        check = check_environment(environment, lock_for(environment, platform), platform)
    except EnvkitError as error:
        again, place = f"envkit restore {word_for(environment)} --replace", place_options(environment.prefix)
        ways = (
            f"Make it again from its newest snapshot: `{again}`.",
            f"Without a snapshot: `envkit create SPEC {place} --replace`.",
        )
        return [
            Finding(
                "lock-unreadable",
                "error",
                f"What belongs into {environment.name} cannot be told.",
                why=error.message,
                fix=(UPDATE,) if error.hint == UPDATE else ways,
            )
        ]
    except OSError:
        return []  # told with the list of packages
    return of_check(environment, check)


def of_check(environment: Environment, check: ContentCheck) -> list[Finding]:
    """What a look at all files has found."""
    return [*_files(environment, check), *_versions(environment, check), *_oddities(environment, check)]


def _files(environment: Environment, check: ContentCheck) -> Iterator[Finding]:
    findings = check.files.findings
    again = f"envkit restore {word_for(environment)} --replace"
    if not findings:
        return
    fix = [f"Make it again: `{again}`. It takes no wrong bytes from the cache."]
    fix += [f"The same for {name}: `envkit restore {shlex.quote(name)} --replace`." for name in check.sharing]
    shared = sharing_text(check.sharing) if check.sharing else None
    yield Finding(
        "files-changed",
        "error",
        f"{counted(findings)} in {environment.name}.",
        why=shared or "They were changed or deleted after the installation, or the disk or the cache is damaged.",
        fix=tuple(fix),
        evidence=tuple(lines_of(findings)),
    )


def _versions(environment: Environment, check: ContentCheck) -> Iterator[Finding]:
    lost = [item for item in check.lost if item.installer is None or item.installed is None]  # else: of_installers
    added = [item for item in check.added if item.installer is None]
    if lost:
        yield Finding(
            "packages-differ",
            "error",
            f"{environment.name} does not hold the packages that its lock names.",
            why="Something was installed or removed in it since.",
            fix=(f"Make it again: `envkit restore {word_for(environment)} --replace`.",),
            evidence=tuple(map(str, lost)),
        )
    if added:
        yield Finding(
            "packages-added",
            "note",
            f"{environment.name} holds packages that its lock does not name.",
            why="`envkit restore` does not bring them back.",
            evidence=tuple(map(str, added)),
        )


def _oddities(environment: Environment, check: ContentCheck) -> Iterator[Finding]:
    for name, folders in check.files.duplicates:
        yield Finding(
            "package-twice",
            "error",
            f"{name} is installed twice in {environment.name}.",
            why="Two versions wrote into the same folder; which files are whose is left to chance.",
            fix=(f"Make it again: `envkit restore {word_for(environment)} --replace`.",),
            evidence=folders,
        )
    if check.files.leftovers:
        yield Finding(
            "pip-leftovers",
            "warning",
            f"pip or uv was cut off in {environment.name} and left something behind.",
            why="pip renames what it uninstalls to a name with `~`, uv copies to `.tmp...` first. Python imports none "
            "of that; it takes space.",
            fix=("Delete these entries of site-packages.",),
            evidence=check.files.leftovers,
        )


def of_guard(environment: Environment) -> list[Finding]:
    """Whether what keeps pip and uv from the locked versions is still there."""
    if not environment.guard:
        return []
    try:
        platform = current_platform()
        changed = changed_guard_files(guarded_by(environment.prefix, lock_for(environment, platform), platform))
    except (EnvkitError, OSError):  # the lock is told elsewhere
        return []
    if not changed:
        return []
    return [
        Finding(
            "guard-missing",
            "warning",
            f"The guard of {environment.name} is gone, or was changed.",
            why="pip, uv or conda may change in it what is locked.",
            fix=(f"`envkit hooks install {word_for(environment)}`",),
            evidence=tuple(map(str, changed)),
        )
    ]


def leftovers_of_envkit() -> list[Finding]:
    """Folders of replaced and removed environments that no journal leads to any more."""
    homes = dict.fromkeys([paths.envs_dir(), *(prefix.parent for prefix in registered_prefixes())])
    folders = [str(folder) for home in homes for folder in _forgotten(home)]
    if not folders:
        return []
    return [
        Finding(
            "old-folders",
            "warning",
            "Folders of environments that were replaced or removed are still there.",
            why="envkit was cut off while it deleted them, or while it built what was to replace them.",
            fix=("Look into them, then delete them.",),
            evidence=tuple(folders),
        )
    ]


def _forgotten(home: Path) -> list[Path]:
    try:
        names = sorted(os.listdir(home))  # noqa: PTH208 - names
    except OSError:
        return []
    prefixes = [home / name for name in map(journal.prefix_of, names) if name is not None]
    awaited = {folder for prefix in prefixes for folder in _awaited(prefix)}
    return [home / name for name in names if _ASIDE.fullmatch(name) and home / name not in awaited]


def _awaited(prefix: Path) -> tuple[Path, ...]:
    """Where a change that has not ended keeps things; it is told as such."""
    try:
        pending = journal.read(prefix)
    except InvalidFileError:
        return ()
    return () if pending is None else (pending.old, pending.gone)
