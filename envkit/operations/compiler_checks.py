"""Can extensions be compiled for the build: a toolkit of its release, and a gcc that the toolkit's nvcc takes?

To run torch neither is needed, so that a missing one is a problem only where the spec compiles something.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from envkit.model.fit import FitCheck
from envkit.model.toolkit import Toolkit
from envkit.operations.host_compiler import choose_host_compiler
from envkit.probes.host import current_platform
from envkit.probes.toolkits import can_switch, choose_toolkit, find_toolkits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from envkit.model.lock import Lock
    from envkit.model.spec import Spec

_NO_NEED = "Running torch needs no toolkit."
_CONDA_FORGES = {"linux-64": "x86_64", "linux-aarch64": "aarch64"}
"""Platforms with compilers on conda-forge: the word for the processor in their programs' names."""
_SOURCE = "the toolkits' own files"
_HEADER = "crt/host_config.h of each toolkit"


def compiler_checks(spec: Spec | None, lock: Lock | None, prefix: Path) -> tuple[FitCheck, ...]:
    """The toolkit, and the host compiler for the toolkit that is here or named.

    Args:
        spec: names build and toolkit; None: what is on this machine is told.
        lock: does so where there is no spec.
        prefix: of the environment; its own gcc comes first.

    Raises:
        InvalidFileError: config.yaml, or the list of folders that were added, is damaged.
    """
    toolkits = find_toolkits()
    named = spec if spec is not None else lock
    if named is None:
        newest = next((toolkit for toolkit in toolkits if toolkit.has_nvcc), None)
        return (_listed(toolkits), *_host(newest, prefix, compiles=False))
    if named.toolkit is None:
        return ()
    compiles = spec is not None and bool(spec.sdist)
    chosen = choose_toolkit(named.toolkit, [toolkit for toolkit in toolkits if can_switch(toolkit)])
    stand_in = Toolkit(named.toolkit, named.toolkit, Path("/"), "spec", has_nvcc=False)
    host = _host(chosen or stand_in, prefix, compiles=compiles) if named.host_compiler else ()
    return (_toolkit(named.toolkit, named.cuda, chosen, compiles=compiles), *host)


def _listed(toolkits: Sequence[Toolkit]) -> FitCheck:
    found = "; ".join(f"CUDA {toolkit.version or '?'} in {toolkit.path}" for toolkit in toolkits)
    return FitCheck("toolkit", "ok", found or None, hint=None if toolkits else _NO_NEED, source=_SOURCE)


def _toolkit(release: str, cuda: str | None, chosen: Toolkit | None, *, compiles: bool) -> FitCheck:
    found = None if chosen is None else f"CUDA {chosen.version} in {chosen.path}"
    needed = f"CUDA {release}, to compile extensions"
    if cuda is not None and cuda != release:
        why = (
            f"torch is built for CUDA {cuda}, the spec's toolkit is {release}: what is compiled has to match the build."
        )
        hint = f'Write toolkit: "{cuda}" into the spec, or leave it out.'
        return FitCheck("toolkit", "warn", found, f"CUDA {cuda}, to compile extensions", why, hint, "the spec")
    if chosen is not None and chosen.is_complete:
        return FitCheck("toolkit", "ok", found, needed, source=_SOURCE)
    from envkit.operations.toolkit_versions import is_installable, ways_to_get  # noqa: PLC0415 - tables, read if needed

    if chosen is None and not compiles:
        way = f"`envkit cuda install {release}` (no root needed)." if is_installable(release) else ways_to_get(release)
        return FitCheck("toolkit", "ok", None, needed, hint=f"To compile: {way} {_NO_NEED}", source=_SOURCE)
    if chosen is None:
        why = "The spec compiles packages (sdist), and there is no toolkit of that release here."
        return FitCheck("toolkit", "warn", None, needed, why, ways_to_get(release), _SOURCE)
    why = f"It is not complete: {chosen.lacks()}."
    return FitCheck("toolkit", "warn" if compiles else "ok", found, needed, why, ways_to_get(release), _SOURCE)


def _host(toolkit: Toolkit | None, prefix: Path, *, compiles: bool) -> tuple[FitCheck, ...]:
    if toolkit is None or toolkit.release is None:
        return ()
    choice = choose_host_compiler(prefix, toolkit, wanted=True)
    if choice.newest is None:
        return ()
    needed = f"gcc {choice.newest} or older, for nvcc of CUDA {choice.release}"
    if choice.problem is not None:
        hint = choice.remedy(str(prefix)).split(", then")[0] + "." + _without_root(choice.newest)
        why = f"{choice.problem} Running torch needs no compiler."
        return (FitCheck("host-compiler", "warn", f"gcc {choice.default}", needed, why, hint, _HEADER, "confirmed"),)
    if choice.compiler is not None:
        found = f"{choice.compiler.cc}, which activation names; the default is gcc {choice.default}"
        return (FitCheck("host-compiler", "ok", found, needed, source=_HEADER),)
    if choice.default is not None:
        return (FitCheck("host-compiler", "ok", f"gcc {choice.default}", needed, source=_HEADER),)
    why = "There is no gcc here, or it does not tell its version."
    hint = f"To compile, install gcc-{choice.newest} and g++-{choice.newest}, or older ones."
    hint += _without_root(choice.newest)
    return (FitCheck("host-compiler", "warn" if compiles else "ok", None, needed, why, hint, _HEADER),)


def _without_root(newest: int) -> str:
    """The compilers of conda-forge; empty where it has none for this system.

    Sources: https://anaconda.org/conda-forge/gxx_linux-64/files, https://anaconda.org/conda-forge/gxx_linux-aarch64/files
    """
    platform = current_platform()
    machine = _CONDA_FORGES.get(platform)
    if machine is None:
        return ""
    create = f"conda create -n gcc{newest} -c conda-forge gxx_{platform}={newest}"
    program = f"{machine}-conda-linux-gnu"
    return f" Without root: `{create}`, and let CC and CXX name its bin/{program}-gcc and bin/{program}-g++."
