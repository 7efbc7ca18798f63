"""Fixtures of the robustness tests: a small world, and reports without tracebacks."""

from __future__ import annotations

import pytest

from tests.support.world import make_world


@pytest.fixture
def world(tmp_path):
    """envkit's folders, stub wheels on a loopback index, locks of an old and of a new environment."""
    root = tmp_path / "world"
    root.mkdir()
    with make_world(root, files=300) as made:
        yield made
