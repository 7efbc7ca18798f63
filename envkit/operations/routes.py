"""Ways to something that works where a build does not fit: an older or newer build, or a newer driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.compat.driver_branches import newest_branch
from envkit.compat.fit_checks import CARD
from envkit.compat.releases import newest_of, release_of, releases
from envkit.compat.tables import driver_need, version_key
from envkit.model.fit import Route
from envkit.operations.spec_fit import fit_of
from envkit.operations.spec_index import spec_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from envkit.compat.releases import Build, Release
    from envkit.model.spec import Spec
    from envkit.operations.machine import Machine

Wanted = tuple[str, str | None]
"""A torch version and its build CUDA."""


def routes_for(
    wanted: Spec | Wanted, machine: Machine, *, installer: str = "pip", python: str | None = None
) -> tuple[Route, ...]:
    """What fits the machine instead, best first; nothing where it cannot be told what fits.

    First the newest CUDA build of the same torch; where none fits, the newest torch that has one, and where no CUDA
    build fits at all, a CPU build. Then a newer driver, where that is all that is missing.

    Args:
        wanted: what does not fit.
        machine: where it shall run.
        installer: whose specs are preferred; a spec's own one where ``wanted`` is a spec.
        python: that was asked for; releases that have no wheels for it come after those that have.
    """
    if isinstance(wanted, tuple):
        (torch, cuda), own = wanted, None
    else:
        torch, cuda, installer, own = wanted.torch_version or "", wanted.cuda, wanted.installer, wanted.name
    release = release_of(torch) or newest_of(torch.partition("+")[0])
    specs = _specs(release, machine, installer, python, own)
    return (*([specs] if specs is not None else []), *_driver(release, cuda, machine, python))


def newest_fitting(machine: Machine, *, installer: str = "pip") -> Route | None:
    """The newest torch with a CUDA build that fits the machine; a CPU build where none does and that can be told."""
    if machine.driver is None or not machine.cards:
        return None
    return _specs(None, machine, installer, None, None)


def _specs(
    release: Release | None, machine: Machine, installer: str, python: str | None, own: str | None
) -> Route | None:
    for candidate in _candidates(release):
        for build in _builds(candidate, machine):
            name = _name(candidate, build, installer)
            wish = _python(candidate, machine, python)
            if name is None or name == own or wish is None or (release is not candidate and wish != (python or wish)):
                continue
            if build.cuda is not None and fit_of(candidate.torch, build.cuda, wish, machine).fits is True:
                return Route("use-spec", name, _why(candidate, build, release))
    return _cpu(release, machine, installer, own)


def _candidates(release: Release | None) -> Iterator[Release]:
    if release is not None:
        yield release
    yield from (other for other in releases() if other is not release)


def _builds(release: Release, machine: Machine) -> list[Build]:
    """The newest first."""
    return sorted(release.builds(machine.platform), key=lambda build: version_key(build.cuda or "0"), reverse=True)


def _name(release: Release, build: Build, installer: str) -> str | None:
    return spec_named(release.torch, build.cuda, installer) or spec_named(release.torch, build.cuda)


def _python(release: Release, machine: Machine, wanted: str | None) -> str | None:
    """The Python to judge a release with: the one that was asked for where it has wheels for it."""
    pythons = release.pythons(machine.platform)
    return wanted if wanted in pythons else next(reversed(pythons), None)


def _why(candidate: Release, build: Build, release: Release | None) -> str:
    why = f"torch {candidate.torch} built for CUDA {build.cuda} fits driver and card"
    if release is not None and candidate is not release:
        return f"No other build of torch {release.torch} fits; {why}."
    return f"{why}."


def _cpu(release: Release | None, machine: Machine, installer: str, own: str | None) -> Route | None:
    """A CPU build, of the same torch where there is a spec."""
    for candidate in _candidates(release):
        build = candidate.build("cpu", machine.platform)
        name = None if build is None else _name(candidate, build, installer)
        if name is not None and name != own:
            return Route("use-spec", name, f"No CUDA build fits this machine; torch {candidate.torch} runs on its CPU.")
    return None


def _driver(release: Release | None, cuda: str | None, machine: Machine, python: str | None) -> list[Route]:
    """A newer driver, where the driver is too old and the cards run the build and such a driver."""
    need = None if cuda is None else driver_need(cuda, machine.driver_platform)
    if need is None or cuda is None or machine.driver is None or machine.driver.parts >= version_key(need.minimum):
        return []
    if release is not None:
        wish = _python(release, machine, python)
        checks = fit_of(release.torch, cuda, wish, machine).checks if wish is not None else ()
        if any(check.status == "fail" for check in checks if check.id == CARD):
            return []
    limits = [limit for card in machine.cards if (limit := newest_branch(card.capability)) is not None]
    if any(version_key(limit.branch) < version_key(need.minimum)[:1] for limit in limits):
        return []
    full = "" if need.toolkit is None else f"; {need.toolkit} or newer serves all of CUDA {cuda}"
    return [Route("upgrade-driver", None, f"Driver {need.minimum} or newer runs it{full}.")]
