"""Can an environment be made and run at its place: rights, mount options, length and letters of its path?"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from envkit.compat.system_needs import system_fact
from envkit.errors import ExistsError, UsageError
from envkit.model.fit import FitCheck
from envkit.operations.prefix_places import check_conda_prefix, check_place
from envkit.probes.storage import storage_at

if TYPE_CHECKING:
    from envkit.operations.planned_place import PlannedPlace
    from envkit.probes.storage import Storage

_ELSEWHERE = "Put the environment elsewhere: --prefix DIR, or ENVKIT_HOME for all of envkit's files."


def path_checks(place: PlannedPlace) -> tuple[FitCheck, ...]:
    """Whether the place can be written, its files can be run, and its path can be used.

    Raises:
        OSError: the place cannot be looked at.
    """
    storage = storage_at(place.folder)
    return (_writable(place, storage), _runnable(storage), _path(place))


def _writable(place: PlannedPlace, storage: Storage) -> FitCheck:
    found, why = str(storage.folder), None
    if not storage.is_folder:
        why = f"{storage.folder} is a file, and no folder."
    elif storage.is_read_only:
        why = f"The file system of {storage.folder} is mounted read-only."
    elif not storage.is_writable:
        why = f"You may not write into {storage.folder}."
    if why is None:
        return FitCheck("writable", "ok", found, source="this system")
    needed = f"a folder that can be written, for {place.folder}"
    return FitCheck("writable", "fail", found, needed, why, _ELSEWHERE, "this system", "confirmed")


def _runnable(storage: Storage) -> FitCheck:
    fact = system_fact("executable")
    point = storage.mount.point if storage.mount is not None else str(storage.folder)
    if not storage.is_noexec:
        return FitCheck("noexec", "ok", point, source="this system")
    why = "It is mounted with noexec: Linux loads no program and no library from there, so torch cannot be imported."
    return FitCheck("noexec", "fail", point, "a mount without noexec", why, _ELSEWHERE, fact.source, fact.known)


def _path(place: PlannedPlace) -> FitCheck:
    found = f"{len(os.fsencode(place.folder))} bytes: {place.folder}"
    if not place.is_prefix:
        return FitCheck("prefix-path", "ok", found, source="this system")
    try:
        check_place(place.folder)
        if place.backend == "conda":
            check_conda_prefix(place.folder)
    except UsageError as error:
        why = " ".join(part for part in (error.message, error.why) if part)
        return FitCheck("prefix-path", "fail", found, None, why, error.hint or _ELSEWHERE, "envkit", "confirmed")
    except ExistsError as error:
        why = " ".join(part for part in (error.message, error.why) if part)
        return FitCheck("prefix-path", "warn", found, "a free place", why, error.hint, "envkit")
    return FitCheck("prefix-path", "ok", found, source="this system")
