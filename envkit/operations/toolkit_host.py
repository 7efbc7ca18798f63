"""Which host compiler nvcc is given when a toolkit is checked."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from typing import Any

from envkit.compat.host_compilers import newest_gcc
from envkit.operations.host_compiler import HostChoice
from envkit.probes.host_compiler import default_gcc, named_gcc

_ANY = 99
"""A version that no gcc will have for long."""


@dataclass(frozen=True, slots=True)
class NvccHost:
    """The host compiler for a check.

    Attributes:
        program: for nvcc's ``-ccbin``; None: nvcc's own choice.
        facts: what ``--json`` shows of it.
        problem: why there is none that fits, or None. It may work all the same: nvcc has the last word.
        hint: what to do about it.
    """

    program: str | None
    facts: dict[str, Any]
    problem: str | None = None
    hint: str | None = None


def choose_host(release: str | None) -> NvccHost:
    """The user's own (NVCC_CCBIN), or the system's g++, or where that is too new, the newest that is allowed."""
    asked = os.environ.get("NVCC_CCBIN")
    if asked:
        return NvccHost(asked, {"host_compiler": asked, "host_chosen_by": "NVCC_CCBIN"})
    if sys.platform == "win32":
        return NvccHost(None, {"host_compiler": "cl.exe", "host_chosen_by": "nvcc"})
    path = os.environ.get("PATH", "")
    limit = newest_gcc(release) if release is not None else None
    is_there = all(shutil.which(name) for name in ("gcc", "g++"))
    default = default_gcc(path) if is_there else None
    if is_there and (default is None or limit is None or default <= limit):
        facts = {"host_compiler": "g++", "host_version": default, "host_limit": limit, "host_chosen_by": "nvcc"}
        return NvccHost(None, facts)
    named = named_gcc(limit or _ANY, path)
    if named is not None:
        version = int(named.cxx.rpartition("-")[2])
        facts = {"host_compiler": named.cxx, "host_version": version, "host_limit": limit, "host_chosen_by": "envkit"}
        return NvccHost(str(named.folder / named.cxx), facts)
    return _nothing_fits(release, default, limit)


def _nothing_fits(release: str | None, default: int | None, limit: int | None) -> NvccHost:
    found = "g++" if default else None
    facts = {"host_compiler": found, "host_version": default, "host_limit": limit, "host_chosen_by": "nvcc"}
    elsewhere = "name a g++ that is elsewhere with NVCC_CCBIN."
    if default is None:
        hint = f"Install them (Debian, Ubuntu: `apt-get install gcc g++`), or {elsewhere}"
        return NvccHost(None, facts, "There is no host compiler: gcc and g++ are not both on PATH.", hint)
    hint = f"Install gcc-{limit} with g++-{limit} or older ones beside it, or {elsewhere}"
    return NvccHost(None, facts, HostChoice(release, default, limit, None).problem, hint)
