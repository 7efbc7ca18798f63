"""Which gcc the hooks name; the compilers are stand-ins."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from envkit.model.host_compiler import HostCompiler
from envkit.model.toolkit import Toolkit
from envkit.operations.host_compiler import choose_host_compiler
from tests.support.programs import stub_gcc

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere gcc is another compiler")


def toolkit(release):
    return Toolkit(release, release, Path("/opt/tk"), "test", has_nvcc=True)


def choose(prefix, release="11.3", *, wanted=True):
    return choose_host_compiler(prefix, toolkit(release) if release else None, wanted=wanted)


@pytest.mark.parametrize(
    ("default", "release", "named"),
    [
        ("12.2.0", "11.3", "gcc-10"),
        ("11.4.0", "11.3", "gcc-10"),
        ("10.2.1", "11.3", None),
        ("9.4.0", "11.3", None),
        ("12.2.0", "10.2", "gcc-8"),
        ("12.2.0", "13.0", None),
        ("12.2.0", "99.1", None),
        ("12.2.0", None, None),
    ],
)
def test_only_a_gcc_that_is_too_new_is_replaced(default, release, named, tmp_path, monkeypatch):
    folder = stub_gcc(tmp_path / "bin", 8, 9, 10, 11, default=default)
    monkeypatch.setenv("PATH", str(folder))
    choice = choose(tmp_path / "env", release)
    expected = None if named is None else HostCompiler(named, named.replace("gcc", "g++"), folder)
    assert choice.compiler == expected
    assert choice.problem is None
    assert choice.is_too_new == (named is not None)


def test_the_spec_opts_out_and_nothing_is_started(tmp_path, monkeypatch):
    folder = stub_gcc(tmp_path / "bin", 10, default=f"12.2.0; touch {tmp_path}/started")
    monkeypatch.setenv("PATH", str(folder))
    assert choose(tmp_path / "env", wanted=False).compiler is None
    assert not (tmp_path / "started").exists()


def test_none_that_the_toolkit_takes_is_a_problem_with_a_remedy(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(stub_gcc(tmp_path / "bin", 11, 12, default="12.2.0")))
    choice = choose(tmp_path / "env")
    assert choice.compiler is None
    assert choice.problem == (
        "nvcc of CUDA 11.3 takes gcc 10 at most; here it is gcc 12, and there is no gcc-10 with g++-10, nor older ones."
    )
    assert choice.remedy("demo") == "To compile, install gcc-10 and g++-10, then run `envkit hooks install demo`."


def test_no_gcc_at_all_is_no_problem_of_this_kind(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(stub_gcc(tmp_path / "bin", 10)))
    assert choose(tmp_path / "env").problem is None
    assert choose(tmp_path / "env").compiler is None


def test_the_environments_own_gcc_counts_and_an_active_other_ones_does_not(tmp_path, monkeypatch):
    system = stub_gcc(tmp_path / "bin", 10, default="12.2.0")
    other = stub_gcc(tmp_path / "other" / "bin", default="9.1.0")
    monkeypatch.setenv("PATH", f"{other}:{system}")
    for name in ("CONDA_PREFIX", "VIRTUAL_ENV"):
        with monkeypatch.context() as inner:
            inner.setenv(name, str(tmp_path / "other"))
            assert choose(tmp_path / "env").default == 12
            assert choose(tmp_path / "other").default == 9
