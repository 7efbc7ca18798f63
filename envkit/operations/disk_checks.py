"""Is there room for an environment: bytes, files, quotas; and are files of the cache linked, or copied?"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from envkit.compat.system_needs import system_fact
from envkit.model.fit import FitCheck
from envkit.model.texts import size_text
from envkit.operations.download import download_of
from envkit.probes.quota import quota_at
from envkit.probes.storage import storage_at

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from envkit.model.lock import Lock, LockedPlatform
    from envkit.model.locked import LockedPackage
    from envkit.operations.planned_place import PlannedPlace
    from envkit.probes.quota import Quota
    from envkit.probes.storage import Storage

_ELSEWHERE = "Free space, or put the environment elsewhere: --prefix DIR, or ENVKIT_HOME for all of envkit's files."


def disk_checks(place: PlannedPlace, lock: Lock | None, platform: str) -> tuple[FitCheck, ...]:
    """Room for bytes and files, on one file system or on two.

    Raises:
        OSError: a place cannot be looked at.
    """
    of_place, of_cache = storage_at(place.folder), storage_at(place.cache)
    is_one = of_place.device == of_cache.device
    places = [("environments", of_place)] if is_one else [("environments", of_place), ("cache", of_cache)]
    locked = lock.platforms.get(platform) if lock is not None else None
    found: list[FitCheck] = []
    for name, storage in places:
        cache = place.cache if is_one or name == "cache" else None  # from another file system all is copied
        quota = quota_at(storage.mount)
        found.append(_bytes(name, storage, quota, locked, cache))
        files = _files(name, storage, quota)
        found += [files] if files is not None else []
    return (*found, _cache(place, of_place, of_cache))


def _bytes(
    name: str, storage: Storage, quota: Quota | None, locked: LockedPlatform | None, cache: Path | None
) -> FitCheck:
    free, of_quota = storage.free_bytes, quota.free_bytes if quota is not None else None
    found = f"{size_text(free)} free in {storage.folder} ({name})"
    if of_quota is not None and of_quota < free:
        free, found = of_quota, f"{size_text(of_quota)} left of your quota in {storage.folder} ({name})"
    download = download_of([*locked.packages, *locked.base]) if locked is not None else None
    if locked is None or download is None:
        why = "How much is downloaded is not known without a lock that states sizes." if free == 0 else None
        return FitCheck("disk", "warn" if free == 0 else "ok", found, why=why, source=_source(quota))
    fact = system_fact("unpacked")
    ratio = fact.number("unpacked_bytes") / fact.number("packed_bytes")
    needed, size = str(download), download.size_bytes
    if free < size * ratio and cache is not None:  # the cache may be large, so it is looked into when that matters
        there = _unpacked(cache, locked.packages)
        size -= sum(item.size or 0 for item in locked.packages if item.name in there)
        needed += f", {size_text(size)} of it not in the cache yet" if there else ""
    if free < size:
        why = "The files do not even fit packed, as they are downloaded."
        return FitCheck("disk", "fail", found, needed, why, _ELSEWHERE, "the lock's sizes", "confirmed")
    if free < size * ratio:
        why = "Unpacked files need more than packed ones: "
        why += f"those of torch {fact.values['torch']} for CPU {ratio:.1f} times as much."
        return FitCheck("disk", "warn", found, needed, why, _ELSEWHERE, fact.source, "derived")
    return FitCheck("disk", "ok", found, needed, source=_source(quota))


def _unpacked(cache: Path, packages: Iterable[LockedPackage]) -> set[str]:
    """The packages whose wheel, by name and version, is unpacked in uv's cache."""
    names = {f"{'-'.join(item.file.split('-')[:2])}.dist-info".lower(): item.name for item in packages}
    found: set[str] = set()
    for folder in (name for name in _listed(cache) if name.startswith("archive-v")):
        for archive in _listed(cache / folder):
            found |= {names[name.lower()] for name in _listed(cache / folder / archive) if name.lower() in names}
    return found


def _listed(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - names
    except OSError:  # not there, or being cleaned
        return []


def _source(quota: Quota | None) -> str:
    return "this system" if quota is None else f"{quota.program} of this system"


def _files(name: str, storage: Storage, quota: Quota | None) -> FitCheck | None:
    """None where the number of files has no limit."""
    limits = [storage.free_files, quota.free_files if quota is not None else None]
    free = min((limit for limit in limits if limit is not None), default=None)
    if free is None:
        return None
    unpacked = system_fact("unpacked")
    count = unpacked.number("files")
    found, needed = f"{free:,} more files in {storage.folder} ({name})", f"more than {count:,}"
    if free >= count:
        return FitCheck("disk-files", "ok", found, needed, source=_source(quota))
    why = f"The wheel of torch {unpacked.values['torch']} alone holds {count:,} files."
    hint = "Remove files that you do not need (`conda clean`, `uv cache prune`), or put the environment elsewhere."
    return FitCheck("disk-files", "warn", found, needed, why, hint, unpacked.source, unpacked.known)


def _cache(place: PlannedPlace, of_place: Storage, of_cache: Storage) -> FitCheck:
    found, source = f"cache in {place.cache}, environments in {place.folder}", "this system"
    if not of_cache.is_writable or of_cache.is_read_only or not of_cache.is_folder:
        why = f"{of_cache.folder} cannot be written, and the installer keeps what it downloads there."
        return FitCheck("cache", "warn", found, None, why, f"Set {place.variable} to a folder of your own.", source)
    if of_place.shares_files_with(of_cache):
        return FitCheck("cache", "ok", found, source=source)
    why = "They are on two file systems, so files are copied and not linked: it takes longer, and twice the room."
    hint = f"Set {place.variable} to a folder on the file system of the environments, or the other way round."
    return FitCheck("cache", "warn", found, "one file system", why, hint, source)
