"""The guard's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from envkit.installers.guard import constraint_entry


@pytest.mark.parametrize(
    ("path", "entry"),
    [
        ("/home/ada/envs/a_b-1.0+x/c.txt", "/home/ada/envs/a_b-1.0+x/c.txt"),
        ("/a b/c.txt", "file:///a%20b/c.txt"),
        ("/ünï/c.txt", "file:///%C3%BCn%C3%AF/c.txt"),
        ("/100%/c.txt", "file:///100%25/c.txt"),
        ("/a$HOME#?/c.txt", "file:///a%24HOME%23%3F/c.txt"),
    ],
)
def test_a_path_becomes_one_word_of_ascii(path, entry):
    assert constraint_entry(Path(path)) == entry
