"""The text of a ``conda-lock.yml``, version 1.

Source: https://github.com/conda/conda-lock, conda_lock/lockfile/v1/models.py.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from envkit import __version__
from envkit.model.formats.addresses import public_address
from envkit.model.formats.condalock import PYTHON_KEY, SOURCES_KEY, VERSION
from envkit.model.formats.environment_text import channels_of
from envkit.model.formats.text import block

if TYPE_CHECKING:
    from collections.abc import Mapping

    from envkit.model.conda_record import CondaRecord
    from envkit.model.lock import Lock
    from envkit.model.locked import LockedPackage


def conda_lock_text(lock: Lock, platform: str, urls: Mapping[str, str]) -> str:
    """The text for one platform.

    Args:
        lock: what is locked; each conda record has an MD5 sum, without which conda-lock reads nothing.
        platform: of it.
        urls: the address of each pip package's file.
    """
    locked = lock.platforms[platform]
    custom = {"created_by": f"envkit {__version__}"}
    if locked.packages:
        sources = {item.name: item.source for item in locked.packages if item.source}
        custom |= {PYTHON_KEY: lock.python, SOURCES_KEY: json.dumps(sources, sort_keys=True)}
    return block(
        {
            "version": VERSION,
            "metadata": {
                "content_hash": {platform: lock.digest(platform)},
                "channels": [
                    {"url": channel, "used_env_vars": []} for channel in channels_of(locked.base, lock.channels)
                ],
                "platforms": [platform],
                "sources": [],
                "custom_metadata": custom,
            },
            "package": [
                *(_conda(item, platform) for item in sorted(locked.base, key=lambda item: item.name)),
                *(_pip(item, platform, urls) for item in sorted(locked.packages, key=lambda item: item.name)),
            ],
        }
    )


def _conda(record: CondaRecord, platform: str) -> dict[str, Any]:
    needs: dict[str, str] = {}
    for text in record.depends:
        name, _, rest = text.partition(" ")
        needs[name] = ",".join(filter(None, [needs.get(name, ""), rest.strip()]))
    return {
        "name": record.name,
        "version": record.version,
        "manager": "conda",
        "platform": platform,
        "dependencies": needs,
        "url": public_address(record),
        "hash": {key: value for key, value in (("md5", record.md5), ("sha256", record.sha256)) if value},
        "category": "main",
        "optional": False,
    }


def _pip(package: LockedPackage, platform: str, urls: Mapping[str, str]) -> dict[str, Any]:
    return {
        "name": package.name,
        "version": package.version,
        "manager": "pip",
        "platform": platform,
        "dependencies": {},
        "url": urls[package.name],
        "hash": {"sha256": package.sha256} if package.sha256 else {},
        "category": "main",
        "optional": False,
    }
