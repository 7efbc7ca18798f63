"""Preflight: will a spec work on this machine, or on one that the user describes, and if not, what will?"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envkit import paths
from envkit.errors import EnvkitError, UnfitMachineError, UsageError
from envkit.model.driver import DriverVersion
from envkit.model.progress import Noted
from envkit.model.smi_failures import MISMATCH
from envkit.operations.gpu_checks import check_machine, check_smi, driver_versions
from envkit.operations.machine import Machine, described_machine, this_machine
from envkit.operations.spec_fit import fit_of_lock, fit_of_spec
from envkit.operations.system_checks import SystemNeed, system_checks
from envkit.probes.nvidia_kernel import look_at_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from envkit.model.fit import FitCheck, Route
    from envkit.model.lock import Lock
    from envkit.model.progress import Progress
    from envkit.model.spec import Spec
    from envkit.operations.driver_plan import DriverPlan
    from envkit.probes.nvidia_kernel import KernelReport

IN_CONTAINER = "This is a container: the driver is the one of its host, and is upgraded there."
ROOT = Path("/")
"""Below it lies what the kernel and the system say of themselves."""
_EXAMPLE = '--driver 535.104.05 --gpu "NVIDIA A100-SXM4-80GB"'


@dataclass(frozen=True, slots=True)
class PreflightResult:
    """The answer.

    Attributes:
        spec: name of what was asked for; None: the machine alone was looked at.
        fits: None where it cannot be told, or nothing was asked for.
        checks: what was looked at.
        routes: what to do where it does not fit; without a spec, the newest build that fits.
        machine: the one that was judged.
        driver_plan: where a newer driver is a way: how it gets onto this system.
        notes: what could not be told, and how to ask for it.
    """

    spec: str | None
    fits: bool | None
    checks: tuple[FitCheck, ...]
    routes: tuple[Route, ...]
    machine: Machine
    driver_plan: DriverPlan | None = None
    notes: tuple[str, ...] = ()

    @property
    def error(self) -> EnvkitError | None:
        """That the machine does not fit, for the exit status."""
        if self.fits is not False:
            return None
        failed = [check for check in self.checks if check.status == "fail"]
        subject = "The described machine" if self.machine.is_described else "This machine"
        return UnfitMachineError(
            f"{subject} does not fit {self.spec or 'envkit'}.",
            why="\n".join(f"{check.id}: {check.why}" for check in failed),
            hint=" ".join(map(_way, self.routes)) or None,
        )

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit preflight --json`` (docs/json.md)."""
        return {
            "spec": self.spec,
            "fits": self.fits,
            "checks": [check.to_json() for check in self.checks],
            "routes": [route.to_json() for route in self.routes],
            "machine": self.machine.to_json(),
            "driver_plan": None if self.driver_plan is None else self.driver_plan.to_json(),
            "notes": list(self.notes),
        }


def preflight(
    name_or_file: str | None,
    progress: Progress,
    *,
    driver: str | None = None,
    gpus: Sequence[str] = (),
    platform: str | None = None,
    cuda: str | None = None,
    python: str | None = None,
    network: bool = False,
    root: Path | None = None,
) -> PreflightResult:
    """Judge a spec's name, a requirement such as ``torch==1.12.1``, or the file of a spec or of a lock.

    Args:
        name_or_file: None: the machine alone.
        progress: told what is strange in another tool's file.
        driver: of another machine, like ``gpus`` and ``platform``; nothing of this machine counts then.
        gpus: likewise, one name for each.
        platform: likewise.
        cuda: of the build of a requirement, or "auto", as create takes it.
        python: a version, instead of the spec's.
        network: whether indexes and channels are asked as well.
        root: whose files tell what the kernel sees; None: this machine's.

    Raises:
        EnvkitError: there is no such spec, or it is wrong; or the description of the machine is.
    """
    is_described = driver is not None or bool(gpus) or platform is not None
    if is_described and network:
        raise UsageError("--network asks the indexes from here, so it does not go with another machine's description.")
    root = ROOT if root is None else root
    kernel = look_at_kernel(root)
    machine = described_machine(driver, gpus, platform) if is_described else _here(kernel)
    wanted = _wanted(name_or_file, cuda, python, machine, progress)
    spec, lock = wanted.spec, wanted.lock
    fits, checks = _judged(spec, lock, machine, python)
    if wanted.cuda is not None:  # a CPU build needs none of it
        checks = [*check_smi(machine, kernel), *checks]
    if not is_described:
        checks += system_checks(SystemNeed(spec, lock, machine.platform, _prefix(spec), network, _gpu_count(machine)))
    if any(check.status == "fail" for check in checks):
        fits = False
    is_wrong = fits is False or (fits is None and any(check.is_doubtful for check in checks))
    routes = _routes(spec, lock, machine, python) if is_wrong or (spec is None and lock is None) else ()
    wants_driver = any(route.kind == "upgrade-driver" for route in routes) and not is_described
    in_container = (IN_CONTAINER,) if wants_driver and kernel.is_container else ()
    return PreflightResult(
        wanted.name,
        fits,
        _in_words(checks, machine),
        routes,
        machine,
        _driver_plan(root, kernel, machine) if wants_driver and not in_container else None,
        (*wanted.notes, *in_container, *_notes(name_or_file, machine, wanted.cuda)),
    )


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The spec, and its lock where there is one that is current; a lock that was named alone; or nothing.

    ``notes`` tell why that spec was taken.
    """

    spec: Spec | None = None
    lock: Lock | None = None
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str | None:
        return self.lock.spec if self.lock is not None else self.spec.name if self.spec is not None else None

    @property
    def cuda(self) -> str | None:
        """Of the build; "any" where nothing in particular is asked for."""
        return self.lock.cuda if self.lock is not None else self.spec.cuda if self.spec is not None else "any"


def _wanted(
    name_or_file: str | None, cuda: str | None, python: str | None, machine: Machine, progress: Progress
) -> _Wanted:
    if name_or_file is None:
        if cuda is not None or python is not None:
            raise UsageError("--cuda and --python go with a spec, such as torch==1.12.1.")
        return _Wanted()
    from envkit.operations.specs import names_file  # noqa: PLC0415 - without a spec none of it has to be loaded
    from envkit.operations.wanted import is_requirement, lock_of_spec, read_wanted  # noqa: PLC0415

    asks = is_requirement(name_or_file)
    if cuda not in {None, "auto"} and not asks:
        why = "The CUDA of a spec is its own."
        raise UsageError("--cuda V chooses the build of torch==V.", why=why, hint="Describe a machine with --driver V.")
    if python is not None and re.fullmatch(r"\d+\.\d+(\.\d+)?", python, re.ASCII) is None:
        raise UsageError(f"--python {python} is no version.", hint="Write it as in --python 3.9.")
    if not asks and (cuda is None or names_file(name_or_file)):
        return _Wanted(*read_wanted(name_or_file, progress))
    from envkit.operations.options import CreateOptions  # noqa: PLC0415 - nor for a name
    from envkit.operations.requirement_spec import spec_for  # noqa: PLC0415

    told = Noted()
    options = CreateOptions(cuda=cuda, python=python)
    found, _left = spec_for(name_or_file, options, told, machine, is_judged_later=True)
    return _Wanted(found.spec, lock_of_spec(found), tuple(told.notes))


def _gpu_count(machine: Machine) -> int | None:
    return len(machine.gpus) if machine.driver is not None else None


def _here(kernel: KernelReport) -> Machine:
    """This machine; where the driver waits for a reboot, the one that is loaded counts."""
    machine = this_machine()
    if machine.driver is not None or machine.smi is None or machine.smi.error_kind != MISMATCH:
        return machine
    loaded = next((version for version in driver_versions(machine.smi, kernel) if version is not None), None)
    return machine if loaded is None else replace(machine, driver=DriverVersion.parse(loaded))


def _judged(
    spec: Spec | None, lock: Lock | None, machine: Machine, python: str | None
) -> tuple[bool | None, list[FitCheck]]:
    if spec is not None:
        fit = fit_of_spec(spec, machine, lock, python)
    elif lock is not None:
        fit = fit_of_lock(lock, machine, python)
    else:
        return None, list(check_machine(machine))
    return fit.fits, list(fit.checks)


def _routes(spec: Spec | None, lock: Lock | None, machine: Machine, python: str | None) -> tuple[Route, ...]:
    """Ways out of what does not fit; the newest build that fits where nothing was asked for."""
    from envkit.operations.routes import newest_fitting, routes_for  # noqa: PLC0415 - what fits needs no way out

    if spec is not None:
        return routes_for(spec, machine, python=python)
    if lock is None:
        newest = newest_fitting(machine)
        return () if newest is None else (newest,)
    torch = lock.torch_version(machine.platform)
    return () if torch is None else routes_for((torch, lock.cuda), machine, installer=lock.installer, python=python)


def _driver_plan(root: Path, kernel: KernelReport, machine: Machine) -> DriverPlan:
    from envkit.operations.driver_plan import plan_driver  # noqa: PLC0415 - likewise
    from envkit.probes.host import this_system  # noqa: PLC0415

    return plan_driver(this_system(root), kernel, machine)


def _prefix(spec: Spec | None) -> Path | None:
    """Where the environment would go by itself."""
    name = None if spec is None else spec.environment_name
    return None if name is None else paths.envs_dir() / name


def _notes(asked: str | None, machine: Machine, cuda: str | None) -> tuple[str, ...]:
    if machine.is_described:
        from envkit.operations.known_machine import dropped_cards  # noqa: PLC0415 - for other machines

        told = "Of the machine that you described glibc, processor, memory, disk and paths are not looked at."
        return (*dropped_cards(machine), told)
    if machine.driver is not None or cuda is None:
        return ()
    word = f" {shlex.quote(asked)}" if asked is not None else ""
    return (
        "Driver and GPU cannot be told here. For another machine, from a login node, say what nvidia-smi shows there:",
        f"envkit preflight{word} {_EXAMPLE}",
    )


def _way(route: Route) -> str:
    return route.why if route.spec is None else f"{route.why} `envkit create {route.spec}`."


def _in_words(checks: list[FitCheck], machine: Machine) -> tuple[FitCheck, ...]:
    if not machine.is_described:
        return tuple(checks)
    from envkit.operations.known_machine import as_described  # noqa: PLC0415 - for other machines

    return tuple(as_described(checks, machine))
