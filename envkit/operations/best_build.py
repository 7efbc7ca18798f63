"""The build of a torch that suits a machine best, of those that specs ship for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from envkit.compat.card_checks import CARD
from envkit.compat.releases import build_cuda
from envkit.compat.tables import MACHINES, MAY_REFUSE, build_label, version_key
from envkit.operations.spec_fit import fit_of_spec
from envkit.operations.spec_index import spec_named
from envkit.operations.specs import find_spec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from envkit.compat.releases import Release
    from envkit.model.fit import FitCheck
    from envkit.model.spec import Spec
    from envkit.operations.machine import Machine
    from envkit.operations.spec_fit import SpecFit
    from envkit.operations.specs import SpecFile


@dataclass(frozen=True, slots=True)
class Choice:
    """A spec that was chosen.

    Attributes:
        found: the spec; None where none can be chosen: no driver, or nothing that fits, and no CPU build ships.
        why: for people, a sentence.
    """

    found: SpecFile | None
    why: str


def best_build(release: Release, installer: str, machine: Machine) -> Choice | None:
    """The best build of a release for a machine; the CPU build where no CUDA build can be told to fit.

    What surely fits comes before what cannot be told, as for a card that no table has; then builds that surely exist;
    of what surely fits, those without a reserve, such as a driver older than the toolkit's; then the newest CUDA.

    Returns:
        None when no spec of that installer ships for the machine's platform.
    """
    specs = [found for found in specs_of(release, installer) if machine.platform in found.spec.platforms]
    if not specs:
        return None
    cpu = next((found for found in specs if found.spec.cuda is None), None)
    if machine.driver is None:
        return Choice(cpu, "No NVIDIA driver answers here, so only the CPU build surely runs.")
    judged = [(found, fit_of_spec(found.spec, machine)) for found in specs if found.spec.cuda is not None]
    able = [item for item in judged if item[1].fits is not False]
    if not able:
        reasons = dict.fromkeys(check.why for _, fit in judged for check in fit.checks if check.status == "fail")
        told = " ".join(reason for reason in reasons if reason)
        return Choice(cpu, f"No CUDA build of torch {release.torch} fits this machine. {told}".strip())
    found, fit = max(able, key=lambda item: _rank(item[0].spec, item[1], release, machine.platform))
    return Choice(found, _reason(found.spec, fit, machine))


def specs_of(release: Release, installer: str) -> Iterator[SpecFile]:
    """The specs that ship for the builds of a release, by build."""
    labels = {build.label for platform in MACHINES for build in release.builds(platform)}
    for label in sorted(labels):
        name = spec_named(release.torch, build_cuda(label), installer)
        if name is not None:
            yield find_spec(name)


def _rank(spec: Spec, fit: SpecFit, release: Release, platform: str) -> tuple[bool, bool, bool, tuple[int, ...]]:
    build = release.build(build_label(spec.cuda), platform)
    is_sure = build is not None and build.known in MAY_REFUSE
    # an old build has code for fewer of the cards that it may be, so that a reserve is no reason to take one then
    has_reserve = fit.fits is True and any(check.status == "warn" for check in fit.checks)
    return fit.fits is True, is_sure, not has_reserve, version_key(spec.cuda or "0")


def _reason(spec: Spec, fit: SpecFit, machine: Machine) -> str:
    gpus = ", ".join(dict.fromkeys(gpu.name or "a GPU without a name" for gpu in machine.gpus))
    given = f"driver {machine.driver}{f' and {gpus}' if gpus else ''}"
    best = "is the best build for" if fit.fits else "is the newest build that may run with"
    reserves = dict.fromkeys(check.why for check in fit.checks if check.status == "warn" or _is_open_card(check))
    return " ".join([f"CUDA {spec.cuda} {best} {given}.", *filter(None, reserves)])


def _is_open_card(check: FitCheck) -> bool:
    return check.id == CARD and check.status == "unknown"
