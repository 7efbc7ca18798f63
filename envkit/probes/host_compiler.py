"""The gcc of this machine: which one is the default, and which others there are by name."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

from envkit.errors import ProgramError
from envkit.model.host_compiler import HostCompiler
from envkit.process import run

_TIMEOUT_S = 10
_OLDEST = 5
"""The first gcc whose name ends in the major version alone: ``gcc-4.8``, ``gcc-5``."""


def default_gcc(path: str) -> int | None:
    """The major version of the ``gcc`` that PATH gives; None where there is none, or it does not say.

    That is what nvcc takes unless it is told otherwise. Only on Linux: elsewhere ``gcc`` is another compiler.

    Args:
        path: a value of PATH.
    """
    program = shutil.which("gcc", path=path) if sys.platform == "linux" else None
    if program is None:
        return None
    try:  # clang calls itself gcc as well, but knows only the second option and fails
        said = run([program, "-dumpfullversion", "-dumpversion"], timeout_s=_TIMEOUT_S, env={"LC_ALL": "C"}).stdout
    except ProgramError:
        return None
    found = re.match(r"(\d{1,4})(?:\.|\s|$)", said)
    return int(found[1]) if found is not None else None


def named_gcc(newest: int, path: str) -> HostCompiler | None:
    """The newest ``gcc-N`` with its ``g++-N`` whose N is at most ``newest``; None where there is none.

    conda's cross compilers have other names, and set CC themselves.

    Args:
        newest: a major version.
        path: a value of PATH.
    """
    folders = [Path(folder) for folder in path.split(os.pathsep) if os.path.isabs(folder)]  # noqa: PTH117 - text
    for version in range(newest, _OLDEST - 1, -1):
        names = f"gcc-{version}", f"g++-{version}"
        for folder in folders:
            if all(shutil.which(name, path=str(folder)) for name in names):
                return HostCompiler(*names, folder)
    return None
