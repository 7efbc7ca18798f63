from __future__ import annotations

import itertools

import pytest

from envkit.errors import UsageError
from envkit.model.names import VersionName, check_environment_name

TORCH = ("1.7", "1.12", "1.13", "2.0", "2.1", "2.10", "2.13", "3.0", "9.99")
CUDA = (None, "9.2", "10.0", "10.2", "11.0", "11.3", "12.8", "13.0", "100.9")
PYTHON = ("3.6", "3.9", "3.10", "3.14", "4.0")


@pytest.mark.parametrize(("torch", "cuda", "python"), list(itertools.product(TORCH, CUDA, PYTHON)))
def test_version_names_round_trip(torch, cuda, python):
    name = VersionName(torch, cuda, python)
    assert VersionName.parse(str(name)) == name


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("1.12.1", "11.3", "3.9"), "torch112_cu113_py39"),
        (("2.10.0", "12.8", "3.12"), "torch210_cu128_py312"),
        (("2.1.0", None, "3.11.7"), "torch21_cpu_py311"),
        (("1.7.0", "9.2", "3.6"), "torch17_cu92_py36"),
        (("2.9.0", "13.0", "3.14"), "torch29_cu130_py314"),
    ],
)
def test_version_names_take_major_and_minor_only(parts, text):
    assert str(VersionName(*parts)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "torch",
        "torch1_cu113_py39",
        "torch112_cu1_py39",
        "torch112_cu113_py3",
        "torch112_cu113",
        "torch112_rocm61_py39",
        "torch112_cu113_py39_2",
        " torch112_cu113_py39",
        "torch112_cu113_py39\n",
        "Torch112_cu113_py39",
        "torch1१2_cu113_py39",
    ],
)
def test_other_texts_are_no_version_names(text):
    assert VersionName.parse(text) is None


@pytest.mark.parametrize("name", ["torch112_cu113_py39", "my-env.2", "Größe", "x" * 200, "_a"])
def test_names_that_conda_takes_are_allowed(name):
    assert check_environment_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", "..", ".", "../x", "a/b", "a\\b", "a b", "a:b", "a#b", "-a", ".a", "a\0b", "a\nb", "base", "root", "x" * 201],
)
def test_names_that_lead_elsewhere_are_refused(name):
    with pytest.raises(UsageError) as caught:
        check_environment_name(name)
    assert caught.value.exit_code == 2
    assert caught.value.why
