"""What ``SPEC|FILE`` on a command line that changes nothing means: a spec with its lock, or a lock."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from envkit.model.lock import Lock
from envkit.operations.environments import prefix_from
from envkit.operations.specs import SpecFile, find_spec, names_file, read_lock, read_spec_or_lock

if TYPE_CHECKING:
    from envkit.model.progress import Progress
    from envkit.model.spec import Spec


REQUIREMENT = re.compile(r"torch\s*(?:(?P<operator>[=~!<>]+)\s*(?P<version>.*))?")
"""A torch that is asked for by its version: ``torch==1.12.1``."""


def is_requirement(text: str) -> bool:
    """Whether a text asks for a torch by its version, instead of naming a spec."""
    return REQUIREMENT.fullmatch(text.strip()) is not None


def read_wanted(name_or_file: str, progress: Progress) -> tuple[Spec | None, Lock | None]:
    """The spec, and its lock where there is one that is current; of a lock's file the lock alone.

    Raises:
        EnvkitError: there is no such spec, or the file is wrong.
    """
    is_file = names_file(name_or_file)
    found = read_spec_or_lock(prefix_from(name_or_file), name_or_file, progress) if is_file else find_spec(name_or_file)
    if isinstance(found, Lock):
        return None, found
    return found.spec, lock_of_spec(found)


def lock_of_spec(found: SpecFile) -> Lock | None:
    """The lock of a spec that is current, or None."""
    for path in (found.lock_path, found.private_lock_path):
        if path.is_file():
            lock = read_lock(path, path.name)
            if lock.spec_sha256 == found.spec.sha256:
                return lock
    return None
