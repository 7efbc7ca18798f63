"""Which builds of a PyTorch release conda channels carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.compat.releases import Build
from envkit.compat.tables import MACHINES, build_label, version_key

if TYPE_CHECKING:
    from envkit.compat.releases import Release


def conda_builds(release: Release, platform: str) -> tuple[Build, ...]:
    """The CUDA builds of a release that the table knows of conda's packages, by CUDA.

    It has no CPU builds, no versions of Python, and nothing from 2.6 on, where PyTorch's own channel ended
    (https://github.com/pytorch/pytorch/issues/138506).
    """
    found = []
    for entry in release.row["conda"]["entries"]:
        cuda = entry["spec"].partition("=")[2]
        if MACHINES.get(platform) in entry["platforms"]:
            found.append(Build(build_label(cuda), cuda, entry["status"]))
    return tuple(sorted(found, key=lambda build: version_key(build.cuda or "0")))
