"""The toolkits of the nvcc programs in PATH, whose names may be links, scripts or launchers of the real ones."""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from envkit import process
from envkit.errors import ProgramError
from envkit.probes.nvcc import LEFT_OUT
from envkit.probes.toolkit_files import NVCC, has_headers, is_system, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TIMEOUT_S = 5.0
_LONGEST_SCRIPT = 64 << 10
_LONGEST_CHAIN = 8
_BESIDE = ("nvcc.profile", "cudafe++", "ptxas", "../nvvm", "../version.json", "../version.txt")
"""What lies beside a compiler in its toolkit, and not beside a wrapper."""
_NAMED = re.compile(r""""(/[^"$`]*/nvcc)"|'(/[^']*/nvcc)'|(?:^|(?<=[\s=;&|(]))(/[^\s"'$`;&|()]*/nvcc)(?=$|[\s;&|)])""")


class OnPath(NamedTuple):
    """One nvcc of PATH.

    Attributes:
        nvcc: the program.
        folder: of its toolkit; None where it has none of its own, or that cannot be told.
        problem: why that is, to stand behind the program's name; None for a launcher, which starts the next nvcc.
    """

    nvcc: Path
    folder: Path | None
    problem: str | None = None


def nvccs_on_path(environ: Mapping[str, str]) -> Iterator[OnPath]:
    """Each nvcc in PATH, first one first."""
    for entry in dict.fromkeys(environ.get("PATH", "").split(os.pathsep)):
        nvcc = Path(entry, NVCC)
        if os.path.isabs(entry) and os.path.isfile(nvcc) and os.access(nvcc, os.X_OK):  # noqa: PTH113,PTH117 - no error
            yield _resolved(nvcc)


def _resolved(nvcc: Path) -> OnPath:
    """Follow links and scripts by reading them; a program that is neither, and stands alone, is asked."""
    place = nvcc
    for _ in range(_LONGEST_CHAIN):
        leads_to = _target(place)
        if leads_to is None:
            break
        place = leads_to
    folder = place.parent.parent
    if not place.name.startswith("nvcc"):  # a link to ccache or sccache, which goes on to the next nvcc in PATH
        return OnPath(nvcc, None)
    if not is_system(folder) and _is_toolkit(folder):
        return OnPath(nvcc, folder)
    told = _asked(place)
    if isinstance(told, Path):
        return OnPath(nvcc, told)
    if not is_system(folder) and "cuda" in folder.name.lower():
        return OnPath(nvcc, folder)
    return OnPath(nvcc, None, f"is a wrapper, and of which toolkit cannot be told: {told}")


def _is_toolkit(folder: Path) -> bool:
    return has_headers(folder) or any(os.path.exists(folder / "bin" / name) for name in _BESIDE)  # noqa: PTH110


def _target(nvcc: Path) -> Path | None:
    """What a link that leads out of its folder, or a script, starts; None for the end of the chain."""
    real = os.path.realpath(nvcc)
    if os.path.realpath(nvcc.parent) != os.path.dirname(real):  # noqa: PTH120
        return Path(real)
    text = read_text(nvcc, limit=_LONGEST_SCRIPT)
    if not text.startswith("#!"):
        return None
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    named = {next(filter(None, match)) for line in lines for match in _NAMED.findall(line)}
    others = {path for path in map(os.path.normpath, named) if os.path.isfile(path)}  # noqa: PTH113
    others = {path for path in others if os.path.realpath(path) != real}
    return Path(others.pop()) if len(others) == 1 else None


@functools.cache
def _asked(nvcc: Path) -> Path | str:
    """The folder that nvcc itself takes for its toolkit, or why it does not tell one.

    That is the line ``TOP=`` of a dry run, which compiles nothing.
    """
    env = dict.fromkeys(LEFT_OUT)
    try:
        done = process.run([nvcc, "--dryrun", "-x", "cu", os.devnull], timeout_s=_TIMEOUT_S, env=env, check=False)
    except ProgramError as error:
        return error.message.rstrip(".")
    match = re.search(r"^#\$ TOP=(.+?)\s*$", done.stderr, re.MULTILINE)
    if match is None or not os.path.isabs(match[1]):  # noqa: PTH117
        return f"`{nvcc} --dryrun` does not name its folder"
    return Path(os.path.realpath(match[1]))
