"""Plan: which commands install a CUDA toolkit on a system, and never the driver. Nothing is run."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envkit.compat.installers import repositories
from envkit.compat.tables import driver_need
from envkit.errors import UnfitMachineError, UsageError
from envkit.operations import plan_routes
from envkit.operations.plan_routes import Wanted
from envkit.operations.toolkit_versions import asked_version, released
from envkit.probes.host import this_system

if TYPE_CHECKING:
    from envkit.compat.installers import Repository
    from envkit.compat.tables import DriverNeed
    from envkit.model.toolkit_plan import Route
    from envkit.probes.host import System

_UBUNTUS = {"xenial": "1604", "bionic": "1804", "focal": "2004", "jammy": "2204", "noble": "2404"}
_RED_HATS = {"rhel", "centos", "rocky", "almalinux", "ol"}
_BESIDE_REPOSITORIES = ("windows", "wsl", "linux", "conda", "fedora", "opensuse")


@dataclass(frozen=True, slots=True)
class PlanResult:
    """What ``envkit cuda plan`` shows.

    Attributes:
        release: "11.3".
        version: the newest update that the tables know, or the one that was asked for.
        system: its name for ``--system``: a repository's, windows, wsl, linux or conda.
        title: the system for people.
        driver: what programs of that toolkit need of the driver, which no route installs; None where not known.
        routes: best first.
    """

    release: str
    version: str
    system: str
    title: str
    driver: DriverNeed | None
    routes: tuple[Route, ...]

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit cuda plan --json``."""
        need = self.driver
        return {
            "release": self.release,
            "version": self.version,
            "system": self.system,
            "driver": None
            if need is None
            else {"minimum": need.minimum, "toolkit": need.toolkit, "known": need.known, "installed_by_this": False},
            "routes": [route.to_json() for route in self.routes],
        }


def plan(
    asked: str, system: str | None = None, *, root: Path = Path("/"), platform_name: str = sys.platform
) -> PlanResult:
    """The ways to install a toolkit.

    Args:
        asked: "11.3" or "11.3.1".
        system: for which system; None: for this one.
        root: whose files tell what this system is.
        platform_name: Python's name of it.

    Raises:
        NotFoundError: NVIDIA has released no such toolkit.
        UsageError: no such system is known.
        UnfitMachineError: there are no CUDA toolkits for this system.
    """
    release, version = released(asked)
    here = this_system(root, platform_name)
    name, title = _chosen(system, release) if system is not None else _named(here, platform_name)
    machine = "aarch64" if platform.machine() in {"aarch64", "arm64"} else "x86_64"
    routes = _routes(Wanted(asked_version(asked) or release, release, machine), name)
    conda_platform = "win-64" if name == "windows" else "linux-64"
    return PlanResult(release, version, name, title, driver_need(release, conda_platform), routes)


def _chosen(system: str, release: str) -> tuple[str, str]:
    """A system that was asked for; fedora and opensuse alone mean the repository that has the release."""
    known = repositories()
    if system in {"fedora", "opensuse"}:
        found = [item for name, item in known.items() if name.startswith(system)]
        best = next((item for item in found if item.has(release)), found[-1])
        return best.name, best.name
    if system not in known and system not in _BESIDE_REPOSITORIES:
        raise UsageError(
            f"No system {system!r} is known.", hint=f"Known are {', '.join((*_BESIDE_REPOSITORIES, *known))}."
        )
    return system, system


def _named(here: System, platform_name: str) -> tuple[str, str]:
    """The word for this system."""
    if platform_name == "darwin":
        raise UnfitMachineError(
            "There are no CUDA toolkits for macOS.",
            why="NVIDIA's last one was 10.2.",
            hint="--system tells the commands for another system.",
        )
    name = "wsl" if here.is_wsl else _repository_of(here)
    if name not in repositories() and name not in {"windows", "wsl"}:
        name = "linux"
    return name, f"{here.title}{' in WSL' if here.is_wsl else ''}"


def _repository_of(here: System) -> str:
    major = here.version.split(".", maxsplit=1)[0]
    if here.id == "ubuntu":
        return f"ubuntu{here.version.replace('.', '')}"
    if here.codename in _UBUNTUS:  # Linux Mint, Pop!_OS and others that are built on it
        return f"ubuntu{_UBUNTUS[here.codename]}"
    if here.id in _RED_HATS or "rhel" in here.like:
        return f"amzn{here.version}" if here.id == "amzn" else f"rhel{major}"
    if here.id in {"opensuse-leap", "sles"}:
        return f"{'opensuse' if here.id == 'opensuse-leap' else 'sles'}{major}"
    return f"{here.id}{major}"


def _routes(wanted: Wanted, name: str) -> tuple[Route, ...]:
    conda = plan_routes.by_conda(wanted.asked)
    if name == "conda":
        return tuple(conda)
    own = plan_routes.by_envkit(wanted, is_windows=name == "windows")
    if name == "windows":
        return (*own, plan_routes.by_windows_installer(wanted), *conda)
    repository = _repository(name)
    packages = [plan_routes.by_packages(wanted, repository)] if repository is not None else []
    run_files = [plan_routes.by_runfile(wanted, as_root=as_root) for as_root in (True, False)]
    # what is known comes before what has to be looked up, and that before what is not there
    ways = sorted((*packages, *run_files), key=lambda route: (not route.commands, route.known == "unknown"))
    return (*own, *ways, *conda, plan_routes.as_default(wanted))


def _repository(name: str) -> Repository | None:
    return repositories().get("wsl-ubuntu" if name == "wsl" else name)
