"""The text of an ``environment.yml``, as ``conda env export`` writes it, without what belongs to one machine.

Source: https://github.com/conda/conda, conda/plugins/environment_exporters/environment_yml.py.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from envkit.model.formats.text import block

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from envkit.model.conda_record import CondaRecord

_GENERAL = {"conda-forge", "defaults", "main", "anaconda"}
"""Channels of packages of all kinds, by the last part of their names or addresses."""


def environment_text(name: str, channels: Sequence[str], dependencies: Sequence[str], pip: Sequence[str]) -> str:
    """The file's text.

    Args:
        name: of the environment; conda takes it where it is told none.
        channels: the most important first.
        dependencies: MatchSpecs.
        pip: lines of the pip section; none leave it out.
    """
    items: list[str | dict[str, list[str]]] = [*dependencies]
    if pip:
        items.append({"pip": list(pip)})
    return block({"name": name, "channels": list(channels), "dependencies": items})


def exact_specs(records: Iterable[CondaRecord]) -> list[str]:
    """``name=version=build`` of each package, by name."""
    return [f"{item.name}={item.version}={item.build}" for item in sorted(records, key=lambda item: item.name)]


def channels_of(records: Iterable[CondaRecord], stated: Sequence[str] = ()) -> list[str]:
    """The channels of packages: those that a lock states, in its order; then those for certain things, before others.

    A record does not tell in which order the channels were asked. With strict priority the first one that has a package
    of a name gives it, so a channel such as ``pytorch`` was before ``conda-forge``, which has nearly everything.
    """
    counts = Counter(record.channel for record in records if record.channel not in stated)
    return list(stated) + sorted(counts, key=lambda channel: (_is_general(channel), counts[channel], channel))


def _is_general(channel: str) -> bool:
    return channel.rpartition("/")[2] in _GENERAL


def pip_lines(versions: Mapping[str, str], sources: Mapping[str, str]) -> list[str]:
    """The lines of a pip section: indexes, then ``name==version`` by name.

    Args:
        versions: by package.
        sources: index by package, for those that come from one of their own.
    """
    indexes = sorted({sources[name] for name in versions if name in sources})
    return [
        *(f"--extra-index-url {url}" for url in indexes),
        *(f"{name}=={version}" for name, version in sorted(versions.items())),
    ]
