"""Where envkit's own files lie on this machine."""

from __future__ import annotations

import os
from pathlib import Path


def data_home() -> Path:
    """envkit's data folder: ``ENVKIT_HOME``, or platformdirs' user data folder."""
    value = os.environ.get("ENVKIT_HOME")
    if value:
        return Path(os.path.abspath(os.path.expanduser(value)))  # noqa: PTH100,PTH111 - keeps symbolic links
    import platformdirs  # noqa: PLC0415 - not needed where ENVKIT_HOME is set, and start-up counts

    return Path(platformdirs.user_data_dir("envkit", appauthor=False))


def envs_dir() -> Path:
    """The folder of the venv backend's environments."""
    return data_home() / "envs"


def snapshots_dir() -> Path:
    """The folder of all snapshots, one folder per environment."""
    return data_home() / "snapshots"


def locks_dir() -> Path:
    """The folder of lock files (filelock) and of locks that were resolved for specs outside a writable folder."""
    return data_home() / "locks"


def toolkits_dir() -> Path:
    """The folder of the CUDA toolkits that envkit has installed, and of the list of those that were added."""
    return data_home() / "toolkits"


def cache_dir() -> Path:
    """What can be made again: the hashes of files already seen, the wheelhouse of local files."""
    return data_home() / "cache"


def logs_dir() -> Path:
    """Full output of outside programs that failed."""
    return data_home() / "logs"
