"""Export: an environment's lock in the words of another tool, and what these have no words for (docs/formats.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envkit import fs
from envkit.errors import NotFoundError, StorageError, UsageError
from envkit.installers.file_addresses import file_addresses
from envkit.model.formats.condalock_text import conda_lock_text
from envkit.model.formats.environment_text import channels_of, environment_text, exact_specs, pip_lines
from envkit.model.formats.explicit import explicit_text
from envkit.model.formats.pixi_text import pixi_lock_text
from envkit.operations.conda_base import BASE_CHANNEL
from envkit.operations.environments import find_environment, is_path
from envkit.operations.own_files import drift_text, own_lock
from envkit.operations.snapshot import check_files, find_snapshot
from envkit.operations.specs import read_lock
from envkit.probes.host import current_platform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from envkit.model.lock import Lock
    from envkit.model.progress import Progress


@dataclass(frozen=True, slots=True)
class Export:
    """An exported environment.

    Attributes:
        format: "explicit", "environment.yml", "pixi.lock" or "conda-lock.yml".
        platform: conda's name.
        path: the file that was written, or None.
        text: its content.
        lost: what of the lock the format has no place for, each in a few words.
    """

    format: str
    platform: str
    path: Path | None
    text: str
    lost: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit export --json``."""
        return {
            "format": self.format,
            "platform": self.platform,
            "file": None if self.path is None else str(self.path),
            "text": self.text if self.path is None else None,
            "lost": list(self.lost),
        }


@dataclass(frozen=True, slots=True)
class _Locked:
    """What is exported: a lock, for one platform, and the environment's name."""

    lock: Lock
    platform: str
    name: str

    @property
    def is_pip(self) -> bool:
        return self.lock.installer == "pip"

    def addresses(self) -> dict[str, str]:
        packages = self.lock.platforms[self.platform].packages
        return file_addresses(packages, platform=self.platform, python=self.lock.python)


def export(what: str, format_name: str, *, output: Path | None, platform: str | None, progress: Progress) -> Export:
    """Write what an environment or a snapshot is locked to in another tool's format.

    Args:
        what: ``ENV``, or ``ENV@SNAPSHOT``; an environment that is gone is taken from its newest snapshot.
        format_name: one of ``FORMATS``.
        output: the file to write, or None.
        platform: one of the lock's platforms, by default this machine's.
        progress: told what happens.

    Raises:
        NotFoundError: there is neither such an environment nor a snapshot of it.
        UsageError: the format cannot hold the environment at all.
        StorageError: the file cannot be written.
        DownloadError: the format holds addresses, and an index does not say where a file lies.
    """
    lock, name = _lock_and_name(what, progress)
    locked = _Locked(lock, _platform(lock, platform), name)
    text = FORMATS[format_name](locked)
    lost = tuple(_lost(locked, format_name, text))
    if output is not None:
        _write(output, text)
    return Export(format_name, locked.platform, output, text, lost)


def _write(path: Path, text: str) -> None:
    try:
        fs.write_text(path, text)
    except OSError as error:
        problem = StorageError.from_os_error(error)
        raise problem or StorageError.cannot_write(path, why=error.strerror or str(error)) from error


def _lock_and_name(what: str, progress: Progress) -> tuple[Lock, str]:
    try:
        environment = find_environment(what)
    except NotFoundError:
        env, at, snapshot_id = what.rpartition("@")
        is_snapshot = bool(at and env and not is_path(snapshot_id))
        snapshot = find_snapshot(env, snapshot_id) if is_snapshot else find_snapshot(what)
        check_files(snapshot)
        lock = read_lock(snapshot.path / "lock.yaml", str(snapshot.path / "lock.yaml"))
        for drift in lock.drift:
            progress.note(f"Not as locked when the snapshot was taken, and exported as locked: {drift}.")
        return lock, str(snapshot.environment["name"])
    lock = own_lock(environment)
    if current_platform() in lock.platforms:
        told = drift_text(environment.prefix, lock, current_platform(), with_added=True)
        if told is not None:
            progress.note(f"Not as locked, and exported as locked: {told}.")
    return lock, environment.name


def _platform(lock: Lock, asked: str | None) -> str:
    platform = asked if asked is not None else current_platform()
    if platform in lock.platforms:
        return platform
    if asked is None and len(lock.platforms) == 1:
        return next(iter(lock.platforms))
    raise UsageError(
        f"The lock holds nothing for {platform}.", hint=f"It holds {', '.join(sorted(lock.platforms))}: --platform."
    )


def _explicit(locked: _Locked) -> str:
    if locked.is_pip:
        raise UsageError(
            f"{locked.name} has packages of pip's; an explicit list holds packages of conda's only.",
            hint="conda-lock.yml and pixi.lock hold both with hashes; environment.yml names them.",
        )
    return explicit_text(locked.lock.platforms[locked.platform].base, locked.platform)


def _environment_yml(locked: _Locked) -> str:
    found = locked.lock.platforms[locked.platform]
    versions = {item.name: item.version for item in found.packages}
    sources = {item.name: item.source for item in found.packages if item.source}
    specs = exact_specs(found.base) or [f"python={locked.lock.python}", "pip"]
    channels = channels_of(found.base, locked.lock.channels) or [BASE_CHANNEL]
    return environment_text(locked.name, channels, specs, pip_lines(versions, sources))


def _pixi(locked: _Locked) -> str:
    return pixi_lock_text(locked.lock, locked.platform, locked.addresses())


def _conda_lock(locked: _Locked) -> str:
    without = [record.name for record in locked.lock.platforms[locked.platform].base if record.md5 is None]
    if without:
        raise UsageError(
            f"conda-lock reads only packages with an MD5 sum, and the lock has none of {', '.join(without[:5])}.",
            hint="pixi.lock and explicit hold sha256 alone.",
        )
    return conda_lock_text(locked.lock, locked.platform, locked.addresses())


FORMATS: dict[str, Callable[[_Locked], str]] = {
    "explicit": _explicit,
    "environment.yml": _environment_yml,
    "pixi.lock": _pixi,
    "conda-lock.yml": _conda_lock,
}
"""Each format's name and what writes it."""


def _lost(locked: _Locked, format_name: str, text: str) -> Iterator[str]:
    """What a format has no place for; docs/formats.md lists it."""
    lock, found = locked.lock, locked.lock.platforms[locked.platform]
    keeps_some = format_name == "pixi.lock"
    needs = sorted(found.needs.keys() - ({"glibc"} if keeps_some else set()))
    if needs:
        yield f"what the files need of a machine: {', '.join(need.replace('_', ' ') for need in needs)}"
    if lock.toolkit is not None:
        yield f"the CUDA toolkit that activation switches to: {lock.toolkit}"
    if format_name == "environment.yml":
        yield "the hashes, and which file it is where a version has several"
    else:
        yield f"the environment's name: {locked.name}"
    if format_name in {"pixi.lock", "conda-lock.yml"} and locked.is_pip:
        yield "what pip's packages need of each other"
        if not found.base:
            yield f"Python {lock.python} itself: no package in the file is it"
    unhashed = [item.name for item in found.packages if item.sha256 is None]
    if unhashed and format_name != "environment.yml":
        yield f"hashes that are not known: {', '.join(unhashed)}"
    if "file:///" in text:
        yield "the files that lie in a folder of this machine: their addresses lead nowhere elsewhere"
    if lock.additions.editables:
        names = ", ".join(item.name for item in lock.additions.editables)
        yield f"projects that were added by their folder: {names}"
