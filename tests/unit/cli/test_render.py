from __future__ import annotations

import pytest

from envkit.cli.colours import paint
from envkit.cli.render import table, words_of


def test_table_columns_are_as_wide_as_their_widest_cell():
    assert table(("A", "LONG"), [("xyz", "1"), ("x", "")]) == ["A    LONG", "xyz  1", "x"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["create", "x", "--json"], "create"),
        (["--json", "snapshot", "take", "env"], "snapshot take"),
        (["snapshot", "nonsense"], "snapshot"),
        (["nonsense"], ""),
        ([], ""),
    ],
)
def test_words_of(arguments, words):
    assert words_of(arguments) == words


def test_paint_obeys_no_color(monkeypatch):
    assert paint("x", "red") == "\x1b[31mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert paint("x", "red") == "x"
