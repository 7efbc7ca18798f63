"""What `parse_smi` makes of outputs that people have posted: tests/data/nvidia-smi-corpus has them, and their origin."""

from __future__ import annotations

from pathlib import Path

import yaml

from envkit.probes.smi_text import parse_smi

DATA = Path(__file__).parents[2] / "data" / "nvidia-smi-corpus"


def _entries(name):
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((DATA / name).read_text(encoding="utf-8"), Loader=loader)["entries"]  # noqa: S506 - a safe one


ENTRIES = _entries("index.yaml")
MORE = _entries("more.yaml")
FIELDS = ("index", "name", "name_truncated", "memory_total_mib", "memory_used_mib", "mig")


def facts(report):
    """The fields of an entry."""
    gpus = [gpu.to_json() for gpu in report.gpus]
    return {
        "status": report.status,
        "error": report.error_kind,
        "driver_version": None if report.driver_version is None else str(report.driver_version),
        "cuda_version": report.cuda_version,
        "gpus": [{name: gpu[name] for name in FIELDS} for gpu in gpus],
    }


def stated(entry):
    gpus = [{"name_truncated": (gpu["name"] or "").endswith("..."), **gpu} for gpu in entry["gpus"]]
    return {
        **{name: entry[name] for name in ("status", "error", "driver_version", "cuda_version")},
        "gpus": [{name: gpu[name] for name in FIELDS} for gpu in gpus],
    }


def text_of(entry):
    return (DATA / entry["file"]).read_bytes().decode("utf-8")


def test_parse_smi_of_the_corpus():
    reports = {entry["file"]: parse_smi(text_of(entry)) for entry in ENTRIES}
    assert len(reports) == 59
    for entry in ENTRIES:
        report = reports[entry["file"]]
        assert facts(report) == stated(entry), entry["file"]
        assert report.library_version == entry.get("nvml_library_version"), entry["file"]


def test_parse_smi_of_more_public_outputs():
    assert len(MORE) > 40
    for entry in MORE:
        assert facts(parse_smi(entry["text"])) == stated(entry), entry["name"]
