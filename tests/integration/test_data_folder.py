"""Commands where envkit's data folder cannot be made: ``/proc`` answers as if only the folder above were missing."""

from __future__ import annotations

import sys

import pytest

from tests.support.toolkit_folders import make_toolkit

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")


@pytest.mark.parametrize(
    "arguments",
    [
        ("cuda", "install", "13.2"),
        ("cuda", "add", "{toolkit}"),
        ("cuda", "use", "{toolkit}", "--shell", "tcsh"),
        ("cuda", "cudnn", "--undo", "--into", "{toolkit}"),
        ("hooks", "install", "{venv}", "--toolkit", "{toolkit}"),
    ],
    ids=lambda words: words[1],
)
def test_a_data_folder_that_cannot_be_made_is_12(envkit, tmp_path, arguments):
    toolkit = make_toolkit(tmp_path / "cuda-11.3", "11.3.1")
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "activate").write_text("")
    (venv / "pyvenv.cfg").write_text("")
    words = [word.format(toolkit=toolkit, venv=venv) for word in arguments]
    done = envkit(*words, env={"ENVKIT_HOME": "/proc/envkit"})
    assert done.code == 12, done.err
    assert "/proc/envkit" in done.err
    assert "ENVKIT_HOME for all of envkit's files" in done.err
