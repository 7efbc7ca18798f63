"""The commands of docs/preflight.md are run, and what it says of checks and exit codes is so."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from envkit.cli.main import cli
from envkit.probes.host import current_platform

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "preflight.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = [line for block in BLOCKS for line in block.splitlines() if line]


def run(line):
    words = shlex.split(line)
    assert words[0] == "envkit"
    done = CliRunner().invoke(cli, words[1:], standalone_mode=False)
    assert done.exception is None, done.exc_info
    return done


@pytest.mark.parametrize("line", COMMANDS)
def test_the_commands_of_the_page(line):
    done = run(line)
    assert done.return_value == 0
    assert click.unstyle(done.stdout).splitlines()[-1].startswith("Verdict: ")


@pytest.mark.parametrize("page", ["docs/preflight.md", "README.md", "README.zh-CN.md"])
def test_the_output_that_is_shown_is_what_is_printed(page):
    if current_platform() != "linux-64":
        pytest.skip("the example is judged for this platform, and shown for linux-64")
    text = (ROOT / page).read_text(encoding="utf-8")
    (line, shown) = re.search(
        r"^```console\n\$ (envkit preflight .*?)\n(.*?)^```", text, re.DOTALL | re.MULTILINE
    ).groups()
    done = run(line)
    assert done.return_value == 3
    assert click.unstyle(done.stdout) == shown


def test_the_ids_of_the_page():
    (table,) = re.findall(r"\| id \| found against needed \|\n\|---\|---\|\n(.*?)\n\n", PAGE, re.DOTALL)
    told = set(re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE))
    sources = Path(__file__).parents[2] / "envkit"
    names = ("compat/fit_checks.py", "compat/release_checks.py", "compat/spec_checks.py", "operations/gpu_checks.py")
    code = "".join((sources / name).read_text(encoding="utf-8") for name in names)
    named = set(re.findall(r'FitCheck\(\s*"([a-z-]+)"', code)) | {"compute-capability", "nvidia-smi"}
    assert told == named
