"""What a mismatch of library and kernel module means."""

from __future__ import annotations

import pytest

from envkit.model.driver import SmiReport
from envkit.model.smi_failures import MISMATCH, explained, mismatch


@pytest.mark.parametrize(
    ("module", "library"), [("525.60.13", "535.54.03"), ("535.54.03", "535.104"), ("9.1", "10.0"), ("470", "535.54")]
)
def test_a_newer_library_waits_for_its_module(module, library):
    cause, remedy = mismatch(module, library)
    assert "newer than the kernel module" in cause
    assert f"library {library}, loaded module {module}" in cause
    assert remedy.startswith("Reboot")


@pytest.mark.parametrize(("module", "library"), [("595.45.04", "535.288"), ("535.104.05", "535.54.03")])
def test_no_reboot_makes_an_older_library_newer(module, library):
    cause, remedy = mismatch(module, library)
    assert "older than the kernel module" in cause
    assert "a reboot does not change that" in cause
    assert "eboot" not in remedy
    assert "libraries of the module's version" in remedy


@pytest.mark.parametrize(
    ("module", "library"),
    [(None, "535.288"), ("595.45.04", None), (None, None), ("535.54.03", "535.54"), ("x", "535.54")],
)
def test_without_both_versions_neither_is_said_to_be_older(module, library):
    cause, remedy = mismatch(module, library)
    assert "older" not in cause
    assert "newer" not in cause
    assert remedy.startswith("Reboot")
    assert "Where the library is the older one" in remedy


def test_a_report_is_explained_by_its_versions():
    report = SmiReport("error", MISMATCH, library_version="535.288", module_version="595.45.04")
    assert explained(report) == mismatch("595.45.04", "535.288")
