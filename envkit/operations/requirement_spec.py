"""A torch that is asked for by its version, ``torch==1.12.1``: which of the specs that ship gives it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from envkit import resources
from envkit.backends.pythons import is_version
from envkit.compat.releases import release_of, releases
from envkit.compat.tables import MACHINES, version_key
from envkit.errors import NotFoundError, UnfitMachineError, UsageError
from envkit.model.fit import Route
from envkit.model.spec import parse_spec
from envkit.model.yamltext import parse_yaml
from envkit.operations.best_build import Grade, best_of, candidates, cpu_of, reason_of, specs_of
from envkit.operations.machine import DRIVER_HINT, described_machine, this_machine
from envkit.operations.routes import newest_told, routes_for
from envkit.operations.spec_index import spec_named
from envkit.operations.specs import SpecFile, find_spec
from envkit.operations.wanted import REQUIREMENT
from envkit.operations.wanted_build import CPU, no_such_build, wanted_build

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from envkit.compat.releases import Release
    from envkit.model.progress import Progress
    from envkit.operations.best_build import Candidate
    from envkit.operations.machine import Machine
    from envkit.operations.options import CreateOptions
    from envkit.operations.wanted_build import WantedBuild

_FEW = 8


@dataclass(frozen=True, slots=True)
class _Choice:
    """A spec that was chosen, and why: a sentence for people; the reason as well where there is none to be chosen."""

    found: SpecFile | None
    why: str


def spec_for(
    text: str,
    options: CreateOptions,
    progress: Progress,
    machine: Machine | None = None,
    *,
    is_judged_later: bool = False,
) -> tuple[SpecFile, CreateOptions]:
    """The spec that ships for a name, or for a requirement such as ``torch==1.12.1``.

    With a requirement ``--cuda V`` chooses the build, and ``--python V`` the Python. Without a build, and with
    ``--cuda auto``, the best one for the machine is taken. With the name of a spec ``auto`` does the same among the
    builds of its torch, and a version stays what the target's driver serves.

    Args:
        text: what the user wrote.
        options: of the command.
        progress: is told what is taken, and why.
        machine: where it shall run; None: this one, or the one that the options describe.
        is_judged_later: where no build fits, one that does not is taken all the same, to say why.

    Returns:
        The spec, and the options that are left to be looked at.

    Raises:
        UsageError: what is asked for is no version, or contradicts itself.
        NotFoundError: no such spec ships; says what there is.
        UnfitMachineError: no build of that torch fits the machine, and it has a driver.
    """
    match = REQUIREMENT.fullmatch(text.strip())
    search = _Search(options, machine, is_judged_later=is_judged_later)
    if match is None:
        return _named(text, search, progress), options
    if match["operator"] not in {None, "=="}:
        raise UsageError(f"{text!r} names no version.", hint="Write torch==1.12.1, torch==1.12, or torch alone.")
    asked = None if options.cuda in {None, "auto"} else options.cuda
    python = options.python if options.python is not None and is_version(options.python) else None
    wanted = wanted_build(match["version"], asked, python)
    choice = _best(wanted, search) if wanted.cuda is None else _of_build(wanted)
    if choice is None or choice.found is None:
        raise _no_spec(wanted, None if choice is None else choice.why)
    found = _told(_with_python(choice.found, wanted), choice.why, progress)
    return found, options if asked is None else replace(options, cuda=None)


@dataclass(frozen=True, slots=True)
class _Search:
    """Where it shall run, as far as the user says it, and what happens where nothing fits."""

    options: CreateOptions
    described: Machine | None
    is_judged_later: bool

    def machine(self) -> Machine:
        """The machine that counts.

        Raises:
            UsageError: the GPU is told and the driver is not: the best build depends on both.
        """
        machine = self.described if self.described is not None else machine_of(self.options)
        if machine.is_described and machine.driver is None and machine.gpus:
            why = "Which build is the best depends on the driver as well."
            raise UsageError("--gpu is told without --driver.", why=why, hint=DRIVER_HINT)
        return machine


def _named(name: str, search: _Search, progress: Progress) -> SpecFile:
    found = find_spec(name)
    release = release_of(found.spec.torch_version or "")
    if search.options.cuda != "auto" or release is None:
        return found
    machine = search.machine()
    choice = _best_of((release,), search, machine, found.spec.installer, f"torch {release.torch}")
    if choice.found is None:
        progress.note(f"Staying with {name}: no other build of it can be chosen. {choice.why}")
        return found
    return _told(choice.found, choice.why, progress)


def _told(found: SpecFile, why: str, progress: Progress) -> SpecFile:
    progress.note(f"Taking the spec {found.spec.name}: {found.spec.summary}. {why}")
    return found


def machine_of(options: CreateOptions) -> Machine:
    """The machine that the options of create describe, or else this one."""
    if options.driver is None and not options.gpus:
        return this_machine()
    return described_machine(None if options.driver is None else str(options.driver), options.gpus)


def _of_build(wanted: WantedBuild) -> _Choice | None:
    """The newest of the releases that are asked for whose build ships."""
    for release in releases():
        name = spec_named(release.torch, None if wanted.cuda == CPU else wanted.cuda)
        if name is not None and wanted.has_release(release):
            return _Choice(find_spec(name), "It is the build that was asked for.")
    return None


def _best(wanted: WantedBuild, search: _Search) -> _Choice:
    """The best build of the releases that are asked for, the newest one first.

    Of torch without a version the CPU build is taken where no CUDA build of any release fits.
    """
    machine = search.machine()
    those = [release for release in releases() if wanted.has_release(release)]
    with_python = [item for item in those if wanted.python in {None, *item.pythons(machine.platform)}]
    if with_python:
        those = with_python
    python = wanted.python if with_python else None
    if wanted.torch is not None:
        return _best_of(those, search, machine, "pip", str(wanted), python)
    found = None if machine.driver is None else best_of(machine, those, python=python)
    if found is not None:
        return _Choice(found.found, f"{reason_of(found, machine)}{newest_told(found.release)}")
    why = _no_driver(machine) if machine.driver is None else _nothing_fits("torch", machine)
    return _cpu(those, machine, "pip", why)


def _best_of(
    those: Sequence[Release], search: _Search, machine: Machine, installer: str, what: str, python: str | None = None
) -> _Choice:
    """The best build of certain releases; the CPU build only where there is no driver.

    Raises:
        UnfitMachineError: none fits.
    """
    if machine.driver is None:
        return _cpu(those, machine, installer, _no_driver(machine))
    found = best_of(machine, those, installers=(installer,), python=python, least=Grade.DOUBTFUL)
    if found is not None:
        return _Choice(found.found, reason_of(found, machine))
    every = [item for release in those for item in candidates(release, machine, (installer,), python)]
    cpu = _cpu(those, machine, installer, _nothing_fits(what, machine))
    if not every and cpu.found is None:
        return cpu
    if every and search.is_judged_later:
        return _Choice(every[-1].found, cpu.why)
    raise _unfit(those[0], every, machine, installer, what, python)


def _cpu(those: Iterable[Release], machine: Machine, installer: str, why: str) -> _Choice:
    found = (cpu_of(release, machine, (installer,)) for release in those)
    return _Choice(next((item for item in found if item is not None), None), why)


def _no_driver(machine: Machine) -> str:
    smi = machine.smi
    if smi is None or smi.found_at is None:
        return "No NVIDIA driver answers here, so only the CPU build surely runs."
    return (
        f"nvidia-smi at {smi.found_at} tells no driver ({smi.error_kind or 'failed'}), so only the CPU build surely "
        "runs. `envkit gpu` says what to do about it."
    )


def _nothing_fits(what: str, machine: Machine) -> str:
    gpus = ", ".join(dict.fromkeys(gpu.name or "a GPU without a name" for gpu in machine.gpus))
    return f"No CUDA build of {what} fits driver {machine.driver}{f' and {gpus}' if gpus else ''}."


def _unfit(
    release: Release, every: Sequence[Candidate], machine: Machine, installer: str, what: str, python: str | None
) -> UnfitMachineError:
    """That no build fits: why, and what does, or runs on the CPU."""
    cuda = max((item.found.spec.cuda or "" for item in every if item.release is release), key=version_key, default=None)
    routes = list(routes_for((release.torch, cuda), machine, installer=installer, python=python))
    cpu = cpu_of(release, machine, (installer, "pip"))
    if cpu is not None and cpu.spec.name not in {route.spec for route in routes}:
        routes.append(Route("use-spec", cpu.spec.name, f"torch {release.torch} runs on the CPU."))
    told = [f"CUDA {item.found.spec.cuda}: {item.fit.reason}" for item in every if item.release is release]
    why = "\n".join(told) or f"torch {release.torch} has no CUDA build for {machine.platform}."
    ways = [f"`envkit create {route.spec}`: {route.why}" if route.spec is not None else route.why for route in routes]
    return UnfitMachineError(_nothing_fits(what, machine), why=why, hint=" Or: ".join(ways) or None)


def _no_spec(wanted: WantedBuild, why: str | None) -> NotFoundError:
    """Either there is no such build, or no spec ships for it."""
    those = [release for release in releases() if wanted.has_release(release)]
    builds = [build for release in those for platform in MACHINES for build in release.builds(platform)]
    if not any(wanted.has_build(build) for build in builds):
        return no_such_build(replace(wanted, python=None))
    ships = [found.spec.name for release in those for found in specs_of(release, ("pip",))]
    near = ships or list(_near(wanted, those))
    hint = f"Specs that ship: {', '.join(near[:_FEW])}." if near else None
    if why is not None and ships:
        return NotFoundError(f"No build of {wanted} can be chosen for this machine.", why=why, hint=hint)
    return NotFoundError(f"No spec ships for {wanted}.", why="PyTorch has published such a build.", hint=hint)


def _near(wanted: WantedBuild, those: list[Release]) -> Iterator[str]:
    """The specs of the same build, or of any, of the next newer release that has such ones, or the next older one."""
    every = releases()
    first, last = every.index(those[0]), every.index(those[-1])
    for release in (*reversed(every[:first]), *every[last + 1 :]):
        found = [item.spec for item in specs_of(release, ("pip",))]
        names = [spec.name for spec in found if wanted.cuda in {None, spec.cuda or CPU}]
        if names:
            yield from names
            return


def _with_python(found: SpecFile, wanted: WantedBuild) -> SpecFile:
    """The same spec for another Python that its torch has files for, where one is asked for.

    Raises:
        NotFoundError: there are none for that Python.
    """
    spec, python = found.spec, wanted.python
    release = release_of(spec.torch_version or "")
    if python is None or release is None or f"{spec.python}.".startswith(f"{python}."):
        return found
    platforms = [platform for platform in spec.platforms if python in release.pythons(platform)]
    if not platforms:
        raise no_such_build(replace(wanted, torch=release.torch), spec.platforms)
    data = parse_yaml(found.path.read_text(encoding="utf-8"), found.path.name).data
    name = f"{spec.name}-py{python.replace('.', '')}"
    summary = f"{(spec.summary or spec.name).replace(f'Python {spec.python}', f'Python {python}')}"
    changed = {**data, "name": name, "python": python, "platforms": platforms, "summary": summary}
    path = resources.lockfiles_dir() / f"{name}.yaml"
    return SpecFile(parse_spec(json.dumps(changed), f"{spec.name} with Python {python}"), path, is_shipped=True)
