"""Does this machine, or the one that the user describes, fit what is to be made? Judged before a byte is downloaded."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from envkit.compat.card_checks import CARD
from envkit.compat.tables import MAY_REFUSE, driver_need, served_cuda, version_key
from envkit.errors import UnfitMachineError, UsageError
from envkit.model.driver import DriverVersion
from envkit.operations.machine import Machine, this_machine
from envkit.operations.requirement_spec import machine_of
from envkit.operations.routes import routes_for
from envkit.operations.spec_fit import fit_of_lock, fit_of_spec
from envkit.probes.host import current_platform, glibc_version

if TYPE_CHECKING:
    from collections.abc import Iterable

    from envkit.model.fit import FitCheck, Route
    from envkit.model.lock import Lock
    from envkit.model.progress import Progress
    from envkit.model.spec import Spec
    from envkit.operations.options import CreateOptions

_DEVICE = ("driver", CARD)
"""What a stated CUDA of the target machine stands for."""


def check_fit(lock: Lock, platform: str, options: CreateOptions, progress: Progress) -> None:
    """Refuse a machine that cannot run what the lock gives; say what only may not work.

    A machine without a GPU is no obstacle: environments are made on login nodes and used elsewhere. Where the user
    names the target's CUDA (``--cuda``), that counts instead of this machine's driver.

    Raises:
        UnfitMachineError: a fact that is known well enough speaks against it, and --force was not given.
        UsageError: --cuda is no version.
    """
    target = _target_cuda(options)
    if target is not None:
        _check_target(lock, target, platform, options, progress)
    machine = _machine(lock.cuda, options)
    checks = _counting(fit_of_lock(lock, machine).checks, options)
    _refuse(lock.spec, checks, options, _routes(lock, platform, machine, checks))
    for check in checks:
        if check.status in {"fail", "warn"}:
            progress.note(_told(check))
    is_told = target is not None or options.driver is not None
    if lock.cuda is not None and machine.driver is None and not is_told:
        progress.note(
            f"No NVIDIA driver answers here, so the fit of a CUDA {lock.cuda} build cannot be judged. "
            "State the target machine's driver with --driver V, or the CUDA that it serves with --cuda V."
        )


def check_spec(spec: Spec, options: CreateOptions) -> None:
    """Refuse a spec without a lock that cannot work here, before any index is asked; warnings come with its lock.

    Raises:
        UnfitMachineError: a fact that is known well enough speaks against it, and --force was not given.
    """
    machine = _machine(spec.cuda, options)
    checks = _counting(fit_of_spec(spec, machine, python=_asked_python(options)).checks, options)
    if not options.force and any(check.status == "fail" for check in checks):
        _refuse(spec.name, checks, options, routes_for(spec, machine, python=_asked_python(options)))


def _counting(checks: Iterable[FitCheck], options: CreateOptions) -> list[FitCheck]:
    is_told = _target_cuda(options) is not None
    return [check for check in checks if not (is_told and check.id in _DEVICE)]


def _machine(cuda: str | None, options: CreateOptions) -> Machine:
    """The machine that counts; nvidia-smi is not asked where nothing depends on it."""
    if options.driver is not None or options.gpus:
        return replace(machine_of(options), glibc=glibc_version())
    if cuda is None or _target_cuda(options) is not None:
        return Machine(current_platform(), None, (), glibc_version(), is_described=False, smi=None)
    return this_machine()


def _asked_python(options: CreateOptions) -> str | None:
    asked = options.python or ""
    return asked if re.fullmatch(r"\d+\.\d+(\.\d+)?", asked, re.ASCII) else None


def _routes(lock: Lock, platform: str, machine: Machine, checks: Iterable[FitCheck]) -> tuple[Route, ...]:
    torch = lock.torch_version(platform)
    if torch is None or not any(check.status == "fail" for check in checks):
        return ()
    return routes_for((torch, lock.cuda), machine, installer=lock.installer)


def _refuse(name: str, checks: Iterable[FitCheck], options: CreateOptions, routes: tuple[Route, ...]) -> None:
    failed = [check for check in checks if check.status == "fail"]
    if not failed or options.force:
        return
    first = failed[0]
    ways = [
        f"`envkit create {route.spec}`: {route.why}" if route.spec is not None else f"{route.why}" for route in routes
    ]
    hints = ways or [first.hint or "Choose a spec that fits: `envkit specs --fits`."]
    raise UnfitMachineError(
        f"This machine does not fit {name}: {_what(first)} {first.found}, needed {first.needed}.",
        why="\n".join(_told(check) for check in failed),
        hint=f"{' Or: '.join(hints)} --force goes on all the same.",
    )


def _what(check: FitCheck) -> str:
    return check.id.replace("-", " ")


def _told(check: FitCheck) -> str:
    known = f" ({check.known})" if check.known else ""
    return f"{_what(check)}: found {check.found}, needed {check.needed}{known}. {check.why or ''}".strip()


def _target_cuda(options: CreateOptions) -> tuple[int, int] | None:
    if options.cuda in {None, "auto"}:
        return None
    found = re.fullmatch(r"(\d+)\.(\d+)", str(options.cuda))
    if found is None:
        raise UsageError(
            f"--cuda {options.cuda} is no version.",
            hint="Write it as in --cuda 12.4, or --cuda auto. Another build is another spec: `envkit specs`.",
        )
    return int(found[1]), int(found[2])


def _check_target(
    lock: Lock, target: tuple[int, int], platform: str, options: CreateOptions, progress: Progress
) -> None:
    """What a driver that serves a CUDA does for the build, by the oldest driver that runs the build."""
    if lock.cuda is None or target >= tuple(int(part) for part in lock.cuda.split(".")):
        return
    said = f"The build needs CUDA {lock.cuda}, the target's driver serves {options.cuda}."
    need = driver_need(lock.cuda, platform)
    oldest = None if need is None else served_cuda(DriverVersion(version_key(need.minimum), need.minimum), platform)
    if need is not None and oldest is not None and version_key(oldest) <= target:
        progress.note(f"{said} With driver {need.minimum} or newer that works, but for features of the newer driver.")
    elif options.force or need is None or need.known not in MAY_REFUSE:
        progress.note(said)
    else:
        raise UnfitMachineError(
            f"The target machine does not fit {lock.spec}.",
            why=f"{said} It takes driver {need.minimum} or newer.",
            hint="Take a build for an older CUDA, or --force.",
        )
