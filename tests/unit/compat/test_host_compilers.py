from __future__ import annotations

import pytest

from envkit.compat import host_compilers
from envkit.compat.host_compilers import newest_gcc


@pytest.mark.parametrize(
    ("release", "newest"), [("9.2", 7), ("11.3", 10), ("11.8", 11), ("13.0", 15), ("13.5", 16), ("12.7", None)]
)
def test_newest_gcc_of_a_release(release, newest):
    assert newest_gcc(release) == newest


@pytest.mark.parametrize(
    ("row", "newest"),
    [
        ({"gcc_max": 10, "gcc_status": "single"}, 10),
        ({"gcc_max": 10, "gcc_status": "unconfirmed"}, None),
        ({"gcc_max": 10}, None),
        ({}, None),
    ],
)
def test_what_is_not_well_known_switches_nothing(row, newest, monkeypatch):
    monkeypatch.setattr(host_compilers, "toolkit_row", lambda release: {"host_compilers": row})
    assert newest_gcc("11.3") == newest
