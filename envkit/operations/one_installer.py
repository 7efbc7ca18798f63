"""The installer rule, checked: what in a conda prefix did the environment's own installer not put there?"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from envkit.errors import InvalidFileError
from envkit.installers.conda_meta import files_of_record, is_conda_prefix, record_paths
from envkit.installers.mixing import find_mixed
from envkit.model.report import INSTALLER, LayerResult

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.environment import Environment
    from envkit.model.lock import Lock
    from envkit.model.mixed import Mixed

_TOLD = 3


def mixed_packages(environment: Environment, lock: Lock, platform: str) -> tuple[Mixed, ...]:
    """The packages that are there against the rule.

    Raises:
        OSError: the packages cannot be listed.
    """
    base = {item.name: f"{item.version} {item.build}" for item in lock.platforms[platform].base}
    editables = {item.name for item in lock.additions.editables}
    return find_mixed(environment.prefix, lock.installer, base=base, editables=editables)


def installer_layer(environment: Environment, lock: Lock, platform: str) -> LayerResult | None:
    """The layer ``installer`` of verification; None in virtual environments, where pip is the only one there is."""
    if not is_conda_prefix(environment.prefix):
        return None
    start = time.monotonic()
    try:
        found = mixed_packages(environment, lock, platform)
    except OSError as error:
        return LayerResult(INSTALLER, "fail", f"The packages cannot be listed: {error}")
    reason = mixed_text(lock.installer, found) if found else None
    facts = {"installer": lock.installer, "mixed": [item.to_json() for item in found]}
    return LayerResult(INSTALLER, "fail" if found else "pass", reason, facts, round(time.monotonic() - start, 3))


def mixed_text(installer: str, found: tuple[Mixed, ...]) -> str:
    """What was found, in a line or two."""
    rest = f", and {len(found) - _TOLD} more" if len(found) > _TOLD else ""
    return f"Its installer is {installer}, and it holds {', '.join(map(str, found[:_TOLD]))}{rest}."


def missing_files(prefix: Path, package: str) -> tuple[str, ...]:
    """The files of a conda package that are not there any more, relative to the prefix."""
    found = []
    for record in record_paths(prefix):
        try:
            name, files = files_of_record(record)
        except InvalidFileError:
            continue
        if name == package:
            found += [
                file.path for file in files if not os.path.lexists(prefix / file.path) and file.kind != "pyc_file"
            ]
    return tuple(found)
