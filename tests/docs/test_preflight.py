"""The commands of docs/preflight.md are run, and what it says of checks and exit codes is so."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from envkit.cli.main import cli

PAGE = (Path(__file__).parents[2] / "docs" / "preflight.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(?:sh|console)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = [line.removeprefix("$ ") for block in BLOCKS for line in block.splitlines() if line]
ENDS = (3, 0, 0, 0)


@pytest.mark.parametrize(("line", "code"), list(zip(COMMANDS, ENDS, strict=True)), ids=COMMANDS)
def test_the_commands_of_the_page(line, code):
    words = shlex.split(line)
    assert words[0] == "envkit"
    done = CliRunner().invoke(cli, words[1:], standalone_mode=False)
    assert done.exception is None, done.exc_info
    assert done.return_value == code
    assert click.unstyle(done.stdout).splitlines()[-1].startswith("Verdict: ")


def test_the_ids_of_the_page():
    (table,) = re.findall(r"\| id \| found against needed \|\n\|---\|---\|\n(.*?)\n\n", PAGE, re.DOTALL)
    told = set(re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE))
    sources = Path(__file__).parents[2] / "envkit"
    names = ("compat/fit_checks.py", "compat/release_checks.py", "compat/spec_checks.py", "operations/gpu_checks.py")
    code = "".join((sources / name).read_text(encoding="utf-8") for name in names)
    named = set(re.findall(r'FitCheck\(\s*"([a-z-]+)"', code)) | {"compute-capability", "nvidia-smi"}
    assert told == named
