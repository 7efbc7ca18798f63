"""Add to an environment of the installer conda: packages of its lock's channels, and projects' own folders.

As with pip, all that may fail for reasons of the network, of a hash or of a build fails in a stage of its own, which
also shows the files that will come; then a plan is written by which the addition can be undone.
"""

from __future__ import annotations

import filecmp
import os
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from envkit import fs
from envkit.errors import EnvkitError, ExistsError, InstallerRuleError, UnsatisfiableError
from envkit.installers.conda_meta import files_of_record, record_files, record_paths
from envkit.installers.condarc import read_conda_settings
from envkit.installers.editable import install_editable
from envkit.installers.guard import update_guard
from envkit.installers.installed import conda_packages
from envkit.installers.rattler.calls import install, solve
from envkit.installers.refusals import FROZEN, is_own
from envkit.model.additions import Addition
from envkit.model.conda_record import CondaRecord
from envkit.model.formats.environment_text import channels_of
from envkit.operations import journal
from envkit.operations.add_undo import add_folder, write_plan
from envkit.operations.conda_base import INSTALL_TIMEOUT_S, SOLVE_TIMEOUT_S
from envkit.operations.conda_projects import try_conda_project
from envkit.operations.environments import word_for
from envkit.operations.lock import LockChange
from envkit.operations.one_installer import mixed_packages, mixed_text
from envkit.operations.own_files import guarded_by, write_lists
from envkit.operations.virtual_packages import Target, target_cuda, virtual_packages
from envkit.probes.host import current_platform

if TYPE_CHECKING:
    from collections.abc import Sequence

    from envkit.installers.condarc import CondaSettings
    from envkit.model.environment import Environment
    from envkit.model.lock import Lock
    from envkit.model.progress import Progress
    from envkit.operations.add_question import Project
    from envkit.operations.journal import Journal
    from envkit.operations.staging import Stage


_CLOBBERED = re.compile(r"^__clobbers__/[^/]+/")
"""py-rattler puts a file into such a folder, by its package, where another package brings the same file."""


def check_one_installer(environment: Environment, lock: Lock) -> None:
    """Add only to what its installer alone has made, and nobody else has closed.

    Raises:
        InstallerRuleError: the other one has put packages into it, or ``conda-meta/frozen`` is somebody else's.
        InvalidFileError: one of conda's records is damaged.
    """
    record_files(environment.prefix)
    name, word = environment.name, word_for(environment)
    found = mixed_packages(environment, lock, current_platform())
    if found:
        raise InstallerRuleError(
            f"{name} holds packages that its installer did not put there.",
            why=mixed_text(lock.installer, found),
            hint=f"Make it again: `envkit restore {word} --replace`; then `envkit add {word} PACKAGE` adds to it.",
        )
    frozen = environment.prefix / FROZEN
    if os.path.lexists(frozen) and not is_own(frozen):
        raise InstallerRuleError(
            f"{name} is frozen.",
            why=f"{frozen} says that nobody is to change this environment, and it is not envkit's.",
            hint="Ask whoever froze it, or make an environment of your own.",
        )


def add_by_conda(
    stage: Stage,
    lock: Lock,
    specs: Sequence[str],
    folders: Sequence[tuple[Path, str]],
    pending: Journal,
    progress: Progress,
) -> tuple[LockChange, ...]:
    """Add packages and projects; gives what came.

    Args:
        stage: where projects are tried; of an environment of the installer conda.
        lock: the environment's own.
        specs: MatchSpecs.
        folders: projects, with their extras in brackets.
        pending: the journal of the addition.
        progress: told each step.

    Raises:
        UnsatisfiableError: the packages do not fit what is locked, or there are none.
        ResolutionError: a project needs what is not there, or has the name of a locked package.
        DownloadError: a channel or a package could not be had.
        ExistsError: a file is in the way.
    """
    platform = current_platform()
    projects = tuple(try_conda_project(stage, lock, folder, extras, progress) for folder, extras in folders)
    settings = read_conda_settings()
    records = _solve(stage, lock, specs, settings, progress) if specs else ()
    if records or projects:
        grown = _grown(lock, platform, records, specs, projects)
        coming = _try(stage, lock, records, settings, progress) if records else set()
        journal.enter(pending, "add")
        _apply(stage, grown, records, coming, projects, settings, progress)
    before = {item.name: item.version for item in lock.additions.editables}
    changes = [LockChange(platform, item.name, None, item.version) for item in records]
    changes += [
        LockChange(platform, item.name, before.get(item.name), item.version)
        for item in (project.editable for project in projects)
    ]
    return tuple(sorted(changes, key=lambda change: change.name))


def _solve(
    stage: Stage, lock: Lock, specs: Sequence[str], settings: CondaSettings, progress: Progress
) -> tuple[CondaRecord, ...]:
    """The packages that have to come, by name; what is locked stays, build for build."""
    platform, name = current_platform(), stage.environment.name
    base = lock.platforms[platform].base
    progress.step("Resolving what is new")
    channels = channels_of(base, lock.channels)
    hint = (
        f"It takes packages of {', '.join(channels)}, and what is locked in it never changes. Another environment, "
        "from a spec of your own, may have both."
    )
    try:
        found = solve(
            channels,
            [*specs, *(f"{item.channel}::{item.name}=={item.version}={item.build}" for item in base)],
            platform=platform,
            virtual_packages=virtual_packages(platform, cuda=target_cuda(lock.cuda, platform, Target(), progress)),
            settings=settings,
            offline=stage.offline,
            timeout_s=SOLVE_TIMEOUT_S,
            progress=progress,
            locked=[item.to_dict() for item in base],
            holds=True,
        )
    except UnsatisfiableError as error:
        error.message, error.hint = f"{', '.join(specs)} cannot be added to {name}.", hint
        raise
    records = [CondaRecord.from_dict(item) for item in found]
    locked = {item.name: item for item in base}
    other = [item for item in records if item.name in locked and item.identity != locked[item.name].identity]
    if other:
        changed = ", ".join(f"{item.name} {item.version} {item.build}" for item in other)
        message = f"{', '.join(specs)} cannot be added to {name}."
        reason = f"The locked packages would become {changed}."
        raise UnsatisfiableError(message, reason=reason, why=reason, hint=hint)
    new = (item for item in records if item.name not in locked)
    return tuple(sorted(new, key=lambda item: item.name))


def _try(
    stage: Stage, lock: Lock, records: Sequence[CondaRecord], settings: CondaSettings, progress: Progress
) -> set[str]:
    """Install packages beside the environment; gives the files that will come."""
    progress.step(f"Getting {len(records)} packages by py-rattler")
    prefix = stage.environment.prefix
    folder = add_folder(prefix) / "conda"
    python = lock.platforms[current_platform()].record("python")  # its version decides where the files lie
    _install((*records, *((python,) if python is not None else ())), folder, settings, stage, progress, add=False)
    names = {item.name for item in records}
    _check_not_there(stage.environment, names)
    coming = set()
    for record in record_paths(folder):
        name, files = files_of_record(record)
        if name in names:
            coming |= {f"conda-meta/{record.name}", *(file.path for file in files)}
    for relative in sorted(coming):
        there, new = prefix / _CLOBBERED.sub("", relative), folder / relative
        is_same = there.is_file() and new.is_file() and filecmp.cmp(there, new, shallow=False)
        if os.path.lexists(there) and not is_same:
            raise ExistsError(
                f"{there.relative_to(prefix)} is there already, and {', '.join(sorted(names))} would write over it.",
                why="Nothing was changed: what is installed stays as it is.",
                hint="Move that file away if it is yours, or make another environment.",
            )
    return coming


def _check_not_there(environment: Environment, names: set[str]) -> None:
    """What conda itself has installed beside the lock has to go first: two packages would share their files."""
    there = sorted({path.name.rsplit("-", 2)[0] for path in record_paths(environment.prefix)} & names)
    if there:
        shown, word = " ".join(there), word_for(environment)
        raise ExistsError(
            f"{', '.join(there)}: already in {environment.name}, and not in its lock.",
            why="conda itself, or another program, has installed it there.",
            hint=f"Take it out first: `conda remove -p {shlex.quote(str(environment.prefix))} {shown}`, or all that is "
            f"not locked: `envkit restore {word} --replace`.",
        )


def _install(
    records: Sequence[CondaRecord],
    prefix: Path,
    settings: CondaSettings,
    stage: Stage,
    progress: Progress,
    *,
    add: bool,
) -> None:
    report = install(
        [item.to_dict() for item in records],
        prefix,
        settings=settings,
        platform=current_platform(),
        offline=stage.offline,
        timeout_s=INSTALL_TIMEOUT_S,
        progress=progress,
        add=add,
    )
    if report.unlinked_scripts and add:
        progress.note(f"Link scripts of {', '.join(report.unlinked_scripts)} were not run.")


def _apply(
    stage: Stage,
    lock: Lock,
    records: Sequence[CondaRecord],
    coming: set[str],
    projects: Sequence[Project],
    settings: CondaSettings,
    progress: Progress,
) -> None:
    """Change the environment, by a plan that undoes it."""
    environment, platform = stage.environment, current_platform()
    prefix = environment.prefix
    of_projects = stage.coming()
    leaving = stage.leaving(set(of_projects))
    stage.check_collisions(of_projects, leaving)
    progress.step("Installing")
    records_there = {f"conda-meta/{path.name}" for path in record_paths(prefix)}  # may be written again
    write_plan(prefix, coming.union(*of_projects.values()), {*leaving, *records_there, "conda-meta/history"})
    if records:  # with all the others, since py-rattler notes for all of them who asked for them; they stay as they are
        _install(lock.platforms[platform].base, prefix, settings, stage, progress, add=True)
    for project in projects:
        folder = Path(project.editable.path)
        install_editable(environment.executable, folder, stage.config, offline=stage.offline, progress=progress)
    found = conda_packages(prefix)
    wrong = [item.name for item in records if found.get(item.name) != f"{item.version} {item.build}"]
    if wrong:
        raise EnvkitError(
            f"The installer did not install what was resolved: {', '.join(wrong)}.",
            why="This is a defect of envkit; nothing was kept.",
            hint="Please report it.",
        )
    write_lists(prefix, lock, platform)
    if environment.guard:
        update_guard(guarded_by(prefix, lock, platform))
    fs.flush(prefix)


def _grown(
    lock: Lock, platform: str, records: Sequence[CondaRecord], specs: Sequence[str], projects: Sequence[Project]
) -> Lock:
    additions = lock.additions
    if records:
        added = Addition(tuple(specs), tuple(item.name for item in records))
        additions = replace(additions, added=(*additions.added, added))
    for project in projects:
        additions = additions.with_editable(project.editable)
    base = tuple(sorted((*lock.platforms[platform].base, *records), key=lambda item: item.name))
    return replace(lock.with_base(platform, base), additions=additions)
