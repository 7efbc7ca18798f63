"""The text of a ``pixi.lock``, version 7.

Source: https://github.com/conda/rattler, crates/rattler_lock/src/parse/models/v7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from envkit.model.formats.addresses import public_address, public_channel
from envkit.model.formats.environment_text import channels_of
from envkit.model.formats.text import block

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from envkit.model.conda_record import CondaRecord
    from envkit.model.lock import Lock
    from envkit.model.locked import LockedPackage

_VERSION = 7


def pixi_lock_text(lock: Lock, platform: str, urls: Mapping[str, str]) -> str:
    """The text for one platform, with one environment, ``default``.

    Args:
        lock: what is locked.
        platform: of it.
        urls: the address of each pip package's file.
    """
    locked = lock.platforms[platform]
    conda = sorted(locked.base, key=public_address)
    pip = sorted(locked.packages, key=lambda item: urls[item.name])
    environment: dict[str, Any] = {
        "channels": [{"url": f"{public_channel(channel)}/"} for channel in channels_of(conda, lock.channels)],
    }
    indexes = sorted({item.source for item in pip if item.source})
    if indexes:
        environment["indexes"] = indexes
    environment["packages"] = {
        platform: [*({"conda": public_address(item)} for item in conda), *({"pypi": urls[item.name]} for item in pip)]
    }
    virtual = list(_virtual_packages(lock, platform))
    return block(
        {
            "version": _VERSION,
            "platforms": [{"name": platform, **({"virtual-packages": virtual} if virtual else {})}],
            "environments": {"default": environment},
            "packages": [*(_conda(item) for item in conda), *(_pypi(item, urls[item.name]) for item in pip)],
        }
    )


def _virtual_packages(lock: Lock, platform: str) -> Iterable[str]:
    """What the packages ask of a machine in conda's words; the only place that any of these formats has for it."""
    if lock.cuda is not None:
        yield f"__cuda={lock.cuda}"
    glibc = lock.platforms[platform].needs.get("glibc", {}).get("minimum")
    if isinstance(glibc, str):
        yield f"__glibc={glibc}"


def _conda(record: CondaRecord) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "conda": public_address(record),
        "name": record.name,
        "version": record.version,
        "build": record.build,
        "build_number": record.build_number,
        "subdir": record.subdir,
        "noarch": record.noarch,
        "sha256": record.sha256 or None,
        "md5": record.md5,
        "depends": list(record.depends) or None,
        "constrains": list(record.constrains) or None,
        "track_features": list(record.track_features) or None,
        "license": record.license,
        "size": record.size,
        "timestamp": record.timestamp,
        "python_site_packages_path": record.python_site_packages_path,
    }
    return {key: value for key, value in entry.items() if value is not None}


def _pypi(package: LockedPackage, url: str) -> dict[str, Any]:
    entry = {
        "pypi": url,
        "name": package.name,
        "version": package.version,
        "sha256": package.sha256,
        "index": package.source,
    }
    return {key: value for key, value in entry.items() if value is not None}
