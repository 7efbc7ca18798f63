"""Builds on conda's channels."""

from __future__ import annotations

import pytest

from envkit.compat.conda_builds import conda_builds
from envkit.compat.releases import release_of


@pytest.mark.parametrize(
    ("torch", "platform", "builds"),
    [
        ("1.12.1", "linux-64", ["10.2", "11.3", "11.6"]),
        ("1.12.1", "win-64", ["11.3", "11.6"]),
        ("2.5.1", "linux-64", ["11.8", "12.1", "12.4"]),
        ("2.6.0", "linux-64", []),
        ("1.12.1", "linux-aarch64", []),
        ("1.12.1", "osx-arm64", []),
    ],
)
def test_builds_of_a_platform(torch, platform, builds):
    release = release_of(torch)
    assert release is not None
    found = conda_builds(release, platform)
    assert [build.cuda for build in found] == builds
    assert all(build.label == f"cu{(build.cuda or '').replace('.', '')}" for build in found)
