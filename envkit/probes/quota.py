"""How much a user may still write where there are quotas, which no call tells that works for every file system.

The programs of the system are asked: ``quota`` (https://man7.org/linux/man-pages/man1/quota.1.html) and Lustre's ``lfs
quota`` (https://doc.lustre.org/lustre_manual.xhtml). Both print a line of eight columns behind the file system.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from envkit.errors import ProgramError
from envkit.process import run

if TYPE_CHECKING:
    from envkit.probes.mounts import Mount

_TIMEOUT_S = 2.0
"""A file server that does not answer must not hold up what asks."""
_NETWORK = {"nfs", "nfs4", "lustre"}
_OPTIONS = {"quota", "usrquota", "uquota", "grpquota", "gquota", "prjquota", "pquota", "usrjquota"}
_KIB = 1024
_COLUMNS = 8


@dataclass(frozen=True, slots=True)
class Quota:
    """What is left of a user's quota.

    Attributes:
        free_bytes: None: no limit.
        free_files: None: no limit.
        program: that told.
    """

    free_bytes: int | None
    free_files: int | None
    program: str


def quota_at(mount: Mount | None) -> Quota | None:
    """The user's quota on a file system; None where there is none, or nobody tells.

    Only asked where it is likely: on network file systems that have quotas, and where the mount says so.
    """
    if mount is None or not hasattr(os, "getuid"):
        return None
    if mount.kind not in _NETWORK and not any(option.partition("=")[0] in _OPTIONS for option in mount.options):
        return None
    command = ["lfs", "quota", "-u", str(os.getuid()), mount.point] if mount.kind == "lustre" else ["quota", "-w", "-p"]
    program = shutil.which(command[0])
    if program is None:
        return None
    try:  # the exit status of one that is over its limits is not 0
        said = run([program, *command[1:]], timeout_s=_TIMEOUT_S, env={"LC_ALL": "C"}, check=False).stdout
    except ProgramError:
        return None
    return parse_quota(said, mount, command[0])


def parse_quota(text: str, mount: Mount, program: str) -> Quota | None:
    """The line of a file system in the output of ``quota -w -p`` or ``lfs quota``; a long name may break the line."""
    words = text.split()
    for index, word in enumerate(words):
        if word not in {mount.point, mount.source}:
            continue
        row = words[index + 1 : index + 1 + _COLUMNS]
        if len(row) == _COLUMNS and all(re.fullmatch(r"\d+[*]?|\[\d+\]\*?", row[at]) for at in (0, 1, 2, 4, 5, 6)):
            return Quota(_left(row[:3], _KIB), _left(row[4:7], 1), program)
    return None


def _left(columns: list[str], unit: int) -> int | None:
    """What is left below the lower one of soft and hard limit, 0 of which mean none."""
    used, *limits = (int(column.strip("*[]")) for column in columns)
    lowest = min((limit for limit in limits if limit), default=None)
    return None if lowest is None else max(lowest - used, 0) * unit
