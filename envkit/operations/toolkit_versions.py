"""Versions of CUDA toolkits as users write them: whether NVIDIA has released them, and how one is had."""

from __future__ import annotations

import re

from envkit.compat.installers import archive_url, versions_of
from envkit.compat.tables import version_key
from envkit.compat.toolkit_channels import newest_channel_toolkit
from envkit.compat.toolkit_releases import releases
from envkit.compat.toolkit_wheels import newest_wheel_toolkit, toolkit_wheels
from envkit.errors import NotFoundError, UsageError
from envkit.probes.host import current_platform
from envkit.probes.toolkit_version import release_of

_WRITTEN = re.compile(r"(?:v|cuda-?)?(\d{1,4}(?:\.\d{1,9}){1,2})", re.ASCII | re.IGNORECASE)


def asked_version(text: str) -> str | None:
    """The version in ``text``, "13.2" of ``13.2``, ``v13.2`` and ``cuda-13.2``; None where it is none."""
    found = _WRITTEN.fullmatch(text)
    return found and found[1]


def released(asked: str) -> tuple[str, str]:
    """Release and full version that a user means, the newest one of a release: ("11.3", "11.3.1").

    Raises:
        UsageError: it is no version.
        NotFoundError: NVIDIA has released no such toolkit, as far as the tables know.
    """
    version = asked_version(asked)
    if version is None:
        raise UsageError(f"{asked!r} is no version of CUDA.", hint=written_as(asked))
    missing = not_released(version)
    if missing is not None:
        raise missing
    release = release_of(version)
    return release, versions_of(release)[-1] if version == release else version


def not_released(version: str) -> NotFoundError | None:
    """The error for a version that NVIDIA has not released, or None."""
    release = release_of(version)
    versions = versions_of(release)
    if release in releases():
        if version in (release, *versions):
            return None
        why = f"Known of {release} are {', '.join(versions)}."
        return NotFoundError(f"There is no CUDA toolkit {version}.", why=why, hint=f"All: {archive_url()}")
    newest, oldest = releases()[0], releases()[-1]
    shown = "The version that nvidia-smi shows is the driver's, not that of a toolkit."
    if version_key(release) < version_key(oldest):
        why = f"The tables begin with CUDA {oldest}; {release} is older."
        return NotFoundError(f"envkit knows no CUDA toolkit {release}.", why=why, hint=f"All releases: {archive_url()}")
    if version_key(release) > version_key(newest):
        why = f"The newest that envkit knows is {newest}. {shown}"
    else:
        below = next(item for item in releases() if version_key(item) < version_key(release))
        above = next(item for item in reversed(releases()) if version_key(item) > version_key(release))
        why = f"Near it are {below} and {above}. {shown}"
    return NotFoundError(f"There is no CUDA toolkit {release}.", why=why, hint=f"All releases: {archive_url()}")


def is_installable(version: str) -> bool:
    """Whether ``envkit cuda install`` has that release or full version for this system."""
    wheels, platform = newest_wheel_toolkit(version), current_platform()
    if wheels is not None and toolkit_wheels(wheels, platform) is not None:
        return True
    return newest_channel_toolkit(version) is not None and platform.startswith("linux-")


def ways_to_get(version: str, folder: str = "its folder") -> str:
    """What somebody may do who has no toolkit of that version.

    Args:
        version: a release or a full version; for one that the tables do not know only a folder is left.
        folder: how another one is named, as in ``--toolkit DIR``.
    """
    way = f"`envkit cuda plan {version}` prints the commands that install it. "
    if not_released(version) is not None:
        way = ""
    elif is_installable(version):
        way = f"`envkit cuda install {version}` installs it without root. "
    return f"{way}Where it lies elsewhere, give {folder}."


def written_as(asked: str) -> str:
    """How a version is written; for a major version alone, which releases it has."""
    found = [release for release in reversed(releases()) if release.split(".")[0] == asked.lower().removeprefix("v")]
    return f"A release has two numbers: {', '.join(found)}." if found else "Give a release such as 11.3, or 11.3.1."
