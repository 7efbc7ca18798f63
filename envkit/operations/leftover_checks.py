"""Leftovers of other installations in this shell's variables."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from envkit.compat.system_needs import system_fact
from envkit.model.fit import FitCheck
from envkit.probes.search_paths import cuda_on_path, libraries_on_path, packages_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from envkit.probes.search_paths import LibraryFolder

IMPORT_NAMES = ("torch", "torchvision", "torchaudio", "numpy", "nvidia", "triton")
"""Packages of which a second version in front of an environment's own breaks torch."""
_START_FILES = "in your shell's start file (`~/.bashrc`, `~/.profile`) or in a module that is loaded"


def path_check(environ: Mapping[str, str]) -> FitCheck:
    """Which nvcc is first in PATH, whether there are several, and whether CUDA folders in it have gone."""
    found = cuda_on_path(environ)
    shown = [f"nvcc of CUDA {version or '?'} ({nvcc})" for nvcc, version in found.compilers]
    if found.vanished:
        shown.append(f"not there: {', '.join(found.vanished)}")
    why = []
    if len(found.compilers) > 1:
        why.append("Several toolkits are in PATH: the first one counts, whatever the others are.")
    if found.vanished:
        why.append("Entries of toolkits that are gone are left in PATH.")
    text = "; ".join(shown) or "no nvcc"
    if not why:
        return FitCheck("path", "ok", text, source="PATH")
    hint = f"Take them out of PATH {_START_FILES}; activation puts the environment's own toolkit first."
    return FitCheck("path", "warn", text, "one toolkit at most", " ".join(why), hint, "PATH")


def library_path_check(environ: Mapping[str, str]) -> FitCheck:
    """Whether LD_LIBRARY_PATH leads to other versions of the libraries that torch brings."""
    value = environ.get("LD_LIBRARY_PATH", "")
    folders = libraries_on_path(value)
    fact = system_fact("library_path")
    if not folders:
        return FitCheck("library-path", "ok", value or "not set", source="LD_LIBRARY_PATH")
    found = "; ".join(map(_described, folders))
    why = "torch brings these libraries itself, and the linker takes those of LD_LIBRARY_PATH before its own."
    hint = f"Take the folders out of LD_LIBRARY_PATH {_START_FILES}; pip's torch does not need it."
    needed = "no CUDA, cuDNN or conda libraries"
    return FitCheck("library-path", "warn", found, needed, why, hint, fact.source, fact.known)


def _described(folder: LibraryFolder) -> str:
    if not folder.path:
        return "an empty entry: the working folder, whichever that is"
    parts = [", ".join(folder.libraries)] if folder.libraries else []
    parts += ["a libcuda for linking, which is no driver"] if folder.is_stubs else []
    parts += [f"of the environment {folder.prefix}"] if folder.prefix is not None else []
    return f"{folder.path} ({'; '.join(parts)})"


def python_variables_check(environ: Mapping[str, str]) -> FitCheck:
    """Whether PYTHONPATH and PYTHONHOME lead Python away from an environment."""
    path, home = environ.get("PYTHONPATH", ""), environ.get("PYTHONHOME", "")
    shown = [f"{name}={value}" for name, value in (("PYTHONPATH", path), ("PYTHONHOME", home)) if value]
    why = []
    if home:
        why.append(
            "With PYTHONHOME every Python looks for its library there, and that of an environment may not start."
        )
    for entry in filter(None, path.split(os.pathsep)):
        names = packages_in(Path(entry), IMPORT_NAMES)
        if names:
            why.append(f"{entry} holds {', '.join(names)}, which come before those of the environment.")
        elif Path(entry).name in {"site-packages", "dist-packages"}:
            why.append(f"{entry} holds the packages of another Python, which come before those of the environment.")
    text = "; ".join(shown) or "not set"
    if not why:
        return FitCheck("python-variables", "ok", text, source="PYTHONPATH, PYTHONHOME")
    hint = f"Unset them {_START_FILES}. envkit itself drops them for what it starts."
    return FitCheck("python-variables", "warn", text, "not set", " ".join(why), hint, "PYTHONPATH, PYTHONHOME")


def visible_devices_check(environ: Mapping[str, str], *, is_cpu: bool, gpus: int | None = None) -> FitCheck:
    """Whether CUDA_VISIBLE_DEVICES hides GPUs: an entry that is none, and what is behind it, does not count.

    Args:
        environ: the variables.
        is_cpu: whether no GPU is needed.
        gpus: how many there are; None: not known.
    """
    value = environ.get("CUDA_VISIBLE_DEVICES")
    fact = system_fact("visible_devices")
    if value is None:
        return FitCheck("visible-devices", "ok", "not set", source=fact.source, known=fact.known)
    found = f"CUDA_VISIBLE_DEVICES={value}"
    entries = [entry.strip() for entry in value.split(",")]
    wrong = next((place for place, entry in enumerate(entries) if not _names_gpu(entry, gpus)), None)
    if wrong is None or is_cpu or (wrong > 0 and not entries[wrong].isdecimal()):
        return FitCheck("visible-devices", "ok", found, source=fact.source, known=fact.known)
    why = "That hides every GPU from CUDA programs of this shell; nvidia-smi shows them all the same."
    if wrong > 0:
        why = f"CUDA programs see only the GPUs before the entry {entries[wrong]}."
    if gpus and entries[wrong].isdecimal():
        why += f" There is no GPU {entries[wrong]}: the last of the {gpus} is {gpus - 1}."
    hint = "Unset CUDA_VISIBLE_DEVICES, or name GPUs: CUDA_VISIBLE_DEVICES=0."
    return FitCheck("visible-devices", "warn", found, "unset, or the GPUs' numbers", why, hint, fact.source, fact.known)


def _names_gpu(entry: str, gpus: int | None) -> bool:
    """Whether an entry is a GPU; the numbers of the parts of MIG GPUs are no part of it."""
    if entry.isdecimal():
        return not gpus or int(entry) < gpus
    return entry.startswith(("GPU-", "MIG-"))


def active_environment_check(environ: Mapping[str, str]) -> FitCheck:
    """Which environments are active in this shell, and whether they are there."""
    active = {name: environ[name] for name in ("CONDA_PREFIX", "VIRTUAL_ENV") if environ.get(name)}
    shown = [f"{name}={value}" for name, value in active.items()]
    if environ.get("CONDA_DEFAULT_ENV") == "base":
        shown[0:1] = [f"{shown[0]} (base)"] if "CONDA_PREFIX" in active else []
    why = [f"{value} is not there." for value in active.values() if not os.path.isdir(value)]  # noqa: PTH112
    if len(active) > 1 and environ.get("CONDA_DEFAULT_ENV") != "base":
        why.append("A conda environment and a virtual environment are active at once: what is first in PATH counts.")
    found = "; ".join(shown) or "none"
    if not why:
        return FitCheck("active-environment", "ok", found, source="CONDA_PREFIX, VIRTUAL_ENV")
    hint = "Deactivate them (`deactivate`, `conda deactivate`), or open a new shell."
    return FitCheck("active-environment", "warn", found, None, " ".join(why), hint, "CONDA_PREFIX, VIRTUAL_ENV")
