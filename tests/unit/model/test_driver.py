from __future__ import annotations

import pytest

from envkit.model.driver import DriverVersion, Gpu, SmiReport


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("418.87.01", "450.80.02"),
        ("465.19.01", "470.82"),
        ("440.33.01", "440.100"),
        ("450.80", "450.80.02"),
        ("9.0", "10.0"),
    ],
)
def test_driver_versions_are_compared_part_by_part(older, newer):
    assert DriverVersion.parse(older) < DriverVersion.parse(newer)
    assert DriverVersion.parse(newer) > DriverVersion.parse(older)
    assert DriverVersion.parse(newer) >= DriverVersion.parse(newer)


def test_driver_versions_that_differ_in_zeros_are_one_and_keep_their_text():
    short, long = DriverVersion.parse("470.82"), DriverVersion.parse(" 470.82.00\n")
    assert short == long
    assert hash(short) == hash(long)
    assert not short < long
    assert (str(short), str(long)) == ("470.82", "470.82.00")


@pytest.mark.parametrize("text", ["", "N/A", "[N/A]", "580.xx.xx", "450", "450.", "450.80.02-1", "1.2.3.4.5", "٤٥٠.٨٠"])
def test_driver_version_of_something_else_is_an_error(text):
    with pytest.raises(ValueError, match="not a driver version"):
        DriverVersion.parse(text)


def test_gpu_to_json_keeps_unknown_facts_as_null():
    assert Gpu(1, "Orin (nvgpu)").to_json() == {
        "index": 1,
        "name": "Orin (nvgpu)",
        "name_truncated": False,
        "memory_total_mib": None,
        "memory_used_mib": None,
        "mig": None,
        "compute_capability": None,
    }


@pytest.mark.parametrize(
    ("report", "text"),
    [
        (SmiReport("ok", banner="| the banner |\n", exit_status=0), "| the banner |\n"),
        (
            SmiReport("error", "nvml-driver-library-mismatch", "Failed", banner="Failed: mismatch", exit_status=18),
            "Failed: mismatch\n[nvidia-smi gave no data: nvml-driver-library-mismatch, exit status 18]\n",
        ),
        (
            SmiReport("error", "command-not-found", "nvidia-smi was not found"),
            "nvidia-smi was not found\n[nvidia-smi gave no data: command-not-found]\n",
        ),
    ],
    ids=["ok", "mismatch", "not found"],
)
def test_a_record_of_a_failure_has_its_text_and_its_status(report, text):
    """EK-C22: a snapshot records the failure."""
    assert report.as_text == text
