"""Sources that a spec or lock from outside names: their hosts are known, or the user confirms them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from envkit import fs, paths
from envkit.errors import InvalidFileError
from envkit.operations.locking import list_lock
from envkit.operations.spec_index import shipped_hosts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from envkit.model.lock import Lock

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def sources_of(lock: Lock, platform: str) -> Iterator[str]:
    """The addresses that a lock names for its files; channels and indexes that the user's settings lead to are none."""
    locked = lock.platforms[platform]
    yield from (item.source for item in locked.packages if item.source)
    yield from (record.channel for record in locked.base if "://" in record.channel)


def check_sources(
    urls: Iterable[str],
    shown: str,
    *,
    trusted_hosts: Iterable[str] = (),
    confirm: Callable[[str], bool] = lambda _question: False,
    remember: bool,
) -> None:
    """Let pass only sources whose hosts are known here.

    Known are the sources of the specs that ship, addresses of this machine, and what the user has confirmed before.

    Args:
        urls: the sources.
        shown: the file that names them.
        trusted_hosts: hosts that the user has confirmed with the command.
        confirm: asks the user; answers no where nobody can be asked.
        remember: whether a confirmed host is known from now on; not when nothing may be changed.

    Raises:
        InvalidFileError: a host is not known and was not confirmed.
    """
    hosts = {urlsplit(url).hostname or "" for url in urls if urlsplit(url).scheme != "file"}
    unknown = sorted(hosts - _LOOPBACK - shipped_hosts() - _remembered())
    trusted = {host.lower() for host in trusted_hosts}
    for host in unknown:
        if host in trusted:
            continue
        if not confirm(f"{shown} takes packages from {host}, which is not known here. Trust it?"):
            raise InvalidFileError(
                shown,
                f"it takes packages from {host}, which is not known here.",
                why="Whoever serves a package can run code on this machine. Nothing was downloaded.",
                hint=f"If you trust it, run again with --trust-source {host}.",
            )
    if unknown and remember:
        with list_lock("trusted-sources"):
            _remember(_remembered() | set(unknown))


def _remembered() -> set[str]:
    try:
        hosts = json.loads((paths.data_home() / "trusted-sources.json").read_text(encoding="utf-8"))["hosts"]
        return {host for host in hosts if isinstance(host, str)}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return set()


def _remember(hosts: set[str]) -> None:
    fs.make_folder(paths.data_home())
    fs.write_json(paths.data_home() / "trusted-sources.json", {"schema": 1, "hosts": sorted(hosts)})
