"""List and info: what there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envkit.installers.installed import installed_packages
from envkit.operations.environments import find_environment
from envkit.operations.own_files import own_lock
from envkit.operations.snapshot import list_snapshots

if TYPE_CHECKING:
    from envkit.model.environment import Environment
    from envkit.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class InstalledPackage:
    """A package in an environment; ``source`` is the index it was locked from, None for the default one."""

    name: str
    version: str
    source: str | None


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
            "packages": [{"name": item.name, "version": item.version, "source": item.source} for item in self.packages],
            "snapshots": [item.to_json() for item in self.snapshots],
        }


def info(env: str) -> Info:
    """What is known of an environment, an incomplete or broken one too.

    Raises:
        NotFoundError: there is none.
    """
    environment = find_environment(env)
    sources: dict[str, str | None] = {}
    if environment.state == "complete":
        lock = own_lock(environment)
        sources = {item.name: item.source for platform in lock.platforms.values() for item in platform.packages}
    installed = installed_packages(environment.prefix)
    packages = (InstalledPackage(name, version, sources.get(name)) for name, version in sorted(installed.items()))
    return Info(environment, tuple(packages), list_snapshots(env))
