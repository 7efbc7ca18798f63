"""Will a torch, a spec or a lock work on a machine? Judged from the tables and the lock, without any network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from envkit.compat.card_checks import CARD
from envkit.compat.fit_checks import LOCK, check_needs
from envkit.compat.release_checks import check_build, check_platform, check_python, is_wheel_for
from envkit.compat.releases import newest_of, release_of
from envkit.compat.torch_needs import Package, table_needs
from envkit.model.fit import FitCheck, sum_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from envkit.compat.needs import Needs
    from envkit.compat.releases import Release
    from envkit.model.lock import Lock
    from envkit.model.spec import Spec
    from envkit.operations.machine import Machine

_PYTORCHS_OWN = "https://download.pytorch.org/"
_ELSEWHERE = "It comes from another index than PyTorch's, whose builds may differ."


@dataclass(frozen=True, slots=True)
class SpecFit:
    """Whether something fits a machine.

    Attributes:
        fits: None where it cannot be told: a CUDA build, and the driver or the card is not known.
        checks: what was looked at.
    """

    fits: bool | None
    checks: tuple[FitCheck, ...]

    @property
    def reason(self) -> str | None:
        """What speaks against it, what keeps it from being told, or, where it fits, what may not work."""
        words = {False: ("fail",), None: ("unknown", "warn"), True: ("warn",)}[self.fits]
        told = dict.fromkeys(check.why for check in self.checks if check.status in words and check.why)
        return " ".join(map(str, told)) or None


def fit_of(torch: str, cuda: str | None, python: str, machine: Machine) -> SpecFit:
    """Whether PyTorch's own wheels of a torch fit, by the tables alone.

    Args:
        torch: version, "1.12.1", with or without a build label.
        cuda: build CUDA, or None for a CPU build.
        python: "3.9".
        machine: where it shall run.
    """
    release = _release(torch)
    checks = [*_of_release(release, torch, cuda, machine.platform), *_of_python(release, python, machine.platform)]
    return _sum([*checks, *_of_machine(torch, cuda, machine)], cuda)


def fit_of_spec(spec: Spec, machine: Machine, lock: Lock | None = None, python: str | None = None) -> SpecFit:
    """Whether a spec fits; by its lock as well where there is one for the machine's platform.

    Args:
        spec: what is wanted.
        machine: where it shall run.
        lock: of that spec.
        python: instead of the spec's.
    """
    platform = machine.platform
    if lock is not None and platform in lock.platforms:
        return fit_of_lock(lock, machine, python)
    checks = [check_platform(spec.name, spec.platforms, platform)]
    torch, package = spec.torch_version, _package(spec.installer, spec.channels)
    if torch is not None:
        source = spec.source_of("torch")
        release = _release(torch)
        found: list[FitCheck] = []
        if package == "wheel":
            found = _of_release(release, torch, spec.cuda, platform)
            found += _of_python(release, python or spec.python, platform)
        found += _of_machine(torch, spec.cuda, machine, package)
        checks += _as_known(found, None if source is None else source.url)
        if release is not None and package == "wheel":
            checks += _of_packages(release, spec.packages, platform)
    else:
        checks += _of_machine(None, spec.cuda, machine)
    return _sum(checks, spec.cuda)


def fit_of_lock(lock: Lock, machine: Machine, python: str | None = None) -> SpecFit:
    """Whether what a lock gives fits.

    Args:
        lock: its needs count, however they came to be known.
        machine: where it shall run.
        python: instead of the lock's.
    """
    platform = machine.platform
    if platform not in lock.platforms:
        return _sum([check_platform(lock.spec, lock.platforms, platform)], lock.cuda)
    needs = dict(lock.platforms[platform].needs)
    torch = lock.torch_version(platform)
    if machine.is_wsl and lock.cuda is not None:  # the lock has the numbers of Linux' drivers
        told, sources = table_needs(torch, lock.cuda, platform, machine.driver_platform)
        own = {name: need for name, need in told.items() if name == "driver"}
        checks = [*check_needs(own, driver=machine.driver, cards=(), glibc=None, sources=sources)]
        needs.pop("driver", None)
    else:
        checks = []
    checks += check_needs(
        needs, driver=machine.driver, cards=machine.cards, glibc=machine.glibc, driver_end=machine.driver_end
    )
    checks += _without_facts(needs, torch, machine, lock)
    entry = lock.package(platform, "torch")
    release = None if torch is None else _release(torch)
    if release is not None and lock.installer == "pip":
        asked = python or lock.python
        if entry is not None and is_wheel_for(entry.file, asked):
            of_python = [FitCheck("python", "ok", asked, source=LOCK, known="confirmed")]
        else:
            of_python = _as_known(_of_python(release, asked, platform), None if entry is None else entry.source)
        checks = [*of_python, *checks]
        pins = [f"{item.name}=={item.version}" for item in lock.platforms[platform].packages]
        checks += _of_packages(release, pins, platform)
    return _sum(checks, lock.cuda)


def _without_facts(needs: Needs, torch: str | None, machine: Machine, lock: Lock) -> list[FitCheck]:
    """What a CUDA build surely needs although the lock does not say it; by the tables."""
    if lock.cuda is None or "compute_capability" in needs:
        return []
    package = _package(lock.installer, lock.channels)
    return [check for check in _of_machine(torch, lock.cuda, machine, package) if check.id == CARD]


def _release(torch: str) -> Release | None:
    """The release of a version; of "1.12" the newest: that is what a pin with a wildcard gives."""
    return release_of(torch) or newest_of(torch.partition("+")[0])


def _package(installer: str, channels: Iterable[str]) -> Package:
    if installer == "pip":
        return "wheel"
    return "conda" if "pytorch" in channels else "other"


def _of_release(release: Release | None, torch: str, cuda: str | None, platform: str) -> list[FitCheck]:
    return [check_build(release, torch, cuda, platform)]


def _of_python(release: Release | None, python: str, platform: str) -> list[FitCheck]:
    return [] if release is None else check_python(release, python, platform)


def _of_packages(release: Release, packages: Iterable[str], platform: str) -> list[FitCheck]:
    from envkit.compat.spec_checks import check_numpy, check_set  # noqa: PLC0415 - packaging costs start-up time

    named = list(packages)
    return [*check_set(release, named), *check_numpy(release, named, platform)]


def _of_machine(torch: str | None, cuda: str | None, machine: Machine, package: Package = "wheel") -> list[FitCheck]:
    release = None if torch is None else _release(torch)
    exact = torch if release is None else release.torch
    needs, sources = table_needs(exact, cuda, machine.platform, machine.driver_platform, package)
    checks = check_needs(
        needs,
        driver=machine.driver,
        cards=machine.cards,
        glibc=machine.glibc,
        sources=sources,
        driver_end=machine.driver_end,
    )
    return list(checks)


def _as_known(checks: list[FitCheck], source: str | None) -> list[FitCheck]:
    """Facts about PyTorch's own builds may not refuse those of another index; the driver's needs hold for all."""
    if source is None or source.startswith(_PYTORCHS_OWN):
        return checks
    return [
        replace(check, status="warn", known="derived", why=f"{check.why} {_ELSEWHERE}", is_doubtful=True)
        if check.status == "fail" and check.id != "driver"
        else check
        for check in checks
    ]


def _sum(checks: list[FitCheck], cuda: str | None) -> SpecFit:
    deciding = ["driver", CARD] if cuda is not None else []
    if any(check.id == "build" for check in checks):
        deciding.append("build")
    return SpecFit(sum_of(checks, deciding), tuple(checks))
