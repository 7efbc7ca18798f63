"""Ways to something that works where a build does not fit: an older or newer build, or a newer driver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from envkit.compat.card_checks import CARD
from envkit.compat.driver_branches import newest_branch
from envkit.compat.releases import newest_of, release_of, releases
from envkit.compat.tables import driver_need, version_key
from envkit.model.driver import DriverVersion
from envkit.model.fit import Route
from envkit.operations.best_build import Grade, best_of, cpu_of
from envkit.operations.spec_fit import fit_of, fit_of_spec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from envkit.compat.releases import Release
    from envkit.compat.tables import DriverNeed
    from envkit.model.spec import Spec
    from envkit.operations.best_build import Candidate
    from envkit.operations.machine import Machine

Wanted = tuple[str, str | None]
"""A torch version and its build CUDA."""

_NO_CUDA = "No CUDA build among the specs fits driver and card as they are; t"

_NEWEST_DRIVER = DriverVersion((10**6,), "newest")
"""A driver that is new enough for everything, to find what a newer one would serve."""


@dataclass(frozen=True, slots=True)
class _Search:
    """What is looked for.

    Attributes:
        release: the torch that is wanted; None: any.
        machine: where it shall run.
        installer: whose specs are preferred.
        python: that was asked for; other releases must have wheels for it.
        own: the spec that does not fit.
    """

    release: Release | None
    machine: Machine
    installer: str
    python: str | None = None
    own: str | None = None

    @property
    def installers(self) -> tuple[str, ...]:
        """Whose specs count."""
        return tuple(dict.fromkeys((self.installer, "pip")))


def routes_for(
    wanted: Spec | Wanted, machine: Machine, *, installer: str = "pip", python: str | None = None
) -> tuple[Route, ...]:
    """What fits the machine instead, best first; nothing where it cannot be told what fits.

    First the newest CUDA build of the same torch, or where none fits, of the newest torch that has one. Then a newer
    driver, where that is all that is missing. A CPU build where no CUDA build fits as the machine is.

    Args:
        wanted: what does not fit.
        machine: where it shall run.
        installer: whose specs are preferred; a spec's own one where ``wanted`` is a spec.
        python: that was asked for, where it was.
    """
    if isinstance(wanted, tuple):
        (torch, cuda), own = wanted, None
    else:
        torch, cuda, installer, own = wanted.torch_version or "", wanted.cuda, wanted.installer, wanted.name
    release = release_of(torch) or newest_of(torch.partition("+")[0])
    search = _Search(release, machine, installer, python, own)
    if cuda is None:
        return tuple(_cpu(search, "T"))
    if not isinstance(wanted, tuple) and machine.platform not in wanted.platforms:
        cuda = None
    found = _best(search)
    routes = [] if found is None else [_use(search, found)]
    driver = _driver(search, cuda)
    if driver is not None:
        routes.append(driver)
    elif found is None:
        routes += _driver_and_build(search)
    if found is None:
        routes += _cpu(search, _NO_CUDA)
    return tuple(routes)


def newest_fitting(machine: Machine) -> Route | None:
    """The newest torch with a CUDA build that fits the machine, or may; a CPU build where that can be told of none."""
    if machine.driver is None:
        return None
    search = _Search(None, machine, "pip")
    found = best_of(machine, releases())
    return _use(search, found) if found is not None else next(iter(_cpu(search, _NO_CUDA)), None)


def _best(search: _Search) -> Candidate | None:
    """The build that surely fits: of the torch that is wanted, or else of the newest."""
    machine, release = search.machine, search.release
    find = partial(best_of, machine, installers=search.installers, least=Grade.RESERVED, own=search.own)
    if release is not None:
        is_there = search.python in release.pythons(machine.platform)
        found = find((release,), python=search.python if is_there else None)
        if found is not None:
            return found
    return find(_others(release), python=search.python)


def _others(release: Release | None) -> Iterator[Release]:
    yield from (other for other in releases() if other is not release)


def _python(release: Release, search: _Search) -> str | None:
    """The Python to judge a release with: the one that was asked for where it has wheels for it."""
    pythons = release.pythons(search.machine.platform)
    return search.python if search.python in pythons else next(reversed(pythons), None)


def _use(search: _Search, found: Candidate) -> Route:
    torch, wanted = found.release.torch, search.release
    told = f"torch {torch} built for CUDA {found.found.spec.cuda}"
    if not found.fits:
        return Route("use-spec", found.name, f"T{told[1:]} is the newest that may fit: that cannot be told for sure.")
    if wanted is not None:
        other = "" if found.release is wanted else f"No other build of torch {wanted.torch} fits; "
        return Route("use-spec", found.name, f"{other}{told} fits driver and card.")
    return Route("use-spec", found.name, f"T{told[1:]} fits driver and card.{newest_told(found.release)}")


def newest_told(taken: Release) -> str:
    """That there is a newer torch than the one that runs here; empty for the newest."""
    newest = releases()[0].torch
    return "" if taken.torch == newest else f" The newest is {newest}; {taken.torch} is the newest that runs here."


def _cpu(search: _Search, told: str) -> list[Route]:
    """A CPU build, of the same torch where there is a spec; ``told`` ends with the T of torch."""
    own = () if search.release is None else (search.release,)
    for release in (*own, *_others(search.release)):
        found = cpu_of(release, search.machine, search.installers)
        if found is not None and found.spec.name != search.own:
            return [Route("use-spec", found.spec.name, f"{told}orch {release.torch} runs on the CPU.")]
    return []


def _driver(search: _Search, cuda: str | None) -> Route | None:
    """A newer driver, where the driver is too old for the build and the cards run both."""
    machine, release = search.machine, search.release
    need = None if cuda is None else driver_need(cuda, machine.driver_platform)
    if need is None or cuda is None or machine.driver is None or machine.driver.parts >= version_key(need.minimum):
        return None
    python = None if release is None else _python(release, search)
    is_sure = False
    if release is not None and python is not None:
        newer = DriverVersion(version_key(need.minimum), need.minimum)
        fit = fit_of(release.torch, cuda, python, replace(machine, driver=newer))
        if any(check.status == "fail" for check in fit.checks if check.id in {CARD, "build"}):
            return None
        is_sure = fit.fits is True
    if not _may_have(machine, need):
        return None
    has_full = need.toolkit is not None and _may_have(machine, replace(need, minimum=need.toolkit))
    full = f"; {need.toolkit} or newer serves all of CUDA {cuda}" if has_full else ""
    told = "runs it" if is_sure else f"is new enough for CUDA {cuda}"
    return Route("upgrade-driver", None, f"Driver {need.minimum} or newer {told}{full}.")


def _driver_and_build(search: _Search) -> list[Route]:
    """A newer driver and another build, where nothing fits this driver."""
    if search.machine.driver is None:
        return []
    found = _best(replace(search, machine=replace(search.machine, driver=_NEWEST_DRIVER)))
    if found is None:
        return []
    cuda = found.found.spec.cuda or ""
    need = driver_need(cuda, search.machine.driver_platform)
    oldest = None if need is None else _oldest_driver(found.found.spec, need, search.machine)
    if oldest is None:
        return []
    told = f"torch {found.release.torch} built for CUDA {cuda}"
    why = f"With driver {oldest} or newer, {found.name} fits: {told}."
    return [Route("upgrade-driver", None, why)]


def _oldest_driver(spec: Spec, need: DriverNeed, machine: Machine) -> str | None:
    """The driver that surely runs a spec: the floor, or where that may not know the card, the toolkit's own one."""
    for version in filter(None, (need.minimum, need.toolkit)):
        newer = replace(machine, driver=DriverVersion(version_key(version), version))
        if _may_have(machine, replace(need, minimum=version)) and fit_of_spec(spec, newer).fits:
            return version
    return None


def _may_have(machine: Machine, need: DriverNeed) -> bool:
    """Whether there are such drivers for all the GPUs: old ones are served up to some branch alone."""
    limits = [limit for card in machine.cards if (limit := newest_branch(card.capability)) is not None]
    return all(version_key(limit.branch) >= version_key(need.minimum)[:1] for limit in limits)
