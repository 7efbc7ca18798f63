"""What somebody wants of torch, and what is said where there is no such build."""

from __future__ import annotations

import pytest

from envkit.errors import UsageError
from envkit.operations.wanted_build import WantedBuild, near_ones, no_such_build, wanted_build

ALL = "9.2, 10.1, 10.2, 11.0, 11.1, 11.3, 11.5, 11.6, 11.7, 11.8, 12.1, 12.4, 12.6, 12.8, 12.9, 13.0, 13.2 and 13.4"


@pytest.mark.parametrize(
    ("torch", "cuda", "python", "wanted"),
    [
        ("1.12.1+cu113", None, None, WantedBuild("1.12.1", "11.3")),
        ("1.12", "11.3.1", "3.9.18", WantedBuild("1.12", "11.3", "3.9")),
        ("2", "cu130", None, WantedBuild("2", "13.0")),
        ("1.12.*", "CPU", None, WantedBuild("1.12", "cpu")),
        (None, "cu92", "3.10", WantedBuild(None, "9.2", "3.10")),
        ("1.12.1+cu113", "11.3", None, WantedBuild("1.12.1", "11.3")),
        ("2.11.0+cpu", None, None, WantedBuild("2.11.0", "cpu")),
    ],
)
def test_what_is_written_is_read(torch, cuda, python, wanted):
    assert wanted_build(torch, cuda, python) == wanted


@pytest.mark.parametrize(
    ("torch", "cuda", "python"),
    [
        ("", None, None),
        ("newest", None, None),
        ("1.12.1.0", None, None),
        ("1.12.1+rocm5", None, None),
        (None, "11", None),
        (None, "cu1", None),
        (None, None, "py39"),
        (None, None, "3"),
        ("1.12.1+cu113", "11.6", None),
        ("\u0661.12", None, None),
    ],
)
def test_what_is_no_version_is_a_usage_error(torch, cuda, python):
    with pytest.raises(UsageError):
        wanted_build(torch, cuda, python)


def test_first_numbers_are_not_first_letters():
    assert near_ones("12.7", ["cpu", "12.6", "12.8", "13.0", "9.2"]) == ["12.6", "12.8"]
    assert str(no_such_build(WantedBuild("1.1"))).startswith("There is no torch 1.1.")


@pytest.mark.parametrize(
    ("wanted", "message", "why", "hint"),
    [
        (
            WantedBuild("1.12", "12.1"),
            "There is no torch 1.12 for CUDA 12.1.",
            "torch 1.12.1 was built for CUDA 10.2, 11.3 and 11.6, and for the CPU.",
            "Built for CUDA 12.1: 2.1.0 to 2.5.1. Nearest for torch 1.12.1: CUDA 11.6 (torch112-cu116).",
        ),
        (
            WantedBuild("9.9"),
            "There is no torch 9.9.",
            "The tables have torch 1.7.0 to 2.15.0.",
            "Near: 2.15.0.",
        ),
        (
            WantedBuild(cuda="12.7"),
            "No torch was built for CUDA 12.7.",
            f"There are builds for CUDA {ALL}, and for the CPU.",
            "Near: 12.6 and 12.8.",
        ),
        (
            WantedBuild("1.12", None, "3.11"),
            "There is no torch 1.12 with Python 3.11.",
            "torch 1.12.1 has files for Python 3.7 to 3.10.",
            "Python 3.11: 1.13.0 to 2.15.0.",
        ),
        (
            WantedBuild(None, "10.2", "3.11"),
            "There is no torch for CUDA 10.2 with Python 3.11.",
            "torch 1.12.1 has files for Python 3.7 to 3.10.",
            "Built for CUDA 10.2: 1.7.0 to 1.12.1. Python 3.11: 1.13.0 to 2.15.0.",
        ),
        (
            WantedBuild(python="3.16"),
            "There is no torch for Python 3.16.",
            "The tables have files for Python 3.6 to 3.15.",
            None,
        ),
    ],
    ids=["build", "torch", "cuda", "python", "cuda and python", "no python"],
)
def test_why_there_is_no_such_build(wanted, message, why, hint):
    error = no_such_build(wanted)
    assert (error.message, error.why, error.hint) == (message, why, hint)


def test_a_release_that_a_platform_has_not():
    error = no_such_build(WantedBuild("1.9.1", "11.1"), ["linux-aarch64"])
    assert error.message == "No torch was built for CUDA 11.1."
    error = no_such_build(WantedBuild("1.9.1"), ["linux-aarch64"])
    assert error.why == "torch 1.9.1 was not published for linux-aarch64."
