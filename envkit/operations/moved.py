"""Environments that are not where they were made: moved, copied, or renamed and cloned by conda."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from envkit.errors import InvalidFileError
from envkit.installers.conda_meta import is_conda_prefix, prefix_files
from envkit.model.environment import RECORD, parse_record

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.environment import Environment

_LOOKED_AT = 20
"""Files that hold their prefix: one that names this place is enough."""


def as_moved(environment: Environment) -> Environment:
    """An environment whose record names another place, as it is to be shown.

    ``conda rename`` and ``conda create --clone`` install conda's packages anew at the new place and copy all the rest,
    envkit's record too. So what was renamed is whole where conda is the installer, and what pip had installed is not.
    """
    prefix, recorded = environment.prefix, environment.recorded_prefix
    here = replace(environment, name=prefix.name)
    by_conda = environment.backend == "conda" and is_conda_prefix(prefix) and _is_linked_at(prefix)
    if by_conda and _is_still_there(environment):
        return replace(
            here,
            state="broken",
            problem=f"It is conda's copy of the environment at {recorded} and carries the record of that one. "
            "Make one of its own here.",
        )
    if by_conda and environment.installer == "conda":
        return here
    why = "conda has copied what pip installed as it was" if by_conda else "its programs hold that path"
    return replace(
        here,
        state="broken",
        problem=f"It was made at {recorded} and has been moved or copied, and {why}. "
        "Move it back, or make it again here.",
    )


def _is_still_there(environment: Environment) -> bool:
    """Whether the environment that was made at the recorded place is there, so that this is a copy."""
    try:
        text = os.path.join(environment.recorded_prefix, RECORD)  # noqa: PTH118 - fast
        with open(text, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - fast
            return parse_record(file.read(), environment.prefix).id == environment.id
    except (OSError, InvalidFileError):
        return False


def _is_linked_at(prefix: Path) -> bool:
    """Whether conda's packages were linked for this place: files that hold their prefix name it."""
    wanted = os.fsencode(prefix)
    there = (path for path in prefix_files(prefix, most=_LOOKED_AT) if path.is_file() and os.access(path, os.R_OK))
    return any(wanted in path.read_bytes() for path in there)
