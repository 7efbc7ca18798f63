"""Which host compiler nvcc is given when a toolkit is checked."""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from typing import Any

from envkit import process
from envkit.compat.toolkit_releases import gcc_limit
from envkit.errors import ProgramError

_TIMEOUT_S = 20.0
_OLDEST = 4


@dataclass(frozen=True, slots=True)
class HostChoice:
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


def choose_host(release: str | None) -> HostChoice:
    """The user's own (NVCC_CCBIN), or the system's g++, or where that is too new, the newest that is allowed."""
    asked = os.environ.get("NVCC_CCBIN")
    if asked:
        return HostChoice(asked, {"host_compiler": asked, "host_chosen_by": "NVCC_CCBIN"})
    if sys.platform == "win32":
        return HostChoice(None, {"host_compiler": "cl.exe", "host_chosen_by": "nvcc"})
    limit, default = gcc_limit(release), _version("g++")
    if default is not None and (limit is None or default <= limit):
        facts = {"host_compiler": "g++", "host_version": default, "host_limit": limit, "host_chosen_by": "nvcc"}
        return HostChoice(None, facts)
    for number in range(limit or 0, _OLDEST, -1):
        if _version(f"g++-{number}") == number:
            name = f"g++-{number}"
            facts = {"host_compiler": name, "host_version": number, "host_limit": limit, "host_chosen_by": "envkit"}
            return HostChoice(name, facts)
    return _nothing_fits(release, default, limit)


def _nothing_fits(release: str | None, default: int | None, limit: int | None) -> HostChoice:
    facts = {"host_compiler": "g++" if default else None, "host_version": default, "host_limit": limit}
    wanted = f"g++-{limit}" if limit else "g++"
    hint = f"Install {wanted} (Debian, Ubuntu: `apt-get install {wanted}`; conda-forge: gxx_linux-64)"
    hint += ", or name one that is elsewhere with NVCC_CCBIN." if limit else ", and have it on PATH."
    if default is None:
        return HostChoice(None, facts, "There is no host compiler: g++ is not on PATH.", hint)
    problem = (
        f"gcc {default} is newer than CUDA {release} allows (gcc {limit}), and no g++-N that it allows is on PATH."
    )
    return HostChoice(None, facts, problem, hint)


def _version(name: str) -> int | None:
    """The major version of a g++ on PATH, or None."""
    program = shutil.which(name)
    if program is None:
        return None
    try:
        said = process.run([program, "-dumpfullversion", "-dumpversion"], timeout_s=_TIMEOUT_S, check=False).stdout
    except ProgramError:
        return None
    match = re.match(r"\d+", said)
    return int(match[0]) if match else None
