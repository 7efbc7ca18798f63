"""Mending: a replaced environment gets the right bytes, although the cache that it is made from may hold wrong ones."""

from __future__ import annotations

import datetime as dt
import math
import shlex
from typing import TYPE_CHECKING

from envkit import fs
from envkit.errors import DownloadError, EnvkitError, ExistsError
from envkit.installers import pip
from envkit.installers.content import check_content, glance_at_content
from envkit.installers.installed import distributions
from envkit.installers.uv import uv_cache_dir
from envkit.installers.uv_cache import heal_archives
from envkit.operations.content import environments_sharing, lines_of
from envkit.operations.environments import read_environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from envkit.model.content import ContentReport, FileFinding
    from envkit.model.progress import Progress
    from envkit.operations.build import Plan

_TOLD = 3


def check_new_files(plan: Plan, python: Path, progress: Progress) -> None:
    """Compare what was just installed with its RECORDs, and install anew what differs, past uv's cache.

    Only for ``--replace``: who makes an environment again may have a reason, and it costs about a second per gigabyte.
    Where that succeeded, the cache is put right as well: the next environment is made from it.

    Raises:
        DownloadError: the right files cannot be had, or the disk does not give back what is written to it.
    """
    if not plan.options.replace:
        return
    progress.step("check the files by their hashes")
    report = check_content(plan.prefix)
    if not report.findings:
        return
    progress.note(f"What was installed is not what the packages say: {_told(report.findings)}. Installing it anew.")
    for name in environments_sharing(plan.prefix, report.findings):
        progress.note(
            f"{name} holds the same bytes and stays as it is: `envkit restore {shlex.quote(name)} --replace`."
        )
    cache = plan.prefix / ".envkit-fresh-cache"  # on the prefix's own disk: a CUDA build fills many a /tmp
    try:
        _install_anew(plan, python, report, cache, progress)
        _check_again(plan, report, progress)
        if plan.options.engine == "uv":
            _heal_cache(plan, report, cache, progress)
    finally:
        fs.remove_tree(cache)


def _install_anew(plan: Plan, python: Path, report: ContentReport, cache: Path, progress: Progress) -> None:
    damaged = set(report.damaged_packages)
    packages = [item for item in plan.lock.platforms[plan.platform].packages if item.name in damaged]
    cache.mkdir(exist_ok=True)
    try:
        pip.install(
            python,
            packages,
            plan.files,
            python_version=plan.interpreter.version,
            engine=plan.options.engine,
            config=plan.config,
            offline=plan.options.offline,
            progress=progress,
            fresh_cache=cache,
        )
    except EnvkitError as error:
        raise DownloadError(
            f"The cache of {plan.options.engine} holds changed files of {', '.join(sorted(damaged))}, and the right "
            "ones cannot be had.",
            why=f"{error.message} {error.why or ''}".strip(),
            hint=f"Name a folder that holds {', '.join(item.file for item in packages[:_TOLD])} with --wheelhouse DIR"
            f"{', or leave out --offline' if plan.options.offline else ''}. {error.hint or ''}".strip(),
        ) from error


def _check_again(plan: Plan, before: ContentReport, progress: Progress) -> None:
    """What a wheel with the locked hash says wrongly of itself, it says twice; all else is a failure."""
    again = check_content(plan.prefix)
    wrong = [item for item in again.findings if item not in before.findings]
    if wrong:
        raise DownloadError(
            f"What was written to {plan.prefix} is not what the packages say, twice: {_told(wrong)}.",
            why="The files were unpacked anew from wheels with the locked hashes.",
            hint="Look at the disk and the memory of this machine.",
        )
    if again.findings:
        progress.note(f"The wheels themselves say so wrongly, and have the locked hashes: {_told(again.findings)}.")


def _heal_cache(plan: Plan, report: ContentReport, cache: Path, progress: Progress) -> None:
    damaged = set(report.damaged_packages)
    folders = [folder.name for name, _, folder in distributions(plan.prefix) if name in damaged]
    try:
        healed = heal_archives(uv_cache_dir(), cache, folders)
    except (OSError, EnvkitError) as error:  # the environment itself is right
        progress.note(f"uv's cache still holds the changed files: {error}")
        return
    if healed:
        progress.note(f"Put right in uv's cache: {healed} files of {', '.join(sorted(damaged))}.")


def refuse_changed_files(name: str, prefix: Path) -> None:
    """An environment whose files were obviously changed is not "already there"; most files are not read for that.

    Raises:
        ExistsError: so.
    """
    environment = read_environment(prefix)
    if environment is None or environment.state != "complete":
        return
    findings = glance_at_content(prefix, _unix_time(environment.created_at)).findings
    if findings:
        raise ExistsError(
            f"{name} no longer holds what its packages say: {_told(findings)}.",
            why="Files in it were changed or deleted since it was made.",
            hint="Make it again with --replace, or a second one with --name N.",
        )


def _told(findings: Sequence[FileFinding]) -> str:
    return ", ".join(lines_of(findings, _TOLD))


def _unix_time(text: str) -> float:
    """Seconds since 1970; endless for a time that is none, so that nothing counts as newer."""
    try:
        return dt.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=dt.timezone.utc).timestamp()
    except ValueError:
        return math.inf
