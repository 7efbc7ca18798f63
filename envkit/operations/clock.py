"""The time, as envkit writes it."""

from __future__ import annotations

import datetime as dt


def now() -> str:
    """UTC as ``2026-11-30T14:59:01Z``."""
    return dt.datetime.now(dt.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def snapshot_id(taken_at: str) -> str:
    """The id of a snapshot taken at a time that ``now`` gave: ``20261130T145901Z``."""
    return taken_at.replace("-", "").replace(":", "")
