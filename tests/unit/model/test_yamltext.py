from __future__ import annotations

import pytest

from envkit.errors import InvalidFileError
from envkit.model.yamltext import RawNumber, parse_yaml, plain


def test_scalars_keep_numbers_as_written():
    document = parse_yaml(
        'a: 3.10\nb: "3.10"\nc: 3\nd: yes\ne: ~\nf: 2026-11-30\ng: 0o17\nh: 1e3\ni: 011\nj: 1:30\nk: -5\nl: 1_000\n',
        "f",
    )
    assert document.data == {
        "a": RawNumber("3.10"),
        "b": "3.10",
        "c": 3,
        "d": True,
        "e": None,
        "f": "2026-11-30",
        "g": "0o17",
        "h": "1e3",
        "i": 11,
        "j": RawNumber("1:30"),
        "k": -5,
        "l": 1000,
    }
    assert document.written(("a",)) == "3.10"


def test_lines_of_values_and_of_what_is_absent():
    document = parse_yaml("a: 1\nb:\n  - x\n  - {c: 2,\n     d: 3}\n", "f")
    assert [document.line(path) for path in (("a",), ("b", 0), ("b", 1, "d"), ("b", 1, "zz"), ("zz",))] == [
        1,
        3,
        5,
        4,
        1,
    ]
    error = document.error(("b", 1, "d"), "wrong")
    assert (error.message, error.line) == ("f:5: wrong", 5)


def test_empty_text_is_nothing():
    assert parse_yaml("", "f").data is None
    assert parse_yaml("# only a comment\n", "f").data is None


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("a: [1\nb: 2\n", r"f:\d+: broken YAML"),
        ("a: b: c\n", r"f:1: broken YAML"),
        ("a:\n\t- b\n", r"f:\d+: broken YAML"),
        ("a: 1\n---\nb: 2\n", "broken YAML"),
        ("a: \x00\n", "broken YAML"),
        ("a: 1\nb: 2\na: 3\n", r"f:3: the key 'a' is there twice"),
        ("a: {b: 1, b: 2}\n", r"f:1: the key 'b' is there twice"),
        ("? [a, b]\n: 1\n", "a key must be plain text"),
        ("<<: {a: 1}\n", "a key must be plain text"),
        ("a: !!python/object/apply:os.system ['true']\n", "is not allowed"),
        ("a: !!python/name:os.system x\n", "is not allowed"),
        ("a: !!binary aGk=\n", "is not allowed"),
        ("a: &x [*x]\n", "."),
        ("[" * 200 + "]" * 200, "nested too deeply"),
    ],
)
def test_refused(text, match):
    with pytest.raises(InvalidFileError, match=match):
        parse_yaml(text, "f")


def test_tagged_collections_hold_nothing_but_values():
    with pytest.raises(InvalidFileError):
        parse_yaml("a: !!set {b, c}\n", "f")
    with pytest.raises(InvalidFileError):
        parse_yaml("a: !mine [b]\n", "f")


def test_aliases_are_fine_until_they_explode():
    assert parse_yaml("a: &x [1, 2]\nb: *x\n", "f").data == {"a": [1, 2], "b": [1, 2]}
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    with pytest.raises(InvalidFileError, match="beyond measure") as caught:
        parse_yaml("\n".join(lines), "bomb.yaml")
    assert caught.value.line is not None


def test_plain_gives_numbers_as_text():
    assert plain({"a": [RawNumber("3.10"), {"b": RawNumber("1.0")}]}) == {"a": ["3.10", {"b": "1.0"}]}
