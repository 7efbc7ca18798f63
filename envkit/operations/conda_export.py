"""What a conda environment's snapshot holds for conda's own commands, whether or not there is a conda."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from envkit.installers.conda_meta import installed_records, is_conda_prefix
from envkit.installers.condarc import read_conda_settings
from envkit.installers.installed import pip_packages
from envkit.model.formats.environment_text import channels_of, environment_text, exact_specs, pip_lines
from envkit.model.formats.explicit import explicit_text

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.conda_record import CondaRecord
    from envkit.model.environment import Environment
    from envkit.model.lock import Lock


def conda_texts(environment: Environment, lock: Lock, platform: str) -> dict[str, str]:
    """``environment.yml`` and ``conda-explicit.txt`` of what is installed; nothing for a venv.

    The first is what ``conda env export`` writes, without its line ``prefix`` and with indexes for pip; the
    second what ``conda list --explicit --sha256`` writes. Channels go by the address that everybody can use.

    Raises:
        InvalidFileError: a record in ``conda-meta`` is damaged.
    """
    prefix = environment.prefix
    if not is_conda_prefix(prefix):
        return {}
    records = _records(prefix, lock, platform)
    folders = {item.name for item in lock.additions.editables}
    versions = {name: version for name, version in pip_packages(prefix).items() if name not in folders}
    sources = {item.name: item.source for item in lock.platforms[platform].packages if item.source}
    lines = pip_lines(versions, sources)
    channels = channels_of(records, lock.channels)
    return {
        "environment.yml": environment_text(environment.name, channels, exact_specs(records), lines),
        "conda-explicit.txt": explicit_text(records, platform),
    }


def _records(prefix: Path, lock: Lock, platform: str) -> list[CondaRecord]:
    """What is installed; the channel of a package goes by the lock's name for it, where it is the locked one."""
    named = {(item.subdir, item.file): item.channel for item in lock.platforms[platform].base}
    found = installed_records(prefix, channel_alias=read_conda_settings().channel_alias)
    return [replace(item, channel=named.get((item.subdir, item.file), item.channel)) for item in found]
