"""Ways to something that works where a build does not fit: an older or newer build, or a newer driver."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from envkit.compat.card_checks import CARD
from envkit.compat.driver_branches import newest_branch
from envkit.compat.releases import newest_of, release_of, releases
from envkit.compat.tables import driver_need, version_key
from envkit.model.driver import DriverVersion
from envkit.model.fit import Route
from envkit.operations.spec_fit import fit_of
from envkit.operations.spec_index import spec_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from envkit.compat.releases import Build, Release
    from envkit.compat.tables import DriverNeed
    from envkit.model.spec import Spec
    from envkit.operations.machine import Machine

Wanted = tuple[str, str | None]
"""A torch version and its build CUDA."""

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
    found = _best(search)
    routes = [] if found is None else [_use(search, *found)]
    driver = _driver(search, cuda)
    if driver is not None:
        routes.append(driver)
    elif found is None:
        routes += _driver_and_build(search)
    if found is None:
        routes += _cpu(search)
    return tuple(routes)


def newest_fitting(machine: Machine, *, installer: str = "pip") -> Route | None:
    """The newest torch with a CUDA build that fits the machine; a CPU build where none does and that can be told."""
    if machine.driver is None or not machine.cards:
        return None
    search = _Search(None, machine, installer)
    found = _best(search)
    return _use(search, *found) if found is not None else next(iter(_cpu(search)), None)


def _best(search: _Search) -> tuple[Release, Build, str] | None:
    """The release, build and spec that fit."""
    for candidate in _candidates(search.release):
        python = _python(candidate, search)
        is_other = search.release is not None and candidate is not search.release
        if python is None or (is_other and search.python not in {None, python}):
            continue
        builds = candidate.builds(search.machine.platform)
        for build in sorted(builds, key=lambda item: version_key(item.cuda or "0"), reverse=True):
            if build.cuda is None or fit_of(candidate.torch, build.cuda, python, search.machine).fits is not True:
                continue
            name = _name(candidate, build, search.installer)
            if name is not None and name != search.own:
                return candidate, build, name
    return None


def _candidates(release: Release | None) -> Iterator[Release]:
    if release is not None:
        yield release
    yield from (other for other in releases() if other is not release)


def _name(release: Release, build: Build, installer: str) -> str | None:
    return spec_named(release.torch, build.cuda, installer) or spec_named(release.torch, build.cuda)


def _python(release: Release, search: _Search) -> str | None:
    """The Python to judge a release with: the one that was asked for where it has wheels for it."""
    pythons = release.pythons(search.machine.platform)
    return search.python if search.python in pythons else next(reversed(pythons), None)


def _use(search: _Search, candidate: Release, build: Build, name: str) -> Route:
    told = f"torch {candidate.torch} built for CUDA {build.cuda} fits driver and card"
    if search.release is not None and candidate is not search.release:
        return Route("use-spec", name, f"No other build of torch {search.release.torch} fits; {told}.")
    return Route("use-spec", name, f"{told[0].upper() if search.release is None else told[0]}{told[1:]}.")


def _cpu(search: _Search) -> list[Route]:
    """A CPU build, of the same torch where there is a spec."""
    for candidate in _candidates(search.release):
        build = candidate.build("cpu", search.machine.platform)
        name = None if build is None else _name(candidate, build, search.installer)
        if name is not None and name != search.own:
            why = f"No CUDA build fits driver and card as they are; torch {candidate.torch} runs on the CPU."
            return [Route("use-spec", name, why)]
    return []


def _driver(search: _Search, cuda: str | None) -> Route | None:
    """A newer driver, where the driver is too old for the build and the cards run both."""
    machine, release = search.machine, search.release
    need = None if cuda is None else driver_need(cuda, machine.driver_platform)
    if need is None or cuda is None or machine.driver is None or machine.driver.parts >= version_key(need.minimum):
        return None
    python = None if release is None else _python(release, search)
    if release is not None and python is not None:
        checks = fit_of(release.torch, cuda, python, machine).checks
        if any(check.status == "fail" for check in checks if check.id == CARD):
            return None
    if not _may_have(machine, need):
        return None
    has_full = need.toolkit is not None and _may_have(machine, replace(need, minimum=need.toolkit))
    full = f"; {need.toolkit} or newer serves all of CUDA {cuda}" if has_full else ""
    return Route("upgrade-driver", None, f"Driver {need.minimum} or newer runs it{full}.")


def _driver_and_build(search: _Search) -> list[Route]:
    """A newer driver and another build, where nothing fits this driver."""
    if search.machine.driver is None:
        return []
    found = _best(replace(search, machine=replace(search.machine, driver=_NEWEST_DRIVER)))
    if found is None:
        return []
    candidate, build, name = found
    need = driver_need(build.cuda or "", search.machine.driver_platform)
    if need is None or not _may_have(search.machine, need):
        return []
    told = f"torch {candidate.torch} built for CUDA {build.cuda}"
    why = f"With driver {need.minimum} or newer, {name} fits: {told}."
    return [Route("upgrade-driver", None, why)]


def _may_have(machine: Machine, need: DriverNeed) -> bool:
    """Whether there are such drivers for all the GPUs: old ones are served up to some branch alone."""
    limits = [limit for card in machine.cards if (limit := newest_branch(card.capability)) is not None]
    return all(version_key(limit.branch) >= version_key(need.minimum)[:1] for limit in limits)
