"""Which gcc an environment's activation names for nvcc, and whether there is one that it takes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from envkit.compat.host_compilers import newest_gcc
from envkit.errors import EnvkitError
from envkit.model.finding import Finding
from envkit.probes.host_compiler import default_gcc, named_gcc

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.environment import Environment
    from envkit.model.host_compiler import HostCompiler
    from envkit.model.progress import Progress
    from envkit.model.toolkit import Toolkit


@dataclass(frozen=True, slots=True)
class HostChoice:
    """The gcc of this machine against what a toolkit takes.

    Attributes:
        release: of the toolkit, or None.
        default: major version of the gcc that is there without further ado; None: none, or not known.
        newest: the newest major version that nvcc takes; None: not known well enough.
        compiler: what activation names instead; None: nothing is to be named, or there is nothing.
    """

    release: str | None
    default: int | None
    newest: int | None
    compiler: HostCompiler | None

    @property
    def is_too_new(self) -> bool:
        """Whether nvcc refuses the gcc that it would take by itself."""
        return self.default is not None and self.newest is not None and self.default > self.newest

    @property
    def problem(self) -> str | None:
        """One sentence when nothing here compiles for this toolkit, or None."""
        if not self.is_too_new or self.compiler is not None:
            return None
        return (
            f"nvcc of CUDA {self.release} takes gcc {self.newest} at most; here it is gcc {self.default}, and there is "
            f"no gcc-{self.newest} with g++-{self.newest}, nor older ones."
        )

    def remedy(self, word: str) -> str:
        """What the user may do about it; ``word`` names the environment on a command line."""
        return f"To compile, install gcc-{self.newest} and g++-{self.newest}, then run `envkit hooks install {word}`."


_NOTHING = HostChoice(None, None, None, None)


def choose_host_compiler(prefix: Path, toolkit: Toolkit | None, *, wanted: bool) -> HostChoice:
    """Compare the gcc that the environment ``prefix`` finds first with what nvcc of ``toolkit`` takes.

    Other environments do not count, whether or not they are active just now.

    Args:
        prefix: the environment's folder; a gcc of its own comes first.
        toolkit: what its activation switches to, or None.
        wanted: what the lock says; where it does not want this, nothing is looked at.
    """
    if toolkit is None or toolkit.release is None or not wanted:
        return _NOTHING
    newest, path = newest_gcc(toolkit.release), _path_of(prefix)
    default = default_gcc(path) if newest is not None else None
    compiler = named_gcc(newest, path) if newest is not None and default is not None and default > newest else None
    return HostChoice(toolkit.release, default, newest, compiler)


def host_compiler_for(
    prefix: Path, toolkit: Toolkit | None, progress: Progress, *, wanted: bool, word: str
) -> HostCompiler | None:
    """What the hooks shall name; says so where nothing here compiles for the toolkit.

    Args:
        prefix: as for ``choose_host_compiler``, like ``toolkit`` and ``wanted``.
        toolkit: likewise.
        progress: told of the problem.
        wanted: likewise.
        word: what a user types for the environment.
    """
    choice = choose_host_compiler(prefix, toolkit, wanted=wanted)
    if choice.problem is not None:
        progress.note(f"{choice.problem} {choice.remedy(word)}")
    return choice.compiler


def of_host_compiler(environment: Environment) -> list[Finding]:
    """Whether there is a gcc that nvcc of the environment's toolkit takes."""
    from envkit.operations.environments import word_for  # noqa: PLC0415 - preflight takes the rest of this module alone
    from envkit.operations.own_files import own_lock  # noqa: PLC0415

    try:
        wanted = own_lock(environment).host_compiler
    except EnvkitError:  # the lock is told elsewhere
        return []
    choice = choose_host_compiler(environment.prefix, environment.toolkit, wanted=wanted)
    if choice.problem is None:
        return []
    why = "Running torch needs no compiler. nvcc refuses a gcc that is newer than it knows."
    fix = (choice.remedy(word_for(environment)),)
    return [Finding("host-compiler-too-new", "note", choice.problem, why=why, fix=fix)]


def _path_of(prefix: Path) -> str:
    active = (os.environ.get(name) for name in ("CONDA_PREFIX", "VIRTUAL_ENV"))
    others = {os.path.join(folder, "bin") for folder in active if folder}  # noqa: PTH118 - text
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join([str(prefix / "bin"), *(folder for folder in folders if folder not in others)])
