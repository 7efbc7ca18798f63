"""How things are written."""

from __future__ import annotations

import pytest

from envkit.model.texts import size_text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (None, "unknown size"),
        (0, "0 B"),
        (999, "999 B"),
        (22961, "23 kB"),
        (191794682, "192 MB"),
        (1837736693, "1.8 GB"),
    ],
)
def test_size_text(size, text):
    assert size_text(size) == text
