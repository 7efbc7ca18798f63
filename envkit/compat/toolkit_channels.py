"""Which packages of which conda channels make which CUDA toolkit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from envkit import resources
from envkit.compat.tables import version_key
from envkit.model.toolkit import means


@dataclass(frozen=True, slots=True)
class ChannelToolkit:
    """What is asked for a toolkit.

    Attributes:
        version: in full.
        channels: the most important first.
        specs: MatchSpecs.
    """

    version: str
    channels: tuple[str, ...]
    specs: tuple[str, ...]


def _families() -> list[dict[str, Any]]:
    families: list[dict[str, Any]] = resources.table("toolkit_channels")["families"]
    return families


def channel_toolkits() -> tuple[str, ...]:
    """The full versions of all toolkits that channels have, newest first."""
    versions = (version for family in _families() for version in family["toolkits"])
    return tuple(sorted(versions, key=version_key, reverse=True))


def channel_libraries() -> tuple[str, ...]:
    """What can be had beside the compiler, in the words that ``wheel_libraries`` has as well."""
    return tuple(sorted({name for family in _families() for name in family["libraries"]}))


def newest_channel_toolkit(asked: str) -> str | None:
    """The newest toolkit that ``asked`` means, a release or a full version; None where there is none."""
    return next((item for item in channel_toolkits() if means(asked, item)), None)


def channel_toolkit(version: str, libraries: tuple[str, ...] = ()) -> ChannelToolkit:
    """What is asked for the toolkit of a full version, one of ``channel_toolkits``.

    Args:
        version: of the toolkit.
        libraries: of ``channel_libraries``.
    """
    family = next(family for family in _families() if version in family["toolkits"])
    words = {"version": version, "release": ".".join(version.split(".")[:2])}
    names = [*family["compiler"], *(name for library in libraries for name in family["libraries"].get(library, ()))]
    return ChannelToolkit(
        version,
        tuple(text.format(**words) for text in family["channels"]),
        tuple(text.format(**words) for text in names),
    )
