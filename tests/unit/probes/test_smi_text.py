"""What `parse_smi` makes of outputs that people have posted: tests/data/nvidia-smi-corpus has them and their origin."""

from __future__ import annotations

from envkit.probes.smi_text import parse_smi
from tests.support.smi import ENTRIES, MORE, facts, stated, text_of


def test_parse_smi_of_the_corpus():
    assert len(ENTRIES) == 59
    for entry in ENTRIES:
        report = parse_smi(text_of(entry))
        assert facts(report) == stated(entry), entry["file"]
        assert report.library_version == entry.get("nvml_library_version"), entry["file"]


def test_parse_smi_of_more_public_outputs():
    assert len(MORE) > 40
    for entry in MORE:
        assert facts(parse_smi(text_of(entry))) == stated(entry), entry["name"]
