"""The wheels of a toolkit, fetched and unpacked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from envkit.installers import pip
from envkit.installers.files import local_files
from envkit.installers.indexes import find_local_wheel_dirs, for_uv, read_pip_config

if TYPE_CHECKING:
    from collections.abc import Sequence

    from envkit.model.locked import LockedPackage
    from envkit.model.progress import Progress


def unpack_wheels(
    packages: Sequence[LockedPackage], site: Path, *, offline: bool, wheelhouse: Path | None, progress: Progress
) -> None:
    """Put the content of ``packages`` into the new folder ``site``, by uv, each checked by its hash.

    They come from ``wheelhouse``, the user's find-links folders, uv's cache, or the default index.

    Raises:
        DownloadError: a file could not be had, or is not the locked one.
        ProgramError: uv failed otherwise.
    """
    config = read_pip_config()
    pip.install(
        Path(sys.executable),
        packages,
        local_files(packages, find_local_wheel_dirs(for_uv(config), wheelhouse), wheelhouse=wheelhouse),
        python_version=".".join(map(str, sys.version_info[:3])),
        engine="uv",
        config=config,
        offline=offline,
        progress=progress,
        target=site,
    )
