"""conda's records of packages, from and to those of a lock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conda.common.path import url_to_path
from conda.gateways.disk.read import compute_sum
from conda.models.channel import Channel, MultiChannel
from conda.models.prefix_graph import PrefixGraph
from conda.models.records import PackageRecord

from envkit.plugins.conda_work.lock_file import LockProblemError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from envkit.plugins.conda_work.lock_file import CondaLock


def records_of(lock: CondaLock, platform: str) -> list[PackageRecord]:
    """A lock's packages for conda, each with its address and hash, what others need first.

    Raises:
        LockProblemError: the lock cannot give them.
    """
    records = []
    for entry in lock.packages(platform):
        channel = _channel(entry.pop("channel"), lock.path)
        url = f"{channel.base_url}/{entry['subdir']}/{entry['fn']}"
        if url.startswith("file:"):
            _check_file(url_to_path(url), entry, lock.path)
        records.append(PackageRecord(channel=channel, url=url, **entry))
    return list(PrefixGraph(records).graph)


def _check_file(path: str, entry: dict[str, Any], lock: str) -> None:
    """conda compares the hash of what it downloads, and not of what it copies.

    Source: https://github.com/conda/conda/blob/26.7.1/conda/core/path_actions.py (CacheUrlAction._execute_local)
    """
    try:
        found = compute_sum(path, "sha256")
    except OSError as error:
        raise LockProblemError(f"{lock}: {entry['name']} is not to be had: {error}") from error
    if found != entry["sha256"]:
        raise LockProblemError(
            f"{lock}: {path} is another file than the lock's.\n"
            f"  expected sha256 {entry['sha256']}\n  found    sha256 {found}"
        )


def _channel(word: str, path: str) -> Channel:
    """The channel that a lock names, by conda's own configuration: aliases, custom channels."""
    channel = Channel(word)
    if isinstance(channel, MultiChannel) or not channel.base_url:
        raise LockProblemError(
            f"{path}: {word} stands for several channels here, and the lock does not say which has a file. "
            "Use envkit: `envkit restore`."
        )
    return channel


def entries_of(records: Iterable[PackageRecord]) -> list[dict[str, Any]]:
    """conda's records as entries of a lock."""
    return [_entry(record) for record in records]


def _entry(record: PackageRecord) -> dict[str, Any]:
    dumped = record.dump()
    entry = {key: dumped.get(key) for key in ("sha256", "md5", "size", "noarch", "timestamp", "license")}
    requested = str(record.get("requested_spec") or "")
    return entry | {
        "name": record.name,
        "version": record.version,
        "build": record.build,
        "build_number": record.build_number,
        "channel": _word(record.channel),
        "subdir": record.subdir,
        "file": record.fn,
        "depends": list(record.depends),
        "constrains": list(record.constrains),
        "track_features": list(record.track_features),
        "python_site_packages_path": dumped.get("python_site_packages_path"),
        "requested": None if requested == "None" or "::" in requested else requested,
    }


def _word(channel: Channel) -> str | None:
    """How a lock names a channel: by its name where that leads to it on other machines too, else by its address."""
    name, address = channel.name, channel.base_url
    named = Channel(name) if name else None
    portable = named is not None and named.scheme != "file" and named.base_url == address
    return str(name) if portable else address
