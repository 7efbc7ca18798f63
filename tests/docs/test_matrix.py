"""The commands of docs/matrix.md are run as they stand there."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from envkit.cli.main import cli
from envkit.errors import EnvkitError
from tests.docs.test_readme import blocks

PAGE = (Path(__file__).parents[2] / "docs" / "matrix.md").read_text(encoding="utf-8")
COMMANDS = [line for block in blocks(PAGE, "sh") for line in block.splitlines()]


@pytest.mark.parametrize("line", [line for line in COMMANDS if " create " not in line])
def test_the_commands_do_what_the_page_says(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program, *words = shlex.split(line)
    assert program == "envkit"
    done = CliRunner().invoke(cli, words, catch_exceptions=False)
    assert done.exit_code == 0
    assert "1.12" in done.output or (tmp_path / "matrix.html").is_file()


def test_the_combination_that_does_not_exist_says_what_does():
    words = ["matrix", "--torch", "1.12", "--cuda", "12.1"]
    assert f"envkit {' '.join(words)}" in PAGE
    with pytest.raises(EnvkitError) as caught:
        CliRunner().invoke(cli, words, catch_exceptions=False)
    assert "11.3" in str(caught.value.why)
    assert caught.value.exit_code == 9


def test_the_creation_by_version_takes_the_spec(envkit):
    (line,) = [line for line in COMMANDS if " create " in line]
    done = envkit(*shlex.split(line)[1:])
    assert "Taking the spec torch112-cu113:" in done.err
    assert done.code in {0, 3, 5}  # no Python 3.9 here, or a hash that is not known and no network
