"""Outputs of nvidia-smi from tests/data/nvidia-smi-corpus, and what `parse_smi` tells in the words of its index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from envkit.model.driver import SmiReport

DATA = Path(__file__).parents[1] / "data" / "nvidia-smi-corpus"
FIELDS = ("index", "name", "name_truncated", "memory_total_mib", "memory_used_mib", "mig")


def _entries(name: str) -> list[dict[str, Any]]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    content: dict[str, Any] = yaml.load((DATA / name).read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 - safe
    entries: list[dict[str, Any]] = content["entries"]
    return entries


ENTRIES = _entries("index.yaml")
MORE = _entries("more.yaml")


def text_of(entry: dict[str, Any]) -> str:
    """The text of an entry, with its own line ends."""
    return str(entry["text"]) if "text" in entry else (DATA / entry["file"]).read_bytes().decode("utf-8")


def facts(report: SmiReport) -> dict[str, Any]:
    """What was read, by the fields of an entry."""
    gpus = [gpu.to_json() for gpu in report.gpus]
    return {
        "status": report.status,
        "error": report.error_kind,
        "driver_version": None if report.driver_version is None else str(report.driver_version),
        "cuda_version": report.cuda_version,
        "gpus": [{name: gpu[name] for name in FIELDS} for gpu in gpus],
    }


def stated(entry: dict[str, Any]) -> dict[str, Any]:
    """What the text of an entry states."""
    gpus = [{"name_truncated": (gpu["name"] or "").endswith("..."), **gpu} for gpu in entry["gpus"]]
    return {
        **{name: entry[name] for name in ("status", "error", "driver_version", "cuda_version")},
        "gpus": [{name: gpu[name] for name in FIELDS} for gpu in gpus],
    }
