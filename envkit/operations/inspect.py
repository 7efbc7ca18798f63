"""List and info: what there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envkit.errors import InvalidFileError
from envkit.installers.conda_meta import installed_records
from envkit.installers.installed import conda_packages, pip_packages
from envkit.operations.environments import find_environment
from envkit.operations.own_files import own_lock
from envkit.operations.snapshot import list_snapshots

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from envkit.model.environment import Environment
    from envkit.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class InstalledPackage:
    """A package in an environment.

    Attributes:
        name, version: of the package.
        source: the channel of a conda package, as the lock names it; the index that one of pip's was locked from, None
            for the default one.
        installer: "pip" or "conda".
    """

    name: str
    version: str
    source: str | None
    installer: str


@dataclass(frozen=True, slots=True)
class Info:
    """Everything about one environment."""

    environment: Environment
    packages: tuple[InstalledPackage, ...]
    snapshots: tuple[Snapshot, ...]

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit info --json`` (docs/json.md)."""
        return {
            "environment": self.environment.to_json(),
            "packages": [
                {"name": item.name, "version": item.version, "source": item.source, "installer": item.installer}
                for item in self.packages
            ],
            "snapshots": [item.to_json() for item in self.snapshots],
        }


def info(env: str) -> Info:
    """What is known of an environment, an incomplete or broken one too.

    Raises:
        NotFoundError: there is none.
    """
    environment = find_environment(env)
    sources: dict[str, str | None] = {}
    channels: dict[tuple[str, str], str] = {}
    if environment.state == "complete":
        lock = own_lock(environment)
        sources = {item.name: item.source for platform in lock.platforms.values() for item in platform.packages}
        base = [item for platform in lock.platforms.values() for item in platform.base]
        channels = {(item.subdir, item.file): item.channel for item in base}
    of_conda = _conda_packages(environment.prefix, channels)
    of_pip = [
        InstalledPackage(name, version, sources.get(name), "pip")
        for name, version in sorted(pip_packages(environment.prefix).items())
    ]
    packages = (*of_conda, *of_pip) if environment.installer == "conda" else (*of_pip, *of_conda)
    return Info(environment, packages, list_snapshots(env))


def _conda_packages(prefix: Path, channels: Mapping[tuple[str, str], str]) -> list[InstalledPackage]:
    """The conda packages, by the lock's names for their channels; where a record is damaged, by the records' names."""
    try:
        return [
            InstalledPackage(
                record.name, record.version, channels.get((record.subdir, record.file), record.channel), "conda"
            )
            for record in installed_records(prefix)
        ]
    except InvalidFileError:  # doctor tells
        found = conda_packages(prefix)
        return [InstalledPackage(name, text.partition(" ")[0], None, "conda") for name, text in sorted(found.items())]
