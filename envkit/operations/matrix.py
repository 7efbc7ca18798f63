"""Matrix: which torch goes with which CUDA build, Python, system and installer, and what of it fits this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envkit.compat.conda_builds import conda_builds
from envkit.compat.releases import releases
from envkit.compat.tables import MACHINES, MAY_REFUSE, version_key
from envkit.operations.machine import machine_here_or
from envkit.operations.matrix_page import write_page
from envkit.operations.spec_fit import SpecFit, fit_of, fit_of_spec
from envkit.operations.spec_index import spec_named
from envkit.operations.specs import find_spec
from envkit.operations.wanted_build import WantedBuild, no_such_build, wanted_build

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from envkit.compat.releases import Build, Release
    from envkit.model.spec import Spec
    from envkit.operations.machine import Machine


@dataclass(frozen=True, slots=True)
class Row:
    """A build of a release, as one installer puts it into an environment.

    Attributes:
        release: of torch, with what goes with it.
        build: the build; for a CPU build its ``cuda`` is None.
        installer: "pip" or "conda".
        known: the platforms that have it, and how well that is known.
        pythons: of each platform, ascending; None where that is not known.
        spec: the one that ships for it, or None.
        python: the one that was asked for, or None.
        fits: whether this machine runs it; None: cannot be told.
        why: the reason, where it is not true.
    """

    release: Release
    build: Build
    installer: str
    known: Mapping[str, str]
    pythons: Mapping[str, tuple[str, ...] | None]
    spec: Spec | None
    python: str | None
    fits: bool | None
    why: str | None

    @property
    def is_well_known(self) -> bool:
        """Whether some platform surely has it."""
        return any(word in MAY_REFUSE for word in self.known.values())

    @property
    def command(self) -> str | None:
        """What makes an environment with it; None where no spec ships."""
        if self.spec is None:
            return None
        if self.python is None or f"{self.spec.python}.".startswith(f"{self.python}."):
            return f"envkit create {self.spec.name}"
        build = "+cpu" if self.build.cuda is None else f" --cuda {self.build.cuda}"
        return f"envkit create torch=={self.release.torch}{build} --python {self.python}"

    def to_json(self) -> dict[str, Any]:
        """An entry of ``rows`` (docs/json.md)."""
        spec = self.spec
        return {
            "torch": self.release.torch,
            "torchvision": self.release.torchvision,
            "torchaudio": self.release.torchaudio,
            "released": self.release.released,
            "cuda": self.build.cuda,
            "build": self.build.label,
            "platforms": list(self.known),
            "known": dict(self.known),
            "pythons": {name: None if found is None else list(found) for name, found in self.pythons.items()},
            "installer": self.installer,
            "spec": None if spec is None else spec.name,
            "spec_python": None if spec is None else spec.python,
            "spec_platforms": [] if spec is None else list(spec.platforms),
            "command": self.command,
            "fits": self.fits,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class MatrixResult:
    """What ``envkit matrix`` shows.

    Attributes:
        rows: newest release first, within one by CUDA, newest first and CPU last; pip before conda.
        machine: by which they were judged.
        wanted: what was asked for.
        page: the file that was written, or None.
    """

    rows: tuple[Row, ...]
    machine: Machine
    wanted: WantedBuild
    page: Path | None = None

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit matrix --json``."""
        page = None if self.page is None else str(self.page)
        return {"rows": [row.to_json() for row in self.rows], "html": page}


def matrix(
    torch: str | None = None,
    cuda: str | None = None,
    python: str | None = None,
    *,
    driver: str | None = None,
    gpus: Sequence[str] = (),
    platform: str | None = None,
    page: Path | None = None,
) -> MatrixResult:
    """What goes with what, as far as it is asked for.

    Args:
        torch: "1.12.1", "1.12", "1.12.1+cu113".
        cuda: build CUDA, "11.3", or "cpu".
        python: "3.9".
        driver: of another machine, like ``gpus`` and ``platform``, that is judged instead of this one.
        gpus: likewise, one name for each.
        platform: likewise.
        page: a file to write a page to.

    Raises:
        UsageError: something asked for is no version, or the machine is described wrongly.
        NotFoundError: there is no such build; says which there are.
        StorageError: the page cannot be written.
    """
    wanted = wanted_build(torch, cuda, python)
    machine = machine_here_or(driver, gpus, platform)
    rows = tuple(_rows(wanted, machine))
    if not rows:
        raise no_such_build(wanted)
    if page is not None:
        write_page(MatrixResult(tuple(_rows(WantedBuild(), machine)), machine, wanted), page)
    return MatrixResult(rows, machine, wanted, page)


def _rows(wanted: WantedBuild, machine: Machine) -> Iterator[Row]:
    for release in releases():
        if not wanted.has_release(release):
            continue
        pip = {platform: release.builds(platform) for platform in MACHINES}
        conda = {platform: conda_builds(release, platform) for platform in MACHINES}
        labels = {build.label: build for found in (*pip.values(), *conda.values()) for build in found}
        for build in sorted(labels.values(), key=lambda item: version_key(item.cuda or "0"), reverse=True):
            if wanted.has_build(build):
                for installer, builds in (("pip", pip), ("conda", conda)):
                    row = _row(_Cell(release, build, installer), builds, wanted, machine)
                    if row is not None:
                        yield row


@dataclass(frozen=True, slots=True)
class _Cell:
    release: Release
    build: Build
    installer: str


def _row(cell: _Cell, builds: Mapping[str, Iterable[Build]], wanted: WantedBuild, machine: Machine) -> Row | None:
    """The row of a build, if the installer has it and it goes with the Python that is asked for."""
    release, build = cell.release, cell.build
    name = spec_named(release.torch, build.cuda, cell.installer)
    spec = None if name is None else find_spec(name).spec
    known = {platform: item.known for platform, found in builds.items() for item in found if item.label == build.label}
    if spec is not None:
        known = {platform: known.get(platform, "unknown") for platform in dict.fromkeys((*known, *spec.platforms))}
    pythons = {platform: release.pythons(platform) if cell.installer == "pip" else None for platform in known}
    if wanted.python is not None:
        own = () if spec is None else (".".join(spec.python.split(".")[:2]),)
        known = {name: word for name, word in known.items() if wanted.python in (pythons[name] or own)}
        pythons = {name: pythons[name] for name in known}
    if not known:
        return None
    fit = _fit(cell, spec, pythons, wanted, machine)
    return Row(release, build, cell.installer, known, pythons, spec, wanted.python, fit.fits, fit.reason)


def _fit(
    cell: _Cell,
    spec: Spec | None,
    pythons: Mapping[str, tuple[str, ...] | None],
    wanted: WantedBuild,
    machine: Machine,
) -> SpecFit:
    if spec is not None and machine.platform in spec.platforms:
        return fit_of_spec(spec, machine, python=wanted.python)
    there = pythons.get(machine.platform)  # the build is judged, also where no spec gives it
    fit = fit_of(cell.release.torch, cell.build.cuda, wanted.python or (there or ("",))[-1], machine)
    if cell.installer == "pip":
        return fit
    # of conda's packages the tables do not tell the Pythons, nor which GPUs they have code for
    checks = tuple(check for check in fit.checks if check.id == "driver")
    return SpecFit(False if any(check.status == "fail" for check in checks) else None, checks)
