from __future__ import annotations

import sys

import pytest

from envkit.model.host_compiler import HostCompiler
from envkit.probes.host_compiler import default_gcc, named_gcc
from tests.support.programs import stub_program

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere gcc is another compiler")


@pytest.mark.parametrize(
    ("said", "status", "major"),
    [
        ("12.2.0", 0, 12),
        ("4.8", 0, 4),
        ("13", 0, 13),
        ("", 0, None),
        ("Apple clang version 15", 0, None),
        ("12abc", 0, None),
        ("14.0.6", 1, None),
    ],
)
def test_default_gcc_is_the_major_version_that_the_program_tells(said, status, major, tmp_path):
    """The program is a stand-in that prints one line."""
    stub_program(tmp_path / "bin", "gcc", f"echo '{said}'\nexit {status}")
    assert default_gcc(str(tmp_path / "bin")) == major


def test_default_gcc_asks_only_what_gcc_answers_at_once(tmp_path):
    stub_program(tmp_path / "bin", "gcc", f'echo "$@" > {tmp_path}/asked\necho 12.2.0')
    default_gcc(f"/nonexistent:{tmp_path / 'bin'}")
    assert (tmp_path / "asked").read_text() == "-dumpfullversion -dumpversion\n"


def test_no_gcc_on_path(tmp_path):
    assert default_gcc(str(tmp_path)) is None
    assert default_gcc("") is None


def test_named_gcc_is_the_newest_allowed_pair(tmp_path):
    """Stand-ins, never started."""
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, names in ((first, ["gcc-9", "g++-9", "gcc-10"]), (second, ["gcc-8", "g++-8", "gcc-11", "g++-11"])):
        for name in names:
            stub_program(folder, name)
    path = f"relative:{first}:{second}"
    assert named_gcc(12, path) == HostCompiler("gcc-11", "g++-11", second)
    assert named_gcc(10, path) == HostCompiler("gcc-9", "g++-9", first)  # gcc-10 has no g++-10
    assert named_gcc(8, path) == HostCompiler("gcc-8", "g++-8", second)
    assert named_gcc(7, path) is None


def test_cross_compilers_and_files_that_cannot_run_do_not_count(tmp_path):
    for name in ("x86_64-conda-linux-gnu-gcc-10", "x86_64-conda-linux-gnu-g++-10", "g++-10"):
        stub_program(tmp_path / "bin", name)
    (tmp_path / "bin" / "gcc-10").write_text("#!/bin/sh\n")
    assert named_gcc(10, str(tmp_path / "bin")) is None
