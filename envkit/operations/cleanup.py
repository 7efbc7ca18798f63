"""Cleanup hooks for the conda environments of this user that envkit did not make, and taking them out again."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envkit import fs, paths
from envkit.activation.cleanup_hooks import install_cleanup_hooks, remove_cleanup_hooks
from envkit.backends.conda import find_conda
from envkit.model.finding import Finding
from envkit.model.hooks_record import HOOKS_RECORD
from envkit.operations.conda_prefixes import conda_prefixes, once
from envkit.operations.environments import read_environment
from envkit.operations.hooks_unmanaged import forget_cleanup
from envkit.operations.locking import list_lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Skipped:
    """A conda environment that was left alone, and why."""

    prefix: Path
    why: str


@dataclass(frozen=True, slots=True)
class CleanupResult:
    """What ``envkit hooks clean-all`` has done.

    Attributes:
        is_removal: whether the hooks were taken out.
        prefixes: environments that have the hook now; of a removal those that had it.
        skipped: the others.
    """

    is_removal: bool
    prefixes: tuple[Path, ...]
    skipped: tuple[Skipped, ...]

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit hooks clean-all --json`` (docs/json.md)."""
        return {
            "prefixes": [str(prefix) for prefix in self.prefixes],
            "skipped": [{"prefix": str(item.prefix), "why": item.why} for item in self.skipped],
        }


def add_cleanup() -> CleanupResult:
    """Give every other conda environment of this user a hook that heals PATH; the same again changes nothing.

    Left alone are conda's own environment, frozen ones, those of other users, and envkit's.

    Raises:
        InvalidFileError: a ``.condarc`` cannot be read.
        BusyError: another envkit is at it.
    """
    done: list[Path] = []
    skipped: list[Skipped] = []
    with list_lock("cleanup"):
        for prefix in conda_prefixes():
            why = _why_not(prefix)
            if why is None:
                try:
                    install_cleanup_hooks(prefix)
                except OSError as error:
                    why = _reason(error)
            if why is None:
                done.append(prefix)
            else:
                skipped.append(Skipped(prefix, why))
        _remember({*_remembered(), *done})
    return CleanupResult(is_removal=False, prefixes=tuple(done), skipped=tuple(skipped))


def remove_cleanup() -> CleanupResult:
    """Take these hooks out again, exactly: of the environments that are there, and of those that conda has forgotten.

    Raises:
        InvalidFileError: a ``.condarc`` cannot be read.
        BusyError: another envkit is at it.
    """
    done: list[Path] = []
    skipped: list[Skipped] = []
    with list_lock("cleanup"):
        remembered = _remembered()
        for prefix in once([*remembered, *conda_prefixes()]):
            if _is_own(prefix):
                continue
            try:
                if remove_cleanup_hooks(prefix) or forget_cleanup(prefix):
                    done.append(prefix)
            except OSError as error:
                skipped.append(Skipped(prefix, _reason(error)))
        _remember(item.prefix for item in skipped)
    return CleanupResult(is_removal=True, prefixes=tuple(done), skipped=tuple(skipped))


def stale_entry(environ: Mapping[str, str]) -> list[Finding]:
    """Whether PATH of this shell holds the toolkit of an environment that was left: what doctor tells."""
    entry, own = environ.get("_ENVKIT_CONDA_BIN"), environ.get("_ENVKIT_CONDA_OWN", "")
    if entry is None or "_ENVKIT_CONDA_TOOLKIT" in environ:
        return []
    if environ.get("PATH", "").split(os.pathsep).count(entry) <= len(own):
        return []
    return [
        Finding(
            "path-stale",
            "warning",
            "PATH of this shell still holds the CUDA toolkit of an environment that was left.",
            why="conda exports a PATH that it has computed before the environment's hooks run (conda/conda#14762), and "
            "the environment that is active now has no hook that puts it right.",
            fix=(
                "In this shell: `conda deactivate`, or activate an environment of envkit.",
                "For good: `envkit hooks clean-all` gives your other conda environments such a hook.",
            ),
            evidence=(entry,),
        )
    ]


def _why_not(prefix: Path) -> str | None:
    """Why an environment is left alone."""
    if _is_own(prefix):
        return "envkit made it"
    if os.path.lexists(prefix / HOOKS_RECORD):
        return "it has hooks of its own, which do the same"
    program = find_conda()
    of_conda = None if program is None or program.root is None else os.path.realpath(program.root)
    if (prefix / "condabin").is_dir() or os.path.realpath(prefix) == of_conda:
        return "it is the environment of conda itself"
    if (prefix / "conda-meta" / "frozen").exists():
        return "it is frozen"
    if hasattr(os, "getuid") and prefix.stat().st_uid != os.getuid():
        return "it belongs to another user"
    return None


def _is_own(prefix: Path) -> bool:
    return read_environment(prefix) is not None


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def _list() -> Path:
    return paths.data_home() / "cleanup-prefixes.txt"


def _remembered() -> list[Path]:
    try:
        lines = os.fsdecode(_list().read_bytes()).splitlines()
    except FileNotFoundError:
        return []
    return [Path(line) for line in lines if line]


def _remember(prefixes: Iterable[Path]) -> None:
    lines = sorted({os.fspath(prefix) for prefix in prefixes})
    if not lines:
        _list().unlink(missing_ok=True)
        return
    fs.make_folder(paths.data_home())
    fs.write_bytes(_list(), b"".join(os.fsencode(line) + b"\n" for line in lines))
