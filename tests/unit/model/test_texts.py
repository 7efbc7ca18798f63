"""How things are written, and what cannot be."""

from __future__ import annotations

import pytest

from envkit.errors import ExitCode, UsageError
from envkit.model.texts import check_path, size_text


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


@pytest.mark.parametrize(
    ("path", "word"),
    [("/a:b", "PATH separator"), ("/a\nb", "line break"), ("/a\rb", "line break"), ("/a\0b", "NUL")],
    ids=["separator", "newline", "return", "nul"],
)
def test_a_name_that_no_search_path_can_hold_is_refused(path, word):
    with pytest.raises(UsageError) as caught:
        check_path(path, separator=":")
    assert word in caught.value.message
    assert repr(path) in caught.value.message
    assert caught.value.why
    assert caught.value.hint
    assert caught.value.exit_code is ExitCode.USAGE


def test_a_name_that_is_no_text_is_refused():
    with pytest.raises(UsageError, match=r"'/t/\\udcffk': its name is not UTF-8"):
        check_path("/t/\udcffk")


def test_a_fine_path_is_given_back():
    assert check_path("/opt/my tools/it's (x86)") == "/opt/my tools/it's (x86)"
