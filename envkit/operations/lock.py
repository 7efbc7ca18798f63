"""Resolve a spec into a lock: exactly which files give it, per platform."""

from __future__ import annotations

import importlib.metadata
import re
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from envkit import __version__, fs
from envkit.compat.needs import needs_of
from envkit.compat.tables import build_label, plain_wheel_build, preload
from envkit.errors import InvalidFileError, StorageError, UsageError
from envkit.installers.indexes import PipConfig, read_pip_config
from envkit.installers.resolve import resolve
from envkit.model.lock import Lock, LockedPlatform
from envkit.model.lock_text import render_lock
from envkit.model.progress import Silent
from envkit.model.spec import PLATFORMS, Spec
from envkit.operations.conda_lock import solve_platform
from envkit.operations.specs import read_lock, read_spec_or_lock
from envkit.operations.trust import check_sources
from envkit.operations.virtual_packages import ANY_TARGET, Target

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from envkit.model.conda_record import CondaRecord
    from envkit.model.locked import LockedPackage
    from envkit.model.progress import Progress


@dataclass(frozen=True, slots=True)
class LockChange:
    """A package whose entry in a lock is another than before; None means absent."""

    platform: str
    name: str
    before: str | None
    after: str | None

    def to_json(self) -> dict[str, Any]:
        """An object of ``changes``."""
        return {"platform": self.platform, "name": self.name, "before": self.before, "after": self.after}


@dataclass(frozen=True, slots=True)
class LockResult:
    """What ``lock_spec`` did.

    Attributes:
        path: the lock file.
        changes: by platform and name; versions, or file names where the version stayed.
        lock: what the file holds now.
    """

    path: Path
    changes: tuple[LockChange, ...]
    lock: Lock

    def to_json(self) -> dict[str, Any]:
        """The command's fields."""
        return {"lock": str(self.path), "changes": [change.to_json() for change in self.changes]}


def lock_path_of(spec_path: Path) -> Path:
    """Where the lock of a spec lies: ``X.lock.yaml`` beside ``X.yaml``."""
    return spec_path.with_name(f"{spec_path.stem}.lock.yaml")


def lock_spec(
    spec_path: Path,
    *,
    platforms: Sequence[str] = (),
    output: Path | None = None,
    upgrade: bool = False,
    upgrade_packages: Sequence[str] = (),
    spec: Spec | None = None,
    trusted_hosts: Sequence[str] = (),
    confirm: Callable[[str], bool] = lambda _question: False,
    remember: bool = True,
    target: Target = ANY_TARGET,
    config: PipConfig | None = None,
    progress: Progress | None = None,
) -> LockResult:
    """Resolve the spec in a file and write its lock. A lock that would say the same is left as it is, byte for byte.

    Args:
        spec_path: the spec.
        platforms: only these; others in an existing lock of the same spec stay. By default those that the spec names.
        output: the lock file, by default beside the spec.
        upgrade: take the newest versions that the spec allows; otherwise the pins of an existing lock are kept.
        upgrade_packages: the same for these packages.
        spec: the content of the file, where it was read already: what a pipe says can be read once.
        trusted_hosts: hosts of sources that the user has confirmed with the command.
        confirm: asks the user about other hosts that are not known here.
        remember: whether a confirmed host is known from now on.
        target: what the user says of the target machine's driver; for conda's solver.
        config: the user's pip configuration; read when not given.
        progress: told each step.

    Raises:
        NotFoundError: there is no such file.
        UsageError: an unknown platform, or ``output`` is a folder.
        InvalidFileError: the spec is wrong, names a source that nobody trusts, or cannot be satisfied.
        DownloadError: an index is out of reach.
        StorageError: the lock cannot be written.
    """
    progress = progress if progress is not None else Silent()
    _check_platforms(platforms)
    if spec is None:
        spec = _read_spec(spec_path, progress)
    path = output if output is not None else lock_path_of(spec_path)
    old = _lock_to_replace(path)
    urls = [*(source.url for source in spec.sources), *(name for name in spec.channels if "://" in name)]
    check_sources(urls, spec.path, trusted_hosts=trusted_hosts, confirm=confirm, remember=remember)
    config = config if config is not None else read_pip_config()
    threading.Thread(target=preload, daemon=True).start()  # uv takes longer than the tables
    locked = dict(old.platforms) if old is not None and platforms and old.spec_sha256 == spec.sha256 else {}
    for platform in platforms or spec.platforms:
        progress.step(f"Resolving {spec.name} for {platform}")
        before = old.platforms.get(platform) if old is not None else None
        locked[platform] = _lock_one(
            spec, platform, before, config, target, progress, upgrade=upgrade, upgrade_packages=upgrade_packages
        )
    lock = _publish(path, old, make_lock(spec, locked, str(path)))
    return LockResult(path, _changes(old, lock), lock)


def _lock_one(
    spec: Spec,
    platform: str,
    before: LockedPlatform | None,
    config: PipConfig,
    target: Target,
    progress: Progress,
    *,
    upgrade: bool,
    upgrade_packages: Sequence[str],
) -> LockedPlatform:
    if spec.installer == "conda":
        kept = before.base if before is not None and not upgrade else ()
        kept = tuple(record for record in kept if record.name not in upgrade_packages)
        return solve_platform(spec, platform, kept=kept, target=target, progress=progress)
    packages = resolve(
        spec,
        platform,
        config=config,
        preferred=before.packages if before is not None else (),
        upgrade=upgrade,
        upgrade_packages=upgrade_packages,
    )
    return lock_platform(spec, platform, packages)


def _read_spec(path: Path, progress: Progress) -> Spec:
    found = read_spec_or_lock(path, str(path), progress)
    if isinstance(found, Lock):
        raise InvalidFileError(str(path), "this is a lock already, no spec.", hint="`envkit restore` makes it.")
    return found.spec


def lock_platform(spec: Spec, platform: str, packages: tuple[LockedPackage, ...]) -> LockedPlatform:
    """What a lock says of one platform.

    Raises:
        InvalidFileError: the torch that was found is a build for another CUDA than the spec says.
    """
    torch = next((package for package in packages if package.name == "torch"), None)
    if torch is not None and "+" not in torch.version and torch.source is None:
        _check_plain_build(spec, platform, torch)
    if torch is not None and torch.source is not None:
        _check_label(spec, platform, torch)
    return LockedPlatform(packages=packages, needs=needs_of(packages, spec.cuda, platform))


def make_lock(spec: Spec, platforms: Mapping[str, LockedPlatform], path: str) -> Lock:
    """The lock of a spec."""
    resolver = "uv" if spec.installer == "pip" else "py-rattler"
    return Lock(
        spec=spec.name,
        spec_sha256=spec.sha256,
        created_by=f"envkit {__version__}, {resolver} {importlib.metadata.version(resolver)}",
        installer=spec.installer,
        python=spec.python,
        cuda=spec.cuda,
        toolkit=spec.toolkit,
        channels=spec.channels,
        platforms=platforms,
        library_path=spec.library_path,
        host_compiler=spec.host_compiler,
        path=path,
    )


def _check_platforms(platforms: Sequence[str]) -> None:
    for platform in platforms:
        if platform not in PLATFORMS:
            raise UsageError(f"Unknown platform {platform!r}.", hint=f"Known: {', '.join(PLATFORMS)}.")


def _lock_to_replace(path: Path) -> Lock | None:
    """The lock that is at ``path`` already, if any; nothing else is written over."""
    if path.is_dir():
        raise UsageError(f"{path} is a folder.", hint="Name the lock file itself, as in -o FOLDER/my.lock.yaml.")
    return read_lock(path, str(path)) if path.exists() else None


def _check_plain_build(spec: Spec, platform: str, torch: LockedPackage) -> None:
    build, wanted = plain_wheel_build(torch.version, platform), build_label(spec.cuda)
    if build is not None and build != wanted:
        raise InvalidFileError(
            spec.path,
            f"torch {torch.version} of the default index is built for {build} on {platform}, the spec says {wanted}.",
            why="A version without a label is whatever PyPI carries; other builds are on PyTorch's own index alone.",
            hint=f"Write torch=={torch.version}+{wanted}, and name its index: "
            f"sources: [{{url: https://download.pytorch.org/whl/{wanted}, packages: [torch]}}].",
        )


def _check_label(spec: Spec, platform: str, torch: LockedPackage) -> None:
    """A pin without a label takes whatever its source has."""
    label, wanted = torch.version.partition("+")[2].partition(".")[0], build_label(spec.cuda)
    if re.fullmatch(r"cpu|cu\d+", label, re.ASCII) and label != wanted:
        raise InvalidFileError(
            spec.path,
            f"torch {torch.version} of {torch.source} is built for {label} on {platform}, the spec says {wanted}.",
            hint=f"Name the index of {wanted} under sources, or change cuda.",
        )


def _says_the_same(old: Lock, new: Lock) -> bool:
    """Whether two locks differ in nothing but what made them."""
    return render_lock(replace(old, created_by=new.created_by)) == render_lock(new)


def _publish(path: Path, old: Lock | None, new: Lock) -> Lock:
    """Write a lock that says something new; gives what the file holds then."""
    if old is not None and _says_the_same(old, new):
        return old
    _write(path, new)
    return new


def _write(path: Path, lock: Lock) -> None:
    try:
        fs.write_text(path, render_lock(lock))
    except OSError as error:
        problem = StorageError.from_os_error(error)
        raise problem if problem is not None else StorageError.cannot_write(path, why=str(error)) from error


def _changes(old: Lock | None, new: Lock) -> tuple[LockChange, ...]:
    changes = []
    for platform in sorted({*new.platforms, *(old.platforms if old is not None else ())}):
        before, after = _entries(old, platform), _entries(new, platform)
        for name in sorted({*before, *after}):
            one, two = before.get(name), after.get(name)
            if one != two:
                same = one is not None and two is not None and one.version == two.version
                texts = [None if item is None else item.file if same else item.version for item in (one, two)]
                changes.append(LockChange(platform, name, *texts))
    return tuple(changes)


def _entries(lock: Lock | None, platform: str) -> dict[str, LockedPackage | CondaRecord]:
    found = lock.platforms.get(platform) if lock is not None else None
    if found is None:
        return {}
    return {item.name: item for item in found.packages} | {item.name: item for item in found.base}
