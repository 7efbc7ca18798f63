"""The commands of docs/formats.md are run as they stand there, and its table of losses is what the command says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from envkit.operations.export import FORMATS
from tests.docs.test_readme import blocks
from tests.integration.conftest import conda_channels, conda_home  # noqa: F401 - fixtures
from tests.integration.test_conda_create import CPU, explicit

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text(encoding="utf-8")


@pytest.fixture
def environment(envkit, conda_home, conda_channels, tmp_path):  # noqa: F811 - fixtures
    conda_home.condarc(channel_alias=conda_channels.alias)
    spec = tmp_path / "c.yaml"
    spec.write_text(
        "{schema: 1, name: c, python: '3.11', installer: conda, cuda: cpu, channels: [pytorch, conda-forge],"
        " packages: [pytorch=1.12.1, cpuonly], platforms: [linux-64]}"
    )
    assert envkit("create", spec, "--no-verify").code == 0
    return conda_home.envs / CPU


@pytest.mark.slow
def test_the_commands_do_what_the_page_says(envkit, environment):
    (block,) = blocks(PAGE, "sh")
    names = []
    for line in block.splitlines():
        program, *words = shlex.split(line)
        assert program == "envkit"
        assert CPU in words or "--name" in words
        done = envkit(*words)
        assert done.code == 0, f"{line}\n{done.out}{done.err}"
        names += words[words.index("--name") + 1 :] if "--name" in words else []
    assert len(names) == 4
    for name in names:
        assert explicit(environment.parent / name) == explicit(environment)


def test_the_page_tells_of_every_format():
    heads = re.findall(r"^\| \| (.+) \|$", PAGE, re.MULTILINE)
    assert [re.findall(r"`([^`]+)`", head) for head in heads] == [list(FORMATS)]
    rows = re.findall(r"^\| `([^`]+)` \| [^|]+ \| [^|]+ \| [^|]+ \|$", PAGE, re.MULTILINE)
    assert rows == list(FORMATS)
