"""What locked files need of a machine, and whether a machine has it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from envkit.compat.tables import MAY_REFUSE, arch_list, driver_need, version_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from envkit.model.conda_record import CondaRecord
    from envkit.model.driver import DriverVersion
    from envkit.model.locked import LockedPackage

Needs = Mapping[str, Mapping[str, Any]]
_MANYLINUX = {"manylinux2014": (2, 17), "manylinux2010": (2, 12), "manylinux1": (2, 5)}
"""Older names of manylinux tags and the glibc they stand for (PEP 600)."""


@dataclass(frozen=True, slots=True)
class NeedCheck:
    """Whether a machine has what one need says.

    Attributes:
        id: "driver", "compute_capability" or "glibc".
        status: "fail" only on well-known facts; "warn": it may not work, or not all of it; "unknown": cannot be told.
        found: what the machine has, or None.
        needed: for people: "450.80.02 or newer".
        why: the reason for "fail", "warn" and "unknown"; None for "ok".
        known: how well the need is known.
    """

    id: str
    status: Literal["ok", "warn", "fail", "unknown"]
    found: str | None
    needed: str
    why: str | None
    known: str


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
    glibc = max((found for package in entries if (found := _needed_glibc(package.file))), default=None)
    if glibc is not None:
        needs["glibc"] = {"minimum": f"{glibc[0]}.{glibc[1]}", "known": "confirmed"}
    return needs


def needs_of_records(records: Iterable[CondaRecord], cuda: str | None, platform: str) -> dict[str, dict[str, Any]]:
    """The same for conda's packages: the driver by the build's CUDA, glibc by what they depend on.

    For which GPUs a channel's torch has code is not known: the tables hold those of wheels.
    """
    needs = needs_of((), cuda, platform)
    found = (re.match(r"__glibc\s*>=\s*(\d+\.\d+)", text) for record in records for text in record.depends)
    glibc = max((pair for match in found if match and (pair := _pair(match[1])) is not None), default=None)
    if glibc is not None:
        needs["glibc"] = {"minimum": f"{glibc[0]}.{glibc[1]}", "known": "confirmed"}
    return needs


def _needed_glibc(file: str) -> tuple[int, int] | None:
    """The glibc that a wheel's name asks for, by the oldest of its manylinux tags; None when it says nothing."""
    found = []
    for tag in file.removesuffix(".whl").rpartition("-")[2].split("."):
        name, *rest = tag.split("_")
        if name in _MANYLINUX:
            found.append(_MANYLINUX[name])
        elif name == "manylinux" and len(rest) > 1 and (version := _pair(".".join(rest[:2]))) is not None:
            found.append(version)
    return min(found, default=None)


def check_needs(
    needs: Needs,
    *,
    driver: DriverVersion | None,
    capabilities: Sequence[str] | None,
    glibc: tuple[int, int] | None,
) -> tuple[NeedCheck, ...]:
    """Compare each need with a machine; None for a fact that is not known about it.

    A fact of the need or of the machine that cannot be read is unknown, too: it never ends in an exception.

    Args:
        needs: of one platform of a lock.
        driver: of the machine.
        capabilities: compute capability of each GPU.
        glibc: of the machine.
    """
    readable = [item for item in capabilities or () if _pair(item) is not None]
    checks: dict[str, Callable[[Mapping[str, Any]], NeedCheck]] = {
        "driver": lambda need: _check_driver(need, driver),
        "compute_capability": lambda need: _check_capabilities(need, readable),
        "glibc": lambda need: _check_glibc(need, glibc),
    }
    return tuple(
        check(needs[name]) if _is_readable(name, needs[name]) else _unreadable(name, needs[name])
        for name, check in checks.items()
        if name in needs
    )


def _is_readable(name: str, need: object) -> bool:
    """Whether a need has the facts that the comparison takes, as a lock that was read has them."""
    if not isinstance(need, Mapping):
        return False
    if name == "driver":
        return all(re.search(r"\d", str(need.get(key, "0"))) for key in ("minimum", "toolkit")) and "minimum" in need
    if name == "glibc":
        return _pair(str(need.get("minimum"))) is not None
    code, ptx = need.get("list"), need.get("ptx", ())
    if not isinstance(code, list | tuple) or not isinstance(ptx, list | tuple):
        return False
    return all(_pair(str(entry)) is not None for entry in (*code, *ptx))


def _unreadable(name: str, need: object) -> NeedCheck:
    needed = str(need)[:200]
    return NeedCheck(name, "unknown", None, needed, "The lock says this in a way that cannot be read.", "unknown")


def _check_driver(need: Mapping[str, Any], driver: DriverVersion | None) -> NeedCheck:
    minimum, known = str(need["minimum"]), _known(need)
    needed = f"{minimum} or newer"
    if driver is None:
        return NeedCheck("driver", "unknown", None, needed, "No NVIDIA driver was found.", known)
    found = str(driver)
    if version_key(found) < version_key(minimum):
        why = f"The CUDA build does not run with a driver older than {minimum}."
        return NeedCheck("driver", _verdict(known), found, needed, why, known)
    toolkit = need.get("toolkit")
    if toolkit is not None and version_key(found) < version_key(str(toolkit)):
        why = f"It runs; what needs a driver of {toolkit} or newer, such as PTX of that toolkit, does not."
        return NeedCheck("driver", "warn", found, needed, why, known)
    return NeedCheck("driver", "ok", found, needed, None, known)


def _check_capabilities(need: Mapping[str, Any], found: Sequence[str] | None) -> NeedCheck:
    known, ptx = _known(need), [str(entry) for entry in need.get("ptx", ())]
    code = [str(entry) for entry in need["list"]]
    needed = ", ".join([*code, *(f"{entry} and newer by PTX" for entry in ptx)])
    if not found:
        return NeedCheck("compute_capability", "unknown", None, needed, "No GPU was found.", known)
    unfit = [capability for capability in found if not _runs(capability, code, ptx)]
    text = ", ".join(found)
    if not unfit:
        return NeedCheck("compute_capability", "ok", text, needed, None, known)
    why = f"The build has no kernels for compute capability {', '.join(unfit)}."
    status = _verdict(known) if len(unfit) == len(found) else "warn"
    return NeedCheck("compute_capability", status, text, needed, why, known)


def _runs(capability: str, code: Sequence[str], ptx: Sequence[str]) -> bool:
    """The rule of ``arch_lists.yaml``: code of the same major and no newer minor, or PTX that is no newer."""
    mine = _pair(capability)
    if mine is None:
        return False
    same_major = any(entry[0] == mine[0] and entry <= mine for entry in _pairs(code))
    return same_major or any(entry <= mine for entry in _pairs(ptx))


def _pair(text: str) -> tuple[int, int] | None:
    """Major and minor number of "8.6", or None for another text."""
    found = re.fullmatch(r"(\d{1,9})(?:\.(\d{1,9}))?", text, re.ASCII)
    return (int(found[1]), int(found[2] or 0)) if found is not None else None


def _pairs(texts: Iterable[str]) -> list[tuple[int, int]]:
    return [pair for pair in map(_pair, texts) if pair is not None]


def _check_glibc(need: Mapping[str, Any], glibc: tuple[int, int] | None) -> NeedCheck:
    minimum, known = str(need["minimum"]), _known(need)
    needed = f"{minimum} or newer"
    if glibc is None:
        return NeedCheck("glibc", "unknown", None, needed, "This system has no glibc, or does not tell.", known)
    found = f"{glibc[0]}.{glibc[1]}"
    if glibc < (_pair(minimum) or (0, 0)):
        why = f"The wheels were built for glibc {minimum}; this system has {found}."
        return NeedCheck("glibc", _verdict(known), found, needed, why, known)
    return NeedCheck("glibc", "ok", found, needed, None, known)


def _known(need: Mapping[str, Any]) -> str:
    return str(need.get("known", "unknown"))


def _verdict(known: str) -> Literal["warn", "fail"]:
    return "fail" if known in MAY_REFUSE else "warn"
