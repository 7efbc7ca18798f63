"""Solve a conda spec for a platform: exactly which files of which channels."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from envkit.compat.needs import needs_of_records
from envkit.compat.tables import version_key
from envkit.errors import InvalidFileError, UnsatisfiableError, UsageError
from envkit.installers.condarc import read_conda_settings
from envkit.installers.rattler.calls import solve
from envkit.model.conda_record import CondaRecord
from envkit.model.lock import CONDA_TORCH, LockedPlatform
from envkit.operations.conda_base import SOLVE_TIMEOUT_S, python_spec
from envkit.operations.virtual_packages import Target, target_cuda, virtual_packages

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from envkit.installers.condarc import CondaSettings
    from envkit.model.progress import Progress
    from envkit.model.spec import Spec

_TOOLKIT_PINS = ("cudatoolkit", "pytorch-cuda", "cuda-version")
"""Packages by whose version a channel says which CUDA its torch is built for: up to 1.12, PyTorch's channel from 1.13
on, conda-forge today."""
_IN_BUILD = re.compile(r"cuda_?(\d+)\.?(\d)?")


def solve_platform(
    spec: Spec,
    platform: str,
    *,
    kept: Sequence[CondaRecord],
    target: Target,
    progress: Progress,
) -> LockedPlatform:
    """What a lock says of one platform of a conda spec.

    Args:
        spec: with installer conda.
        platform: conda's name.
        kept: what an existing lock has, which is kept to where the spec and its channels allow.
        target: what the user says of the target machine's driver.
        progress: told what happens.

    Raises:
        UnsatisfiableError: no set of packages satisfies the spec.
        InvalidFileError: the torch that was found is a build for another CUDA than the spec says.
        DownloadError: a channel cannot be reached.
    """
    settings = read_conda_settings()
    allowed = _places(settings, spec.channels, platform)
    kept = [record for record in kept if _places(settings, [record.channel], platform) <= allowed]
    served = target_cuda(spec.cuda, platform, target, progress)
    offered = virtual_packages(platform, cuda=served)

    def _solve(constraints: Sequence[str]) -> tuple[CondaRecord, ...]:
        try:
            found = solve(
                spec.channels,
                [python_spec(spec.python), *spec.packages],
                platform=platform,
                virtual_packages=offered,
                settings=settings,
                offline=settings.offline,
                timeout_s=SOLVE_TIMEOUT_S,
                progress=progress,
                constraints=constraints,
                locked=[record.to_dict() for record in kept],
            )
        except UsageError as error:  # a text that py-rattler does not take for a MatchSpec
            raise InvalidFileError(spec.path, error.message, why=error.why, hint=error.hint) from error
        return tuple(CondaRecord.from_dict(record) for record in found)

    records = _solve(())
    problem = _problem_of_build(spec, platform, records)
    if problem is not None:
        records = _with_the_right_build(spec, platform, served, _solve, problem)
    return LockedPlatform(packages=(), needs=needs_of_records(records, spec.cuda, platform), base=records)


def _with_the_right_build(
    spec: Spec,
    platform: str,
    served: str | None,
    solve_with: Callable[[Sequence[str]], tuple[CondaRecord, ...]],
    problem: InvalidFileError,
) -> tuple[CondaRecord, ...]:
    """Solve again with the build that ``cuda`` says named, as PyTorch's channel and as conda-forge names builds.

    Raises:
        UnsatisfiableError: there is such a build, and the target machine cannot run it.
        InvalidFileError: there is none; that is ``problem``.
    """
    patterns = ("*cpu*",) if spec.cuda is None else (f"*cuda{spec.cuda}*", f"*cuda{spec.cuda.replace('.', '')}*")
    for pattern in patterns:
        try:
            records = solve_with([f"{CONDA_TORCH} * {pattern}"])
        except UnsatisfiableError as error:
            if spec.cuda is not None and _is_older(served, spec.cuda) and "__cuda" in error.reason:
                raise
            continue
        if _problem_of_build(spec, platform, records) is None:
            return records
    raise problem


def _is_older(served: str | None, cuda: str) -> bool:
    """Whether a driver serves less than a build for ``cuda`` asks the solver for."""
    return served is None or version_key(served) < version_key(cuda)


def _places(settings: CondaSettings, channels: Sequence[str], platform: str) -> set[str]:
    """Where these channels lie; py-rattler takes a package to be kept also from a channel that it is not given."""
    return {place.url for name in channels for place in settings.places(name, platform)}


def build_cuda_of(record: CondaRecord) -> str | None:
    """The CUDA that a channel's torch is built for, "11.3"; "cpu", or None where its build does not tell.

    PyTorch's channel writes ``py3.9_cuda11.3_cudnn8.3.2_0``, conda-forge ``cuda112py39h...`` or ``cuda126_mkl_...``,
    and both a dependency that pins the version.
    """
    found = _IN_BUILD.search(record.build)
    if found is not None and found[2] is not None:
        return f"{found[1]}.{found[2]}"
    if found is not None and len(found[1]) > 1:
        return f"{found[1][:-1]}.{found[1][-1]}"
    for text in record.depends:
        name, _, rest = text.partition(" ")
        pin = re.match(r"[=>]*(\d+\.\d)", rest)
        if name in _TOOLKIT_PINS and pin is not None:
            return pin[1]
    return "cpu" if "cpu" in record.build or not any("cuda" in text for text in record.depends) else None


def _problem_of_build(spec: Spec, platform: str, records: Sequence[CondaRecord]) -> InvalidFileError | None:
    """A solver takes a CPU build, or one for another CUDA, without a word."""
    torch = next((record for record in records if record.name == CONDA_TORCH), None)
    if torch is None:
        return None
    build, wanted = build_cuda_of(torch), spec.cuda or "cpu"
    if build is None or build == wanted:
        return None
    what = "a CPU build" if build == "cpu" else f"built for CUDA {build}"
    how = f"pytorch=*=*cuda{wanted}*" if spec.cuda is not None else "pytorch=*=*cpu*"
    return InvalidFileError(
        spec.path,
        f"{torch.file} of {torch.channel} for {platform} is {what}, the spec says cuda: {wanted}.",
        why="A solver takes whichever build fits what is asked; the version alone does not decide.",
        hint=f'Name the build in packages, as in "{how}", or what pins it: cudatoolkit={wanted}, pytorch-cuda={wanted} '
        f"or cuda-version={wanted}, as the channel has it."
        if spec.cuda is not None
        else f'Name the build in packages, as in "{how}", or cpuonly.',
    )
