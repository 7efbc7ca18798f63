"""Odd facts, of a lock or of a machine, are unknown; they never end in an exception."""

from __future__ import annotations

import pytest

from envkit.compat.fit_checks import check_needs
from envkit.compat.needs import needs_of
from envkit.model.driver import DriverVersion
from envkit.model.fit import Card
from envkit.model.locked import LockedPackage


@pytest.mark.parametrize(
    "needs",
    [
        {"glibc": {}},
        {"glibc": {"minimum": None}},
        {"glibc": {"minimum": "x.y"}},
        {"glibc": {"minimum": "2.17.1"}},
        {"driver": {"known": "5"}},
        {"driver": {"minimum": "newest"}},
        {"driver": {"minimum": "450.1", "toolkit": "x"}},
        {"driver": 5},
        {"compute_capability": {}},
        {"compute_capability": {"list": "8.6"}},
        {"compute_capability": {"list": ["sm_86"]}},
        {"compute_capability": {"list": ["8.6"], "ptx": 9}},
    ],
    ids=str,
)
def test_odd_needs_are_unknown(needs):
    (check,) = check_needs(needs, driver=DriverVersion.parse("535.54.03"), cards=[Card(None, "8.6")], glibc=(2, 31))
    assert (check.status, check.id) == ("unknown", next(iter(needs)).replace("_", "-"))
    assert check.why


def test_odd_gpus_are_unknown():
    needs = {"compute_capability": {"list": ["8.6"], "known": "confirmed"}}
    (check,) = check_needs(needs, driver=None, cards=[Card(None, "[N/A]")], glibc=None)
    assert check.status == "unknown"


@pytest.mark.parametrize("tag", ["manylinux_x_y", "manylinux_2", "manylinux", "manylinux_2_x_x86_64"])
def test_odd_names_of_wheels_say_nothing_about_glibc(tag):
    package = LockedPackage("a", "1", f"a-1-py3-none-{tag}.whl", "ab" * 32)
    assert needs_of([package], None, "linux-64") == {}
