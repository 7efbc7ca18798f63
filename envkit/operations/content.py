"""What is wrong with the files of an environment, and which other environments it touches."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envkit.installers.content import check_content
from envkit.installers.installed import site_packages
from envkit.model.report import FILES, LayerResult
from envkit.operations.drift import drift_of
from envkit.operations.environments import all_environments

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from envkit.model.content import ContentReport, FileFinding
    from envkit.model.environment import Environment
    from envkit.model.lock import Drift, Lock
    from envkit.model.progress import Progress

_LISTED = 20
_TOLD = 3
_COMPARED = 1000
"""Changed files that are looked for in other environments; more are hardly one accident."""


@dataclass(frozen=True, slots=True)
class ContentCheck:
    """An environment's packages, compared with its lock and with their own RECORDs.

    Attributes:
        files: the files.
        drift: packages whose version is not the locked one.
        sharing: names of the other environments that hold a changed file by a hard link.
    """

    files: ContentReport
    drift: tuple[Drift, ...]
    sharing: tuple[str, ...]

    @property
    def lost(self) -> tuple[Drift, ...]:
        """Locked packages that are missing or have another version."""
        return tuple(item for item in self.drift if item.locked is not None)

    @property
    def added(self) -> tuple[Drift, ...]:
        """Packages that the lock does not know."""
        return tuple(item for item in self.drift if item.locked is None)

    @property
    def problem(self) -> str | None:
        """What is wrong in a line or two; None when nothing is."""
        parts = []
        if self.files.findings:
            parts.append(f"{counted(self.files.findings)}: {', '.join(lines_of(self.files.findings, _TOLD))}.")
        if self.sharing:
            parts.append(sharing_text(self.sharing))
        if self.lost:
            parts.append(f"Not what the lock says: {', '.join(map(str, self.lost[:_TOLD]))}.")
        if self.files.duplicates:
            parts.append(f"Installed twice: {', '.join(name for name, _ in self.files.duplicates)}.")
        return " ".join(parts) or None


def check_environment(environment: Environment, lock: Lock, platform: str) -> ContentCheck:
    """Compare an environment's packages with its lock, and every file with what its package says.

    Raises:
        OSError: the folder of packages cannot be listed.
    """
    report = check_content(environment.prefix)
    drift = drift_of(environment.prefix, lock, platform)
    return ContentCheck(report, drift, environments_sharing(environment.prefix, report.findings))


def files_layer(environment: Environment, lock: Lock, platform: str, progress: Progress) -> LayerResult:
    """The layer ``files`` of verification."""
    progress.step("check the files by their hashes")
    start = time.monotonic()
    try:
        check = check_environment(environment, lock, platform)
    except OSError as error:
        return LayerResult(FILES, "fail", f"The packages cannot be listed: {error}")
    problem = check.problem
    facts: dict[str, Any] = {
        "files_checked": check.files.files_checked,
        "bytes_checked": check.files.bytes_checked,
        "findings": len(check.files.findings),
        "changed": [item.to_json() for item in check.files.findings[:_LISTED]],
        "drift": [item.to_dict() for item in check.drift],
        "duplicates": [list(folders) for _, folders in check.files.duplicates],
        "leftovers": list(check.files.leftovers),
        "environments": list(check.sharing),
    }
    return LayerResult(FILES, "fail" if problem else "pass", problem, facts, round(time.monotonic() - start, 3))


def environments_sharing(prefix: Path, findings: Sequence[FileFinding]) -> tuple[str, ...]:
    """Other environments that hold one of the changed files: the same inode at the same place."""
    site = site_packages(prefix)
    if site is None:
        return ()
    inodes: dict[str, tuple[int, int]] = {}
    for item in findings[:_COMPARED]:
        path = os.path.relpath(prefix / item.path, site)  # site-packages has a Python's version above it
        found = _inode(site / path, at_least=2) if item.kind == "changed" else None
        if found is not None:
            inodes[path] = found
    if not inodes:
        return ()
    here, known = os.path.realpath(prefix), all_environments()
    sharing = [item for item in known if os.path.realpath(item.prefix) != here and _holds(item.prefix, inodes)]
    names = Counter(item.name for item in known)
    return tuple(item.name if names[item.name] == 1 else str(item.prefix) for item in sharing)


def _holds(prefix: Path, inodes: dict[str, tuple[int, int]]) -> bool:
    site = site_packages(prefix)
    return site is not None and any(_inode(site / path) == inode for path, inode in inodes.items())


def _inode(path: Path, *, at_least: int = 1) -> tuple[int, int] | None:
    """Device and inode of a file that has so many links."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status.st_nlink >= at_least else None


def lines_of(findings: Sequence[FileFinding], most: int = _LISTED) -> list[str]:
    """A line for each of the first findings, and one for the rest."""
    rest = len(findings) - most
    return [*map(str, findings[:most]), *([f"and {rest} more"] if rest > 0 else [])]


def counted(findings: Sequence[FileFinding]) -> str:
    """How many files differ, as the beginning of a sentence."""
    if len(findings) == 1:
        return "1 file is not what its package says"
    return f"{len(findings)} files are not what their packages say"


def sharing_text(names: Sequence[str]) -> str:
    """Who else holds a changed file."""
    return f"The same bytes are in {', '.join(names)}, by hard links."
