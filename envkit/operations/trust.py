"""Sources that a spec or lock from outside names: their hosts are known, or the user confirms them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from envkit import fs, paths
from envkit.errors import InvalidFileError
from envkit.operations.specs import find_spec, shipped_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from envkit.operations.options import CreateOptions

_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def check_sources(urls: Iterable[str], options: CreateOptions, shown: str) -> None:
    """Let pass only sources whose hosts are known here; a confirmed host is remembered.

    Known are the sources of the specs that ship, addresses of this machine, and what the user has confirmed before.

    Raises:
        InvalidFileError: a host is not known and was not confirmed.
    """
    hosts = {urlsplit(url).hostname or "" for url in urls if urlsplit(url).scheme != "file"}
    unknown = sorted(hosts - _LOOPBACK - _shipped_hosts() - _remembered())
    for host in unknown:
        if host in options.trusted_hosts:
            continue
        if not options.confirm(f"{shown} takes packages from {host}, which is not known here. Trust it?"):
            raise InvalidFileError(
                shown,
                f"it takes packages from {host}, which is not known here.",
                why="Whoever serves a package can run code on this machine. Nothing was downloaded.",
                hint=f"If you trust it, run again with --trust-source {host}.",
            )
    if unknown:
        _remember(_remembered() | set(unknown))


def _shipped_hosts() -> set[str]:
    sources = (source for name in shipped_names() for source in find_spec(name).spec.sources)
    return {urlsplit(source.url).hostname or "" for source in sources}


def _remembered() -> set[str]:
    try:
        return set(json.loads((paths.data_home() / "trusted-sources.json").read_text(encoding="utf-8"))["hosts"])
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _remember(hosts: set[str]) -> None:
    paths.data_home().mkdir(parents=True, exist_ok=True)
    fs.write_json(paths.data_home() / "trusted-sources.json", {"schema": 1, "hosts": sorted(hosts)})
