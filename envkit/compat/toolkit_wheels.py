"""Which wheels of the default index make which CUDA toolkit."""

from __future__ import annotations

from envkit import resources
from envkit.model.locked import LockedPackage
from envkit.model.toolkit import means

_TABLE = "toolkit_wheels"


def wheel_toolkits() -> tuple[str, ...]:
    """The full versions of all toolkits that wheels make, newest first."""
    return tuple(row["toolkit"] for row in resources.table(_TABLE)["toolkits"])


def wheel_libraries() -> tuple[str, ...]:
    """What can be had beside the compiler, in the words of the metapackage ``cuda-toolkit``."""
    return tuple(resources.table(_TABLE)["libraries"])


def newest_wheel_toolkit(asked: str) -> str | None:
    """The newest toolkit that ``asked`` means, a release or a full version; None where there is none."""
    return next((item for item in wheel_toolkits() if means(asked, item)), None)


def left_out(version: str) -> str | None:
    """Why a toolkit that has wheels is not made from them; None where it is, or has none."""
    return next((str(row["why"]) for row in resources.table(_TABLE)["left_out"] if row["toolkit"] == version), None)


def toolkit_wheels(version: str, platform: str, libraries: tuple[str, ...] = ()) -> tuple[LockedPackage, ...] | None:
    """The wheels of a toolkit, by name; None where there are none of it for the platform.

    Args:
        version: a full version.
        platform: conda's name.
        libraries: of ``wheel_libraries``; those that they need come with them.
    """
    row = next((row for row in resources.table(_TABLE)["toolkits"] if row["toolkit"] == version), None)
    if row is None or platform not in row["platforms"]:
        return None
    files = row["platforms"][platform]
    extras: dict[str, list[str]] = files["extras"]
    names = {name for extra in (*resources.table(_TABLE)["compiler"], *libraries) for name in extras.get(extra, ())}
    return tuple(
        LockedPackage(item["name"], item["version"], item["file"], item["sha256"], item["size"])
        for item in files["packages"]
        if item["name"] in names
    )
