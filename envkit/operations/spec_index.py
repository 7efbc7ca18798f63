"""The names of the specs that ship, from what they give: torch, its build and the installer."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from envkit import resources
from envkit.compat.releases import newest_of, releases
from envkit.compat.tables import build_label

if TYPE_CHECKING:
    from envkit.compat.releases import Release


def spec_named(torch: str, cuda: str | None, installer: str = "pip") -> str | None:
    """The spec that ships for a build of torch, or None.

    Args:
        torch: "1.12.1", with or without a build label, or "1.12" for the newest 1.12 that has such a spec.
        cuda: build CUDA such as "11.3", or None for the CPU build.
        installer: "pip" or "conda".
    """
    asked = torch.partition("+")[0]
    for release in releases():
        if asked in {release.torch, release.minor}:
            name = spec_name(release, cuda, installer)
            if (resources.lockfiles_dir() / f"{name}.yaml").is_file():
                return name
    return None


def spec_name(release: Release, cuda: str | None, installer: str = "pip") -> str:
    """What the spec of a build is called, whether or not it ships.

    The newest release of a minor version has the short name, ``torch112-cu113``; the others name themselves in full,
    ``torch1.12.0-cu113``.
    """
    is_newest = newest_of(release.minor) == release
    version = release.minor.replace(".", "") if is_newest else release.torch
    end = "" if installer == "pip" else f"-{installer}"
    return f"torch{version}-{build_label(cuda)}{end}"


def shipped_hosts() -> set[str]:
    """The hosts of all sources of the specs that ship.

    They are read line by line: as YAML, the hundreds of specs would take longer than all else that a command does.
    """
    hosts: set[str] = set()
    for file in resources.lockfiles_dir().glob("*.yaml"):
        if not file.name.endswith(".lock.yaml"):
            urls = re.findall(r"^  - \{url: ([^,\s]+),", file.read_text(encoding="utf-8"), re.MULTILINE)
            hosts.update(urlsplit(url).hostname or "" for url in urls)
    return hosts
