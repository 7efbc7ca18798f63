"""The only place that knows where shipped files lie, in a checkout and in an installed wheel alike."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parent


def _shipped(name: str) -> Path:
    installed = _PACKAGE / "_data" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


def hooks_dir(concern: str) -> Path:
    """The folder with one hook file per shell and direction: ``hooks_dir("cuda") / "activate.sh"``."""
    return _shipped("hooks") / concern


def lockfiles_dir() -> Path:
    """The folder with the specs (``NAME.yaml``) and locks (``NAME.lock.yaml``) that ship."""
    return _shipped("lockfiles")


def data_file(name: str) -> Path:
    """A table, catalogue or schema of ``envkit/data``."""
    return _PACKAGE / "data" / name


@functools.cache
def table(name: str) -> dict[str, Any]:
    """What ``envkit/data/NAME.yaml`` holds; not to be changed.

    It is read from the JSON that scripts/make_tables.py makes of it, in a hundredth of the time.
    """
    found: dict[str, Any] = json.loads(data_file(f"json/{name}.json").read_bytes())
    return found


def check_env_script() -> Path:
    """The script that runs inside an environment, under its own interpreter."""
    return _PACKAGE / "probes" / "check_env.py"
