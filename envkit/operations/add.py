"""Add: more packages for an environment, beside what is locked there; all of them, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envkit import fs
from envkit.errors import BusyError, EnvkitError, InstallerMixedError, UsageError
from envkit.installers.editable import install_editable
from envkit.installers.guard import update_guard
from envkit.installers.indexes import read_pip_config
from envkit.installers.installed import installed_packages
from envkit.model.requirements import parse_requirement
from envkit.operations import journal
from envkit.operations.add_conda import add_by_conda, check_one_installer
from envkit.operations.add_question import Question, check_locked, grown_lock, resolve_addition, try_project
from envkit.operations.add_undo import clear_add_folder, has_plan, write_plan
from envkit.operations.build import put_back
from envkit.operations.editables import project_folder
from envkit.operations.environments import EnvironmentStateError, find_environment, usable_environment, word_for
from envkit.operations.lock import LockChange
from envkit.operations.locking import LOCK_TIMEOUT_S, prefix_lock
from envkit.operations.own_files import drift_text, guarded_by, own_lock, write_lists
from envkit.operations.recovery import recover
from envkit.operations.staging import new_stage
from envkit.probes.host import current_platform

if TYPE_CHECKING:
    from collections.abc import Sequence

    from envkit.model.environment import Environment
    from envkit.model.lock import Lock
    from envkit.model.locked import LockedPackage
    from envkit.model.progress import Progress
    from envkit.operations.add_question import Project
    from envkit.operations.journal import Journal
    from envkit.operations.staging import Stage

_TO_ADD = "Name it behind the environment: `envkit add ENV REQUIREMENT`, or a project's folder with -e DIR."


@dataclass(frozen=True, slots=True)
class AddResult:
    """What was added.

    Attributes:
        environment: the environment.
        lock: its own lock.
        changes: one for each package and each project; none when all was there already.
    """

    environment: Environment
    lock: Path
    changes: tuple[LockChange, ...]

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit add --json`` (docs/json.md)."""
        return {
            "environment": self.environment.to_json(),
            "lock": str(self.lock),
            "changes": [change.to_json() for change in self.changes],
        }


def add(
    env: str,
    requirements: Sequence[str],
    *,
    editables: Sequence[str] = (),
    offline: bool = False,
    progress: Progress,
    lock_timeout_s: float = LOCK_TIMEOUT_S,
    break_lock: bool = False,
) -> AddResult:
    """Add packages, and projects' own folders, to an environment; what is locked in it stays as it is.

    Args:
        env: name or path.
        requirements: PEP 508, by names; MatchSpecs for the installer conda.
        editables: folders, with extras if need be: ``DIR[EXTRA]``.
        offline: only this disk and uv's cache are asked.
        progress: told each step.
        lock_timeout_s: how long another envkit is waited for.
        break_lock: whether a change by another machine that shows no sign of life counts as cut off.

    Raises:
        EnvironmentStateError: it is not whole.
        UsageError: a requirement that is none, or a folder without a project.
        InstallerRuleError: another installer has put packages into it.
        ResolutionError: the packages do not fit what is locked, or there are none.
        DownloadError: a file or an index could not be had.
        ExistsError: a package would write over a file of another one.
    """
    folders = tuple(project_folder(text) for text in editables)
    if not requirements and not editables:
        raise UsageError("There is nothing to add.", hint=_TO_ADD)
    found = find_environment(env)
    prefix, is_conda = found.prefix, found.installer == "conda"
    asked = Question(() if is_conda else tuple(parse_requirement(text) for text in requirements), folders)
    with prefix_lock(prefix, "add", progress, timeout_s=lock_timeout_s, break_lock=break_lock):
        recover(prefix, progress, timeout_s=lock_timeout_s, break_lock=break_lock)
        environment = usable_environment(str(prefix))
        lock = own_lock(environment)
        if environment.installer != found.installer:
            raise BusyError(f"{environment.name} has been made anew meanwhile.", hint="Look at it and run again.")
        _check_installer(environment, lock)
        _check_whole(environment, lock)
        pending = journal.begin(prefix, "add")  # while there is no plan, the environment is as good as before
        try:
            if is_conda:
                stage = new_stage(environment, read_pip_config(), offline=offline)
                changes = add_by_conda(stage, lock, requirements, folders, pending, progress)
            else:
                changes = _add(environment, lock, asked, pending, offline=offline, progress=progress)
            _finish(pending)
        except BaseException:
            if journal.read(prefix) == pending:  # else the plan is not ours: another machine has taken over
                put_back(pending, progress)
            raise
    return AddResult(environment, environment.envkit_dir / "lock.yaml", changes)


def _check_installer(environment: Environment, lock: Lock) -> None:
    if lock.installer != environment.installer:
        again = f"Its record and its lock disagree: `envkit restore {word_for(environment)} --replace`."
        raise InstallerMixedError(
            environment.name, environment.installer, lock.installer, needed="its lock", hint=again
        )
    check_one_installer(environment, lock)


def _check_whole(environment: Environment, lock: Lock) -> None:
    """Add only to what is as locked: "all of it is there" would be said of the lock, not of the environment."""
    told = drift_text(environment.prefix, lock, current_platform(), with_added=False)
    if told is not None:
        raise EnvironmentStateError(
            f"{environment.name} no longer holds what its lock says: {told}.",
            hint=f"Make it again first: `envkit restore {word_for(environment)} --replace`.",
        )


def _add(
    environment: Environment, lock: Lock, asked: Question, pending: Journal, *, offline: bool, progress: Progress
) -> tuple[LockChange, ...]:
    platform = current_platform()
    check_locked(environment, lock, asked)
    stage = new_stage(environment, read_pip_config(), offline=offline)
    projects = tuple(try_project(stage, lock, folder, extras, progress) for folder, extras in asked.projects)
    progress.step("Resolving what is new")
    packages = resolve_addition(stage, lock, asked, projects)
    if packages:
        progress.step(f"Getting {len(packages)} packages by {environment.engine}")
        stage = stage.install(packages, progress)
    if packages or projects:
        _tell_drift(environment, packages, progress)
        grown = grown_lock(lock, packages, asked, projects)
        journal.enter(pending, "add")  # still ours: nobody has taken it over meanwhile
        _apply(stage, grown, packages, projects, progress)
    before = {item.name: item.version for item in lock.additions.editables}
    changes = [LockChange(platform, item.name, None, item.version) for item in packages]
    changes += [
        LockChange(platform, item.name, before.get(item.name), item.version)
        for item in (project.editable for project in projects)
    ]
    return tuple(sorted(changes, key=lambda change: change.name))


def _tell_drift(environment: Environment, packages: tuple[LockedPackage, ...], progress: Progress) -> None:
    installed = installed_packages(environment.prefix)
    for item in packages:
        if item.name in installed:
            found = installed[item.name]
            becomes = "" if found == item.version else f"; it becomes {item.version}"
            progress.note(f"{item.name} {found} was installed by hand{becomes}; it is locked now.")


def _apply(
    stage: Stage,
    lock: Lock,
    packages: tuple[LockedPackage, ...],
    projects: tuple[Project, ...],
    progress: Progress,
) -> None:
    """Change the environment, by a plan that undoes it."""
    environment = stage.environment
    prefix, platform = environment.prefix, current_platform()
    coming = stage.coming()
    leaving = stage.leaving(set(coming))
    stage.check_collisions(coming, leaving)
    progress.step("Installing")
    write_plan(prefix, set().union(*coming.values()), leaving)
    if packages:
        stage.into(environment.executable, packages, progress, replace_others=True)
    for project in projects:
        folder = Path(project.editable.path)
        install_editable(environment.executable, folder, stage.config, offline=stage.offline, progress=progress)
    _check_installed(environment, packages, projects)
    write_lists(prefix, lock, platform)
    if environment.guard:
        update_guard(guarded_by(prefix, lock, platform))
    fs.flush(prefix)


def _finish(pending: Journal) -> None:
    """With the plan goes the possibility to undo: all is added then, whatever comes after."""
    try:
        clear_add_folder(pending.prefix)
    except OSError:
        if has_plan(pending.prefix):
            raise
    journal.end(pending)


def _check_installed(
    environment: Environment, packages: tuple[LockedPackage, ...], projects: tuple[Project, ...]
) -> None:
    wanted = {item.name: item.version for item in packages}
    wanted |= {project.editable.name: project.editable.version for project in projects}
    installed = installed_packages(environment.prefix)
    wrong = sorted(name for name, version in wanted.items() if installed.get(name) != version)
    if wrong:
        raise EnvkitError(
            f"The installer did not install what was resolved: {', '.join(wrong)}.",
            why="This is a defect of envkit; nothing was kept.",
            hint="Please report it.",
        )
