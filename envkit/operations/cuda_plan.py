"""Plan: which commands install a CUDA toolkit on a system, and never the driver. Nothing is run."""

from __future__ import annotations

import difflib
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envkit.compat.host_compilers import newest_gcc
from envkit.compat.installers import repositories, system_gcc
from envkit.compat.tables import driver_need
from envkit.errors import UnfitMachineError, UsageError
from envkit.operations import plan_routes
from envkit.operations.plan_routes import Wanted
from envkit.operations.toolkit_versions import asked_version, released
from envkit.probes.host import this_system
from envkit.probes.host_compiler import default_gcc, named_gcc

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
        notes: what counts for all of them.
    """

    release: str
    version: str
    system: str
    title: str
    driver: DriverNeed | None
    routes: tuple[Route, ...]
    notes: tuple[str, ...] = ()

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
            "notes": list(self.notes),
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
    notes = _compiler(release, name, is_here=system is None and platform_name == "linux")
    return PlanResult(release, version, name, title, driver_need(release, conda_platform), routes, notes)


def _compiler(release: str, name: str, *, is_here: bool) -> tuple[str, ...]:
    """Where the system's gcc is newer than nvcc takes: which one is to be installed beside it."""
    limit, known = newest_gcc(release), system_gcc(name)
    path = os.environ.get("PATH", os.defpath)
    here = default_gcc(path) if is_here else None
    default = here if here is not None else None if known is None else known.default
    if limit is None or default is None or default <= limit or (is_here and named_gcc(limit, path) is not None):
        return ()
    sure = "" if here is not None or known is None else f" ({known.known})"
    told = f"nvcc of CUDA {release} takes gcc {limit} at most; the system's is gcc {default}{sure}."
    fit = max((item for item in (() if known is None else known.others) if item <= limit), default=None)
    if fit is None or not name.startswith(("ubuntu", "debian")):
        return (told, f"To compile, gcc {limit} or an older one is needed beside it.")
    return (told, f"To compile, install one that fits beside it: sudo apt-get install gcc-{fit} g++-{fit}")


def _chosen(system: str, release: str) -> tuple[str, str]:
    """A system that was asked for; fedora and opensuse alone mean the repository that has the release."""
    known = repositories()
    asked, system = system, system.lower().replace(".", "").replace("-", "") if system != "wsl-ubuntu" else "wsl"
    if system in {"fedora", "opensuse"}:
        found = [item for name, item in known.items() if name.startswith(system)]
        best = next((item for item in found if item.has(release)), found[-1])
        return best.name, best.name
    if system in known or system in _BESIDE_REPOSITORIES:
        return system, system
    every = (*_BESIDE_REPOSITORIES, *known)
    near = [name for name in every if system and name.startswith(system)] or difflib.get_close_matches(system, every)
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    raise UsageError(f"No system {asked!r} is known.{meant}", hint=f"Known are {', '.join(every)}.")


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
