"""A torch that is asked for by its version, ``torch==1.12.1``: which of the specs that ship gives it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from envkit import resources
from envkit.backends.pythons import is_version
from envkit.compat.releases import release_of, releases
from envkit.compat.tables import MACHINES
from envkit.errors import NotFoundError, UsageError
from envkit.model.spec import parse_spec
from envkit.model.yamltext import parse_yaml
from envkit.operations.best_build import Choice, best_build, specs_of
from envkit.operations.machine import described_machine, this_machine
from envkit.operations.spec_index import spec_named
from envkit.operations.specs import SpecFile, find_spec
from envkit.operations.wanted_build import CPU, no_such_build, wanted_build

if TYPE_CHECKING:
    from collections.abc import Iterator

    from envkit.compat.releases import Release
    from envkit.model.progress import Progress
    from envkit.operations.machine import Machine
    from envkit.operations.options import CreateOptions
    from envkit.operations.wanted_build import WantedBuild

_FEW = 8
_REQUIREMENT = re.compile(r"torch\s*(?:(?P<operator>[=~!<>]+)\s*(?P<version>.*))?")


def spec_for(text: str, options: CreateOptions, progress: Progress) -> tuple[SpecFile, CreateOptions]:
    """The spec that ships for a name, or for a requirement such as ``torch==1.12.1``.

    With a requirement ``--cuda V`` chooses the build, and ``--python V`` the Python. Without a build, and with
    ``--cuda auto``, the best one for the machine is taken. With the name of a spec ``auto`` does the same among the
    builds of its torch, and a version stays what the target's driver serves.

    Returns:
        The spec, and the options that are left to be looked at.

    Raises:
        UsageError: what is asked for is no version, or contradicts itself.
        NotFoundError: no such spec ships; says what there is.
    """
    match = _REQUIREMENT.fullmatch(text.strip())
    if match is None:
        return _named(text, options, progress), options
    if match["operator"] not in {None, "=="}:
        raise UsageError(f"{text!r} names no version.", hint="Write torch==1.12.1, torch==1.12, or torch alone.")
    asked = None if options.cuda in {None, "auto"} else options.cuda
    python = options.python if options.python is not None and is_version(options.python) else None
    wanted = wanted_build(match["version"], asked, python)
    choice = _best(wanted, options) if wanted.cuda is None else _of_build(wanted)
    if choice is None or choice.found is None:
        raise _no_spec(wanted, None if choice is None else choice.why)
    found = _told(_with_python(choice.found, wanted), choice.why, progress)
    return found, options if asked is None else replace(options, cuda=None)


def _named(name: str, options: CreateOptions, progress: Progress) -> SpecFile:
    found = find_spec(name)
    release = release_of(found.spec.torch_version or "")
    if options.cuda != "auto" or release is None:
        return found
    choice = best_build(release, found.spec.installer, _machine(options))
    if choice is None or choice.found is None:
        why = "" if choice is None else f" {choice.why}"
        progress.note(f"Staying with {name}: no other build of it can be chosen.{why}")
        return found
    return _told(choice.found, choice.why, progress)


def _told(found: SpecFile, why: str, progress: Progress) -> SpecFile:
    progress.note(f"Taking the spec {found.spec.name}: {found.spec.summary}. {why}")
    return found


def _machine(options: CreateOptions) -> Machine:
    return this_machine() if options.driver is None else described_machine(str(options.driver), ())


def _of_build(wanted: WantedBuild) -> Choice | None:
    """The newest of the releases that are asked for whose build ships."""
    for release in releases():
        name = spec_named(release.torch, None if wanted.cuda == CPU else wanted.cuda)
        if name is not None and wanted.has_release(release):
            found = find_spec(name)
            return Choice(found, "It is the build that was asked for.")
    return None


def _best(wanted: WantedBuild, options: CreateOptions) -> Choice | None:
    """The best build of the newest of the releases that are asked for which ships for the platform."""
    machine, none = _machine(options), None
    for release in releases():
        choice = best_build(release, "pip", machine) if wanted.has_release(release) else None
        if choice is not None and choice.found is not None:
            return choice
        none = none or choice
    return none


def _no_spec(wanted: WantedBuild, why: str | None) -> NotFoundError:
    """Either there is no such build, or no spec ships for it."""
    those = [release for release in releases() if wanted.has_release(release)]
    builds = [build for release in those for platform in MACHINES for build in release.builds(platform)]
    if not any(wanted.has_build(build) for build in builds):
        return no_such_build(replace(wanted, python=None))
    near = [found.spec.name for release in those for found in specs_of(release, "pip")] or list(_near(wanted, those))
    hint = f"Specs that ship: {', '.join(near[:_FEW])}." if near else None
    if why is not None:
        return NotFoundError(f"No build of {wanted} can be chosen for this machine.", why=why, hint=hint)
    return NotFoundError(f"No spec ships for {wanted}.", why="PyTorch has published such a build.", hint=hint)


def _near(wanted: WantedBuild, those: list[Release]) -> Iterator[str]:
    """The specs of the same build, or of any, of the next newer release that has such ones, or the next older one."""
    every = releases()
    first, last = every.index(those[0]), every.index(those[-1])
    for release in (*reversed(every[:first]), *every[last + 1 :]):
        found = [item.spec for item in specs_of(release, "pip")]
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
