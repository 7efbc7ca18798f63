"""Put the CUDA hooks into a prefix, and take them out again."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from envkit import fs
from envkit.activation.cleanup_hooks import install_cleanup_hooks, remove_cleanup_hooks
from envkit.activation.quoting import check_path
from envkit.activation.render import render
from envkit.activation.shells import SHELLS
from envkit.activation.slots import PREFIX_VARIABLES
from envkit.model.toolkit import usual_folders, windows_folders
from envkit.resources import hooks_dir

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from envkit.activation.shells import Shell
    from envkit.activation.slots import Slot
    from envkit.model.toolkit import Toolkit

HOOK_NAME = "envkit-cuda"
_DIRECTIONS = ("activate", "deactivate")


def install_hooks(prefix: Path, *, slot: Slot, toolkit: Toolkit | None, library_path: bool = False) -> tuple[Path, ...]:
    """Write ``<prefix>/etc/conda/activate.d/envkit-cuda.*`` and ``deactivate.d``'s; without a toolkit remove them.

    A conda prefix without a toolkit gets the hook that heals PATH after a switch from one with a toolkit.

    Args:
        prefix: the environment's folder.
        slot: which variables hold the state: ``VENV`` in virtual environments, ``CONDA`` in conda prefixes.
        toolkit: what activation switches to; None for no switching.
        library_path: whether the toolkit's libraries also go onto ``LD_LIBRARY_PATH``. pip's and conda's torch bring
            their own libraries, and others in front of them are a known breaker (pytorch/pytorch#19309).

    Returns:
        The files of all shells, ``activate.d`` first.

    Raises:
        UsageError: the name of the prefix or of the toolkit cannot be in PATH.
        OSError: a file could not be written.
    """
    check_path(str(prefix))
    if toolkit is None:
        remove_hooks(prefix)
        if slot == "CONDA":
            install_cleanup_hooks(prefix)
        return ()
    remove_cleanup_hooks(prefix)
    written = []
    for direction, shell, path in _hook_files(prefix):
        template = (hooks_dir("cuda") / f"{direction}.{shell.extension}").read_bytes()
        path.parent.mkdir(parents=True, exist_ok=True)
        fs.write_bytes(path, _fill(template, shell, prefix, slot, toolkit, library_path=library_path))
        written.append(path)
    return tuple(written)


@dataclass(frozen=True, slots=True)
class HookState:
    """One hook file: ``current`` when it is what this envkit would write, ``stale`` when not, or ``missing``."""

    shell: str
    file: Path
    state: Literal["current", "stale", "missing"]


def hook_states(
    prefix: Path, *, slot: Slot, toolkit: Toolkit | None, library_path: bool = False
) -> tuple[HookState, ...]:
    """The state of each hook file that a prefix should have; without a toolkit those that are there are stale."""
    states = []
    for direction, shell, path in _hook_files(prefix):
        state: Literal["current", "stale", "missing"] = "stale"
        if not path.is_file():
            state = "missing"
        elif toolkit is not None:
            template = (hooks_dir("cuda") / f"{direction}.{shell.extension}").read_bytes()
            expected = _fill(template, shell, prefix, slot, toolkit, library_path=library_path)
            state = "current" if path.read_bytes() == expected else "stale"
        if toolkit is not None or state == "stale":
            states.append(HookState(shell.name, path, state))
    return tuple(states)


def remove_hooks(prefix: Path) -> tuple[Path, ...]:
    """Remove envkit's CUDA hooks and the folders that this leaves empty; give the files that were there."""
    removed = []
    for _, _, path in _hook_files(prefix):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
            removed.append(path)
    for direction in _DIRECTIONS:
        _remove_if_empty(prefix / "etc" / "conda" / f"{direction}.d")
    return tuple(removed)


def _hook_files(prefix: Path) -> Iterator[tuple[str, Shell, Path]]:
    for direction in _DIRECTIONS:
        for shell in SHELLS:
            yield direction, shell, prefix / "etc" / "conda" / f"{direction}.d" / f"{HOOK_NAME}.{shell.extension}"


def _fill(template: bytes, shell: Shell, prefix: Path, slot: Slot, toolkit: Toolkit, *, library_path: bool) -> bytes:
    # Normalised, as conda writes every PATH entry on each activation: else ours would not be recognised after a switch.
    # Not resolved: /usr/local/cuda-11.3 may be a link that an administrator moves.
    recorded = check_path(os.path.abspath(toolkit.path))  # noqa: PTH100 - Path.resolve would follow links
    is_inside = slot == "CONDA" and os.path.realpath(recorded) == os.path.realpath(prefix)
    candidates = dict.fromkeys((recorded, *usual_folders(toolkit.version, toolkit.release)))
    return render(
        template,
        identifiers={"SLOT": slot},
        values={
            "TOOLKIT": (recorded,),
            "CANDIDATES": tuple(candidates),
            "WINDOWS_CANDIDATES": tuple(dict.fromkeys((recorded, *windows_folders(toolkit.release)))),
            "REPAIR": (f'envkit hooks install "${PREFIX_VARIABLES[slot]}" --toolkit DIR',),
            "LIBRARY_PATH": ("yes" if library_path else "",),
            "INSIDE": ("yes" if is_inside else "",),
        },
        quote=shell.quote,
    )


def _remove_if_empty(folder: Path) -> None:
    # Not empty, or not there: then it is not ours to remove.
    with contextlib.suppress(OSError):
        folder.rmdir()
