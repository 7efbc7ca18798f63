"""Put the CUDA hooks into a prefix, and take them out again."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from envkit import fs
from envkit.activation.cleanup_hooks import install_cleanup_hooks, remove_cleanup_hooks
from envkit.activation.render import render
from envkit.activation.shells import SHELLS
from envkit.activation.slots import OTHER_SLOTS, PREFIX_VARIABLES
from envkit.model.texts import check_path
from envkit.model.toolkit import usual_folders, windows_folders
from envkit.resources import hooks_dir

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from envkit.activation.shells import Shell
    from envkit.activation.slots import Slot
    from envkit.model.host_compiler import HostCompiler
    from envkit.model.toolkit import Toolkit

HOOK_NAME = "envkit-cuda"
_DIRECTIONS = ("activate", "deactivate")


def install_hooks(
    prefix: Path,
    *,
    slot: Slot,
    toolkit: Toolkit | None,
    library_path: bool = False,
    host_compiler: HostCompiler | None = None,
) -> tuple[Path, ...]:
    """Write ``<prefix>/etc/conda/activate.d/envkit-cuda.*`` and ``deactivate.d``'s; without a toolkit remove them.

    A conda prefix without a toolkit gets the hook that heals PATH after a switch from one with a toolkit.

    Args:
        prefix: the environment's folder.
        slot: which variables hold the state: ``VENV`` in virtual environments, ``CONDA`` in conda prefixes.
        toolkit: what activation switches to; None for no switching.
        library_path: whether the toolkit's libraries also go onto ``LD_LIBRARY_PATH``. pip's and conda's torch bring
            their own libraries, and others in front of them are a known breaker (pytorch/pytorch#19309).
        host_compiler: what CC, CXX and CUDAHOSTCXX name while the environment is active, as far as the user has not set
            them; None: they are left alone.

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
    values = _values(prefix, slot, toolkit, library_path=library_path, host_compiler=host_compiler)
    files = {path: _filled(direction, shell, slot, values) for direction, shell, path in _hook_files(prefix)}
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        fs.write_bytes(path, text)
    return tuple(files)


@dataclass(frozen=True, slots=True)
class HookState:
    """One hook file: ``current`` when it is what this envkit would write, ``stale`` when not, or ``missing``."""

    shell: str
    file: Path
    state: Literal["current", "stale", "missing"]


def hook_states(
    prefix: Path,
    *,
    slot: Slot,
    toolkit: Toolkit | None,
    library_path: bool = False,
    host_compiler: HostCompiler | None = None,
) -> tuple[HookState, ...]:
    """The state of each hook file that a prefix should have; without a toolkit those that are there are stale."""
    states = []
    values = None
    if toolkit is not None:
        values = _values(prefix, slot, toolkit, library_path=library_path, host_compiler=host_compiler)
    for direction, shell, path in _hook_files(prefix):
        state: Literal["current", "stale", "missing"] = "stale"
        if not path.is_file():
            state = "missing"
        elif values is not None:
            state = "current" if path.read_bytes() == _filled(direction, shell, slot, values) else "stale"
        if values is not None or state == "stale":
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


def window_code(shell: Shell, toolkit: Toolkit | None, host_compiler: HostCompiler | None = None) -> bytes:
    """What switches one window to a toolkit, or with None back: the text of the hooks, with a slot of state of its own.

    Args:
        shell: whose language it is to be in.
        toolkit: what to switch to.
        host_compiler: as for ``install_hooks``.

    Raises:
        UsageError: the name of the toolkit cannot be in PATH.
    """
    if toolkit is None:
        return _filled("deactivate", shell, "WINDOW", {})
    values = _values(toolkit.path, "WINDOW", toolkit, library_path=False, host_compiler=host_compiler)
    return _filled("activate", shell, "WINDOW", values)


def _hook_files(prefix: Path) -> Iterator[tuple[str, Shell, Path]]:
    for direction in _DIRECTIONS:
        for shell in SHELLS:
            yield direction, shell, prefix / "etc" / "conda" / f"{direction}.d" / f"{HOOK_NAME}.{shell.extension}"


def _values(
    prefix: Path, slot: Slot, toolkit: Toolkit, *, library_path: bool, host_compiler: HostCompiler | None
) -> dict[str, tuple[str, ...]]:
    # Normalised, as conda writes every PATH entry on each activation: else ours would not be recognised after a switch.
    # Not resolved: /usr/local/cuda-11.3 may be a link that an administrator moves.
    recorded = check_path(os.path.abspath(toolkit.path))  # noqa: PTH100 - Path.resolve would follow links
    own = prefix / "Library" if os.name == "nt" else prefix
    is_inside = slot == "CONDA" and os.path.realpath(recorded) == os.path.realpath(own)
    candidates = dict.fromkeys((recorded, *usual_folders(toolkit.version, toolkit.release)))
    repair = "envkit cuda use none"
    if slot != "WINDOW":
        repair = f'envkit hooks install "${PREFIX_VARIABLES[slot]}" --toolkit DIR'
    return {
        "TOOLKIT": (recorded,),
        "CANDIDATES": tuple(candidates),
        "WINDOWS_CANDIDATES": tuple(dict.fromkeys((recorded, *windows_folders(toolkit.release)))),
        "REPAIR": (repair,),
        "LIBRARY_PATH": ("yes" if library_path else "",),
        "INSIDE": ("yes" if is_inside else "",),
        "HOST_CC": ("" if host_compiler is None else host_compiler.cc,),
        "HOST_CXX": ("" if host_compiler is None else host_compiler.cxx,),
        "HOST_CC_FILE": ("" if host_compiler is None else str(host_compiler.folder / host_compiler.cc),),
        "HOST_CXX_FILE": ("" if host_compiler is None else str(host_compiler.folder / host_compiler.cxx),),
    }


def _filled(direction: str, shell: Shell, slot: Slot, values: Mapping[str, tuple[str, ...]]) -> bytes:
    template = (hooks_dir("cuda") / f"{direction}.{shell.extension}").read_bytes()
    identifiers = {"SLOT": slot, "OTHER": OTHER_SLOTS[slot]}
    return render(template, identifiers=identifiers, values=values, quote=shell.quote)


def _remove_if_empty(folder: Path) -> None:
    # Not empty, or not there: then it is not ours to remove.
    with contextlib.suppress(OSError):
        folder.rmdir()
