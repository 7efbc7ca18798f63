from __future__ import annotations

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from envkit.model.toolkit import Toolkit, means, usual_folders

TOOLKIT = Toolkit("11.3.1", "11.3", Path("/usr/local/cuda-11.3"), "/usr/local", has_nvcc=True)


def test_json_has_the_recorded_facts_only():
    assert TOOLKIT.to_json() == {"version": "11.3.1", "release": "11.3", "path": "/usr/local/cuda-11.3"}


def test_json_of_an_unknown_version_is_null():
    assert Toolkit(None, None, Path("/x"), "--toolkit", has_nvcc=False).to_json() == {
        "version": None,
        "release": None,
        "path": "/x",
    }


def test_a_toolkit_does_not_change():
    with pytest.raises(FrozenInstanceError):
        TOOLKIT.path = Path("/elsewhere")


def test_usual_folders_name_the_release_before_the_version():
    assert usual_folders("11.3.1", "11.3") == (
        "/usr/local/cuda-11.3",
        "/opt/cuda-11.3",
        "/opt/cuda/11.3",
        "/usr/local/cuda-11.3.1",
        "/opt/cuda-11.3.1",
        "/opt/cuda/11.3.1",
    )


def test_usual_folders_of_a_bare_release_are_listed_once():
    assert usual_folders("13.0", "13.0") == ("/usr/local/cuda-13.0", "/opt/cuda-13.0", "/opt/cuda/13.0")


def test_usual_folders_of_an_unknown_version_are_none():
    assert usual_folders(None, None) == ()


@pytest.mark.parametrize(
    ("asked", "version", "expected"),
    [("11.3", "11.3.1", True), ("11.3.1", "11.3.1", True), ("11.3", "11.30", False), ("11.3.1", "11.3", False)],
)
def test_which_versions_are_meant(asked, version, expected):
    assert means(asked, version) is expected
