"""What locked files need of a machine."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from envkit.compat.tables import arch_list, driver_need

if TYPE_CHECKING:
    from collections.abc import Iterable

    from envkit.model.conda_record import CondaRecord
    from envkit.model.locked import LockedPackage

Needs = Mapping[str, Mapping[str, Any]]
_MANYLINUX = {"manylinux2014": (2, 17), "manylinux2010": (2, 12), "manylinux1": (2, 5)}
"""Older names of manylinux tags and the glibc they stand for (PEP 600)."""


def needs_of(packages: Iterable[LockedPackage], cuda: str | None, platform: str) -> dict[str, dict[str, Any]]:
    """What files need of a machine, as it stands in a lock; what is not known is left out.

    Args:
        packages: the files.
        cuda: build CUDA, or None for a CPU build.
        platform: conda's name.
    """
    entries = list(packages)
    needs: dict[str, dict[str, Any]] = {}
    driver = driver_need(cuda, platform) if cuda is not None else None
    if driver is not None:
        toolkit = {} if driver.toolkit is None else {"toolkit": driver.toolkit}
        needs["driver"] = {"minimum": driver.minimum, **toolkit, "known": driver.known}
    torch = next((package.version for package in entries if package.name == "torch"), None)
    code = arch_list(torch, cuda, platform) if torch is not None and cuda is not None else None
    if code is not None:
        ptx = {"ptx": list(code.ptx)} if code.ptx else {}
        needs["compute_capability"] = {"list": list(code.capabilities), **ptx, "known": code.known}
    glibc = max((found for package in entries if (found := needed_glibc(package.file))), default=None)
    if glibc is not None:
        needs["glibc"] = {"minimum": f"{glibc[0]}.{glibc[1]}", "known": "confirmed"}
    return needs


def needs_of_records(records: Iterable[CondaRecord], cuda: str | None, platform: str) -> dict[str, dict[str, Any]]:
    """The same for conda's packages: the driver by the build's CUDA, glibc by what they depend on.

    For which GPUs a channel's torch has code is not known: the tables hold those of wheels.
    """
    needs = needs_of((), cuda, platform)
    found = (re.match(r"__glibc\s*>=\s*(\d+\.\d+)", text) for record in records for text in record.depends)
    glibc = max((pair for match in found if match and (pair := number_pair(match[1])) is not None), default=None)
    if glibc is not None:
        needs["glibc"] = {"minimum": f"{glibc[0]}.{glibc[1]}", "known": "confirmed"}
    return needs


def needed_glibc(file: str) -> tuple[int, int] | None:
    """The glibc that a wheel's name asks for, by the oldest of its manylinux tags; None when it says nothing."""
    found = []
    for tag in file.removesuffix(".whl").rpartition("-")[2].split("."):
        name, *rest = tag.split("_")
        if name in _MANYLINUX:
            found.append(_MANYLINUX[name])
        elif name == "manylinux" and len(rest) > 1 and (version := number_pair(".".join(rest[:2]))) is not None:
            found.append(version)
    return min(found, default=None)


def number_pair(text: str) -> tuple[int, int] | None:
    """Major and minor number of "8.6", or None for another text."""
    found = re.fullmatch(r"(\d{1,9})(?:\.(\d{1,9}))?", text, re.ASCII)
    return (int(found[1]), int(found[2] or 0)) if found is not None else None
