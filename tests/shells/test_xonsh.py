"""xonsh by conda's way: bash runs the ``.sh`` hooks, and xonsh takes over what they exported."""

from __future__ import annotations

import pytest


@pytest.fixture
def shell(shell_named):
    return shell_named("xonsh")


def outside(environment):
    return {name: value for name, value in environment.items() if not name.startswith("CONDA_")}


@pytest.mark.parametrize(
    "start",
    [{}, {"CUDA_HOME": "", "CC": ""}, {"CUDA_PATH": "/opt/my cuda", "CXX": "clang++"}],
    ids=["unset", "empty", "values"],
)
def test_switching_leaves_no_trace(
    shell, start, start_conda, make_prefix, make_toolkit, make_host_compiler, base_env, tmp_path
):
    old, new = make_toolkit("11.3", tmp_path / "it's a tool"), make_toolkit("11.8")
    a, b = make_prefix("A", old, host_compiler=make_host_compiler(10)), make_prefix("B", new)
    conda = start_conda(shell, {**base_env, **start})
    before = conda.environment
    for environment, toolkit in (
        (conda.activate(a), old),
        (conda.reactivate(), old),
        (conda.activate(b), new),
        (conda.activate(a, stack=True), old),
        (conda.deactivate(), new),
        (conda.deactivate(), old),
    ):
        assert environment["CUDA_HOME"] == environment["CUDA_PATH"] == str(toolkit.path)
        entries = [entry for entry in environment["PATH"].split(":") if "/cuda-11." in entry]
        assert entries == [f"{toolkit.path}/bin"]
        assert environment["PATH"].startswith(f"{entries[0]}:")
        own = {"CC": "gcc-10", "CXX": "g++-10", "CUDAHOSTCXX": "g++-10"} if toolkit == old else {}
        named = {name: environment[name] for name in ("CC", "CXX", "CUDAHOSTCXX") if name in environment}
        assert named == own | {
            name: value for name, value in start.items() if name.startswith("C") and "CUDA_" not in name
        }
    assert outside(conda.deactivate()) == outside(before)
    assert conda.session.stdout == ""


def test_a_vanished_toolkit_leaves_the_users_variables(shell, start_conda, make_prefix, make_toolkit, base_env):
    toolkit = make_toolkit("11.3")
    prefix = make_prefix("A", toolkit)
    toolkit.path.rename(toolkit.path.with_name("elsewhere"))
    conda = start_conda(shell, {**base_env, "CUDA_HOME": "/opt/other"})
    before = conda.environment
    environment = conda.activate(prefix)
    assert environment["CUDA_HOME"] == "/opt/other"
    assert "CUDA_PATH" not in environment
    assert outside(conda.deactivate()) == outside(before)
