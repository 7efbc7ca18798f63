"""The build of torch that suits a machine best: the one ranking of create, preflight and the routes."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from envkit import resources
from envkit.compat.card_checks import CARD
from envkit.compat.releases import build_cuda
from envkit.compat.tables import MACHINES, MAY_REFUSE, build_label, version_key
from envkit.operations.spec_fit import fit_of_spec
from envkit.operations.spec_index import spec_named
from envkit.operations.specs import find_spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from envkit.compat.releases import Release
    from envkit.model.fit import FitCheck
    from envkit.operations.machine import Machine
    from envkit.operations.spec_fit import SpecFit
    from envkit.operations.specs import SpecFile


class Grade(IntEnum):
    """How well a build suits a machine."""

    UNFIT = 0
    """It does not fit."""
    DOUBTFUL = 1
    """As far as is known it does not work, or was never published; but that is not known well enough to refuse."""
    OPEN = 2
    """It cannot be told, as for a card that no table has."""
    RESERVED = 3
    """It fits, with a reserve: a driver older than the toolkit's."""
    SURE = 4
    """It fits."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A CUDA build, by the spec that ships for it.

    Attributes:
        release: of torch.
        found: the spec.
        fit: whether it fits the machine.
        grade: how well.
    """

    release: Release
    found: SpecFile
    fit: SpecFit
    grade: Grade

    @property
    def name(self) -> str:
        """Of the spec."""
        return self.found.spec.name

    @property
    def fits(self) -> bool:
        """Whether it surely does."""
        return self.grade >= Grade.RESERVED

    @property
    def key(self) -> tuple[Grade, tuple[int, ...]]:
        """Builds of one release compare by it: what suits best, then the newest CUDA."""
        return self.grade, version_key(self.found.spec.cuda or "0")


def best_of(
    machine: Machine,
    those: Iterable[Release],
    *,
    installers: Sequence[str] = ("pip",),
    python: str | None = None,
    least: Grade = Grade.OPEN,
    own: str | None = None,
) -> Candidate | None:
    """The best CUDA build: of the first release that has one which surely fits; else the best of those that may.

    Args:
        machine: where it shall run.
        those: the releases, those that are preferred first.
        installers: whose specs; those of the second where the first has none for a build.
        python: that it has to have; None: that of its spec.
        least: what is below does not count.
        own: the name of a spec that does not count.
    """
    best: Candidate | None = None
    for release in those:
        builds = candidates(release, machine, installers, python)
        counting = (item for item in builds if item.grade >= least and item.name != own)
        found = max(counting, key=lambda item: item.key, default=None)
        if found is not None and found.fits:
            return found
        if found is not None and (best is None or found.grade > best.grade):
            best = found
    return best


def candidates(
    release: Release, machine: Machine, installers: Sequence[str], python: str | None = None
) -> Iterator[Candidate]:
    """The CUDA builds of a release for the machine's platform that specs ship for, with their grades."""
    for found in specs_of(release, installers, machine.platform):
        if found.spec.cuda is not None:
            fit = fit_of_spec(found.spec, machine, python=python)
            yield Candidate(release, found, fit, _grade(found, fit, release, machine.platform))


def cpu_of(release: Release, machine: Machine, installers: Sequence[str]) -> SpecFile | None:
    """The spec of the CPU build of a release, where one ships for the machine's platform."""
    return next((found for found in specs_of(release, installers, machine.platform) if found.spec.cuda is None), None)


def specs_of(release: Release, installers: Sequence[str], platform: str | None = None) -> Iterator[SpecFile]:
    """The specs that ship for the builds of a release, by build, one for each."""
    labels = {build.label for name in MACHINES for build in release.builds(name)}
    for label in sorted(labels):
        names = (spec_named(release.torch, build_cuda(label), kind) for kind in installers)
        found = next((_shipped(name, resources.lockfiles_dir()) for name in names if name is not None), None)
        if found is not None and (platform is None or platform in found.spec.platforms):
            yield found


@functools.lru_cache(maxsize=512)
def _shipped(name: str, _folder: Path) -> SpecFile:
    return find_spec(name)


def _grade(found: SpecFile, fit: SpecFit, release: Release, platform: str) -> Grade:
    if fit.fits is False:
        return Grade.UNFIT
    build = release.build(build_label(found.spec.cuda), platform)
    is_published = found.spec.installer != "pip" or (build is not None and build.known in MAY_REFUSE)
    if not is_published or any(check.is_doubtful and not _is_beside(check, fit) for check in fit.checks):
        return Grade.DOUBTFUL
    if fit.fits is None:
        return Grade.OPEN
    return Grade.RESERVED if any(check.status == "warn" for check in fit.checks) else Grade.SURE


def _is_beside(check: FitCheck, fit: SpecFit) -> bool:
    """Whether a doubtful check is that of a GPU beside another one that runs the build."""
    return check.id == CARD and any(other.id == CARD and other.status == "ok" for other in fit.checks)


def reason_of(candidate: Candidate, machine: Machine) -> str:
    """Why a build is taken, for people, with what speaks against it."""
    gpus = ", ".join(dict.fromkeys(gpu.name or "a GPU without a name" for gpu in machine.gpus))
    given = f"driver {machine.driver}{f' and {gpus}' if gpus else ''}"
    best = "is the best build for" if candidate.fits else "is the newest build that may run with"
    checks = candidate.fit.checks
    reserves = dict.fromkeys(check.why for check in checks if check.status == "warn" or _is_open_card(check))
    return " ".join([f"CUDA {candidate.found.spec.cuda} {best} {given}.", *filter(None, reserves)])


def _is_open_card(check: FitCheck) -> bool:
    return check.id == CARD and check.status == "unknown"
