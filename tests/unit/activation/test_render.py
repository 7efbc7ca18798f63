from __future__ import annotations

import pytest

from envkit.activation.quoting import quote_posix
from envkit.activation.render import render


def fill(template, **changes):
    arguments = {
        "identifiers": {"SLOT": "VENV"},
        "values": {"A": ("x y",), "LIST": ("a", "it's")},
        "quote": quote_posix,
    }
    return render(template, **{**arguments, **changes})


def test_identifiers_are_bare_and_values_quoted():
    assert fill(b"_X_@SLOT@_Y=@A@\nfor w in @LIST@; do") == b"_X_VENV_Y='x y'\nfor w in 'a' 'it'\\''s'; do"


def test_a_value_that_looks_like_a_placeholder_stays():
    assert fill(b"@A@ @SLOT@", values={"A": ("@SLOT@",)}) == b"'@SLOT@' VENV"


def test_bytes_that_are_no_utf8_survive():
    assert fill(b"@A@", values={"A": ("\udcff",)}) == b"'\xff'"


def test_an_unknown_placeholder_is_a_bug():
    with pytest.raises(ValueError, match="@NOBODY@"):
        fill(b"@NOBODY@")


def test_an_identifier_is_checked():
    with pytest.raises(ValueError, match="no identifier"):
        fill(b"@SLOT@", identifiers={"SLOT": "x; rm"})
