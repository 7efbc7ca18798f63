"""Requirements on a command line."""

from __future__ import annotations

import pytest

from envkit.errors import UsageError
from envkit.model.requirements import parse_requirement


@pytest.mark.parametrize(
    "text", ["scipy", "scipy>=1.10,<2", "tqdm[notebook]", "a ; python_version >= '3.8'", "ruamel.yaml", "x==1.0+cu113"]
)
def test_names_with_versions_and_extras(text):
    assert parse_requirement(text).url is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-e .",
        "--index-url=http://x",
        "-r requirements.txt",
        "requirements.txt",
        ".",
        "./x",
        "x.whl",
        "x-1.0.tar.gz",
        "C:\\x",
        "git+https://x/y",
        "x @ file:///x",
        "x\n--index-url http://x",
        "x\r>=1",
        "x\t\x00",
        "a b",
    ],
)
def test_everything_else_is_refused(text):
    with pytest.raises(UsageError) as caught:
        parse_requirement(text)
    assert caught.value.hint
