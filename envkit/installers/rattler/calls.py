"""What envkit asks of py-rattler: to solve, to install, to find records.

py-rattler is never imported here. Each call starts a child process (``worker.py``) that ends with the call:
py-rattler can crash when an interpreter ends, and a process that is killed writes no more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envkit.errors import DownloadError, StorageError, UsageError
from envkit.installers.rattler.child import ask
from envkit.installers.rattler.failures import failure_of
from envkit.installers.rattler.finding import fetched_packages, find_records
from envkit.installers.rattler.network import plan_network

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from envkit.installers.condarc import CondaSettings
    from envkit.installers.rattler.network import Network
    from envkit.model.progress import Progress

_CHANNEL_OF_SPEC = re.compile(
    r"^(?P<channel>[^\[\]=<>!~\s]+)::|\[(?:[^\]]*,)?\s*channel\s*=\s*['\"]?(?P<key>[^'\",\]]+)"
)

__all__ = ["InstallReport", "Record", "find_records", "install", "solve"]

Record = dict[str, Any]
"""A conda record as it stands in a lock: name, version, build, channel, subdir, file, sha256, ..."""


@dataclass(frozen=True, slots=True)
class InstallReport:
    """What an installation left out.

    Attributes:
        unlinked_scripts: names of packages whose pre-link or post-link script was not run.
    """

    unlinked_scripts: tuple[str, ...] = ()


def solve(
    channels: Sequence[str],
    specs: Sequence[str],
    *,
    platform: str,
    virtual_packages: Sequence[tuple[str, str, str]],
    settings: CondaSettings,
    offline: bool,
    timeout_s: float,
    progress: Progress,
    constraints: Sequence[str] = (),
    locked: Sequence[Mapping[str, Any]] = (),
) -> tuple[Record, ...]:
    """The packages that satisfy ``specs``, from these channels alone, by strict channel priority.

    Args:
        channels: names or URLs as the spec has them, the most important first.
        specs: MatchSpecs.
        platform: ``linux-64``; ``noarch`` is always looked at as well.
        virtual_packages: name (``__cuda``), version and build of each.
        settings: of ``.condarc``.
        offline: whether only what lies in the caches may be used.
        timeout_s: limit for the whole call; a server that stands still ends it earlier (``settings.read_timeout_s``).
        progress: who is told.
        constraints: MatchSpecs that hold for packages which other ones bring in.
        locked: records to keep to where that is possible.

    Raises:
        UnsatisfiableError: no set of packages satisfies them.
        UsageError: a spec is no MatchSpec.
        DownloadError: a channel does not exist, does not answer, or sends something else.
        InvalidFileError: ``.condarc`` forbids a channel.
        StorageError: a cache cannot be written.
    """
    network = plan_network([*channels, *(str(record["channel"]) for record in locked)], settings, platform)
    offline = offline or settings.offline
    request = {
        "call": "solve",
        "channels": [network.described(name, settings) for name in dict.fromkeys(channels)],
        "specs": [[_placed(spec, channels, network), spec] for spec in specs],
        "constraints": [[_placed(spec, channels, network), spec] for spec in constraints],
        "locked": [_entry(record, network) for record in locked],
        "platform": platform,
        "virtual_packages": [list(item) for item in virtual_packages],
        "timeout_s": timeout_s,
        "offline": offline,
    }
    answer = ask(request, network, settings, timeout_s=timeout_s, progress=progress)
    if "error" in answer:
        raise failure_of(answer["error"], network, offline=offline)
    _check_hashes(answer["records"])
    return tuple(answer["records"])


def install(
    records: Sequence[Mapping[str, Any]],
    prefix: Path,
    *,
    settings: CondaSettings,
    platform: str,
    offline: bool,
    timeout_s: float,
    progress: Progress,
    cache_dir: Path | None = None,
    folders: Sequence[Path] = (),
    add: bool = False,
    full_check: bool = False,
    coming: Path | None = None,
) -> InstallReport:
    """Put packages into a prefix, each checked by its sha256; what else is in there is removed.

    Args:
        records: of all packages, or with ``add`` of the new ones. ``requested`` goes to ``requested_specs``.
        prefix: the folder; it is made when it is not there.
        settings: of ``.condarc``.
        platform: ``linux-64``.
        offline: whether only caches and folders may be used.
        timeout_s: limit for the whole call; a server that stands still ends it earlier (``settings.read_timeout_s``).
        progress: who is told.
        cache_dir: folder of the caches, by default py-rattler's own (``RATTLER_CACHE_DIR``).
        folders: with package files that are used instead of downloads, by name and sha256; conda's own package
            folders are looked at as well.
        add: whether packages that are there and not among the records stay.
        full_check: whether each file in the package cache is compared with the hash that its package states; otherwise
            it has to be there.
        coming: file that is told, before each package is linked, the names that come into the prefix itself.

    Raises:
        DownloadError: a package cannot be had, or is another one than the lock says.
        StorageError: the disk is full or cannot be written.
    """
    network = plan_network([str(record["channel"]) for record in records], settings, platform)
    offline = offline or settings.offline
    request = {
        "call": "install",
        "records": [_entry(record, network) for record in records],
        "prefix": str(prefix),
        "platform": platform,
        "offline": offline,
        "add": add,
        "full_check": full_check,
        "coming": str(coming) if coming is not None else None,
        "folders": [str(folder) for folder in [*folders, fetched_packages(), *settings.pkgs_dirs]],
        "command": "envkit",
    }
    answer = ask(request, network, settings, timeout_s=timeout_s, progress=progress, cache_dir=cache_dir)
    if "error" in answer:
        error = failure_of(answer["error"], network, records, offline=offline)
        if isinstance(error, StorageError):
            places = f"The environment is {prefix}, the packages' cache {request['cache']}."
            error.why = f"{error.why}\n{places}" if error.why else places
        raise error
    return InstallReport(tuple(answer["unlinked_scripts"]))


def _check_hashes(records: Sequence[Record]) -> None:
    """Refuse packages of old private channels, whose indexes have no sha256: nothing would say which file it is."""
    record = next((record for record in records if not record.get("sha256")), None)
    if record is not None:
        raise DownloadError(
            f"The index of {record['channel']} states no sha256 of {record['file']}, so that it cannot be locked.",
            hint="Have the channel indexed anew, by conda-index or rattler-index; or name a channel that states it.",
        )


def _placed(spec: str, channels: Sequence[str], network: Network) -> str:
    """A MatchSpec whose channel, if it names one, is written as the URL that the channel has here."""
    match = _CHANNEL_OF_SPEC.search(spec)
    if match is None:
        return spec
    named = str(match["channel"] or match["key"]).strip()
    if named not in channels:
        raise UsageError(
            f"{spec!r} names the channel {named}, which is not among the channels.",
            hint="Add it to `channels` of the spec, or leave it out here.",
        )
    urls = network.urls(named)
    group = "channel" if match["channel"] else "key"
    return spec if len(urls) > 1 else spec[: match.start(group)] + urls[0] + spec[match.end(group) :]


def _entry(record: Mapping[str, Any], network: Network) -> dict[str, Any]:
    """A record with its address for the worker."""
    if not (record.get("sha256") or record.get("md5")):
        raise UsageError(f"{record['file']} has no hash, so it cannot be told whether it is the right file.")
    url = network.channels[str(record["channel"])][0].url
    return {**record, "channel_url": url, "url": f"{url}/{record['subdir']}/{record['file']}"}
