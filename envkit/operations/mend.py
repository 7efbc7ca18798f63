"""Mending: a replaced environment gets the right bytes, although the cache that it is made from may hold wrong ones."""

from __future__ import annotations

import datetime as dt
import math
import re
import shlex
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from envkit import fs
from envkit.errors import DownloadError, EnvkitError, ExistsError, StorageError
from envkit.installers import pip
from envkit.installers.content import check_content, glance_at_content
from envkit.installers.installed import distributions
from envkit.installers.uv import uv_cache_dir
from envkit.installers.uv_cache import heal_archives
from envkit.operations.content import environments_sharing, lines_of
from envkit.operations.environments import read_environment
from envkit.operations.places import other_place

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from envkit.model.content import FileFinding
    from envkit.model.progress import Progress
    from envkit.operations.plan import Plan

_TOLD = 3
_REFUSED = re.compile(r"Failed to install: \S+ \(([A-Za-z0-9._-]+)==")
"""As uv 0.13.9 says it of a wheel that is in its cache and makes no sense."""


def install_packages(plan: Plan, python: Path, progress: Progress) -> None:
    """Install what the lock of ``plan`` names.

    When an environment is to be replaced, a package that uv cannot install from what its cache holds is installed past
    that: a cache whose WHEEL or METADATA was changed is no use any more.

    Raises:
        DownloadError, ProgramError: as ``pip.install``.
    """
    names = {item.name for item in plan.lock.platforms[plan.platform].packages}
    past_cache: set[str] = set()
    while refused := _try_to_install(plan, python, names - past_cache, progress):
        progress.note(f"uv cannot install {', '.join(sorted(refused))} from its cache. Installing it anew.")
        past_cache |= refused
    if past_cache:
        _install_anew(plan, python, past_cache, progress)


def _try_to_install(plan: Plan, python: Path, names: set[str], progress: Progress) -> set[str]:
    """Install packages; gives those that uv had in its cache and could not install, when they may be had elsewhere."""
    try:
        _install(plan, python, names, progress)
    except StorageError:
        raise
    except EnvkitError as error:
        said = f"{error.why or ''}\n{getattr(error, 'stderr', '')}"
        refused = names.intersection(canonicalize_name(name) for name in _REFUSED.findall(said))
        if not refused or plan.options.engine != "uv" or not plan.options.replace:
            raise
        return refused
    return set()


def check_new_files(plan: Plan, python: Path, progress: Progress) -> None:
    """Compare what was just installed with its RECORDs, and install anew what differs, past uv's cache.

    Only for ``--replace``: who makes an environment again may have a reason, and it costs about a second per gigabyte.

    Raises:
        DownloadError: the right files cannot be had, or the disk does not give back what is written to it.
    """
    if not plan.options.replace:
        return
    progress.step("check the files by their hashes")
    before = check_content(plan.prefix)
    if not before.findings:
        return
    progress.note(f"What was installed is not what the packages say: {_told(before.findings)}. Installing it anew.")
    for name in environments_sharing(plan.prefix, before.findings):
        progress.note(
            f"{name} holds the same bytes and stays as it is: `envkit restore {shlex.quote(name)} --replace`."
        )
    _install_anew(plan, python, set(before.damaged_packages), progress)
    after = check_content(plan.prefix)
    wrong = [item for item in after.findings if item not in before.findings]
    if wrong:
        raise DownloadError(
            f"What was written to {plan.prefix} is not what the packages say, twice: {_told(wrong)}.",
            why="The files were unpacked anew from wheels with the locked hashes.",
            hint="Look at the disk and the memory of this machine.",
        )
    if after.findings:  # the same again, from wheels with the locked hashes
        progress.note(f"The wheels themselves say so wrongly, and have the locked hashes: {_told(after.findings)}.")


def _install(plan: Plan, python: Path, names: set[str], progress: Progress, fresh_cache: Path | None = None) -> None:
    pip.install(
        python,
        [item for item in plan.lock.platforms[plan.platform].packages if item.name in names],
        plan.files,
        python_version=plan.python_version,
        engine=plan.options.engine,
        config=plan.config,
        offline=plan.options.offline,
        progress=progress,
        fresh_cache=fresh_cache,
    )


def _install_anew(plan: Plan, python: Path, names: set[str], progress: Progress) -> None:
    """Install packages from wheels alone, and put uv's cache right: the next environment is made from it."""
    files = [item.file for item in plan.lock.platforms[plan.platform].packages if item.name in names]
    cache = plan.prefix / ".envkit-fresh-cache"  # on the prefix's own disk: a CUDA build fills many a /tmp
    cache.mkdir()
    try:
        _install(plan, python, names, progress, fresh_cache=cache)
        if plan.options.engine == "uv":
            _heal_cache(plan, names, cache, progress)
    except StorageError:
        raise
    except EnvkitError as error:
        raise DownloadError(
            f"What the cache of {plan.options.engine} holds of {', '.join(sorted(names))} was changed, and the right "
            "files cannot be had.",
            why=f"{error.message} {error.why or ''}".strip(),
            hint=f"Name a folder that holds {', '.join(files[:_TOLD])} with --wheelhouse DIR"
            f"{', or leave out --offline' if plan.options.offline else ''}.",
        ) from error
    finally:
        fs.remove_tree(cache)


def _heal_cache(plan: Plan, names: set[str], cache: Path, progress: Progress) -> None:
    folders = [folder.name for name, _, folder in distributions(plan.prefix) if name in names]
    try:
        healed = heal_archives(uv_cache_dir(), cache, folders)
    except (OSError, EnvkitError) as error:  # the environment itself is right
        progress.note(f"uv's cache still holds the changed files: {error}")
        return
    if healed:
        progress.note(f"Put right in uv's cache: {healed} files of {', '.join(sorted(names))}.")


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
            hint=f"Make it again with --replace, or a second one with {other_place(prefix)}.",
        )


def _told(findings: Sequence[FileFinding]) -> str:
    return ", ".join(lines_of(findings, _TOLD))


def _unix_time(text: str) -> float:
    """Seconds since 1970; endless for a time that is none, so that nothing counts as newer."""
    try:
        return dt.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=dt.timezone.utc).timestamp()
    except ValueError:
        return math.inf
