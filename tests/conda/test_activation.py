"""The hooks under real ``conda activate``: cases c01, c02, c10, c16, stacks, other environments, random sequences."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envkit.activation import install_guard_hooks
from envkit.activation.cleanup_hooks import install_cleanup_hooks
from tests.conda.conftest import SHELLS, without_conda
from tests.shells.test_conda_hooks import in_force
from tests.shells.test_random_sequences import Managed, run_sequence

in_shells = pytest.mark.parametrize("name", SHELLS)


def quiet(conda):
    assert (conda.session.stdout, conda.session.stderr()) == ("", "")


@in_shells
def test_c01_reactivating_does_not_grow_path(name, start_conda, make_prefix, make_toolkit):
    """EK-C01, with conda itself."""
    toolkit = make_toolkit("11.3")
    prefix = make_prefix("A", toolkit)
    conda = start_conda(name)
    before = conda.environment
    in_force(conda.activate(prefix), toolkit)
    for _ in range(3):
        in_force(conda.reactivate(), toolkit)
    conda.edit("nvcc > nvcc.out\n")
    assert "release 11.3" in (conda.session.folder / "nvcc.out").read_text(encoding="utf-8")
    after = conda.deactivate()
    assert without_conda(after) == without_conda(before)
    quiet(conda)


@in_shells
def test_c02_switching_leaves_one_toolkit_only(name, start_conda, make_prefix, make_toolkit):
    """EK-C02, with conda itself."""
    old, new = make_toolkit("11.3"), make_toolkit("11.8")
    a, b = make_prefix("A", old), make_prefix("B", new)
    conda = start_conda(name)
    before = conda.environment
    in_force(conda.activate(a), old)
    for prefix, toolkit, other in ((b, new, old), (a, old, new), (b, new, old)):
        environment = conda.activate(prefix)
        in_force(environment, toolkit)
        assert f"{other.path}/bin" not in environment["PATH"].split(":")
        assert environment["CONDA_PREFIX"] == str(prefix)
    while conda.history:
        environment = conda.deactivate()
        if conda.active == a:
            in_force(environment, old)
    assert without_conda(environment) == without_conda(before)
    quiet(conda)


@in_shells
def test_stacked_environments(name, start_conda, make_prefix, make_toolkit):
    old, new = make_toolkit("11.3"), make_toolkit("11.8")
    a, b = make_prefix("A", old), make_prefix("B", new)
    conda = start_conda(name, {"CUDA_HOME": "", "CUDA_PATH": "/opt/my cuda"})
    before = conda.environment
    conda.activate(a)
    environment = conda.activate(b, stack=True)
    in_force(environment, new)
    assert f"{a}/bin" in environment["PATH"].split(":")
    in_force(conda.deactivate(), old)
    after = conda.deactivate()
    assert without_conda(after) == without_conda(before)
    quiet(conda)


@in_shells
def test_an_unmanaged_environment_has_the_users_variables(name, start_conda, make_prefix, make_toolkit):
    toolkit = make_toolkit("11.3")
    a, plain = make_prefix("A", toolkit), make_prefix("plain")
    conda = start_conda(name, {"CUDA_HOME": "/opt/my cuda"})
    before = conda.environment
    conda.activate(a)
    environment = conda.activate(plain)
    assert environment["CUDA_HOME"] == "/opt/my cuda"
    assert "CUDA_PATH" not in environment
    in_force(conda.deactivate(), toolkit)
    assert without_conda(conda.deactivate()) == without_conda(before)
    quiet(conda)


@in_shells
@pytest.mark.parametrize("user", [None, "", "mine"], ids=["unset", "empty", "value"])
def test_c16_the_user_site_is_off_while_active(name, user, start_conda, make_prefix):
    a, b, plain = make_prefix("A"), make_prefix("B"), make_prefix("plain")
    constraints = b / "constraints.txt"
    constraints.touch()
    install_guard_hooks(a, slot="CONDA", constraints=None, user_site_off=True)
    install_guard_hooks(b, slot="CONDA", constraints=constraints, entry=str(constraints), user_site_off=True)
    conda = start_conda(name, {} if user is None else {"PYTHONNOUSERSITE": user, "UV_CONSTRAINT": user})

    def found(environment):
        return environment.get("PYTHONNOUSERSITE"), environment.get("UV_CONSTRAINT")

    in_b = ("1", f"{user} {constraints}" if user else str(constraints))
    before = conda.environment
    assert found(before) == (user, user)
    assert found(conda.activate(a)) == ("1", user)
    assert found(conda.activate(b)) == in_b
    assert found(conda.reactivate()) == in_b
    assert found(conda.activate(plain)) == (user, user)
    assert found(conda.deactivate()) == in_b
    assert found(conda.activate(plain, stack=True)) == in_b
    assert found(conda.deactivate()) == in_b
    assert found(conda.deactivate()) == ("1", user)
    assert without_conda(conda.deactivate()) == without_conda(before)
    quiet(conda)


@in_shells
@pytest.mark.slow
def test_random_sequences_keep_the_invariants(
    name, start_conda, make_prefix, make_toolkit, make_venv, conda_program, tmp_path
):
    toolkits = [replace(make_toolkit(release), version=None, release=None) for release in ("11.3", "11.8", "12.4")]
    rows = {"A": toolkits[0], "B": toolkits[1], "plain": None}
    envs = {make_prefix(word, toolkit): Managed(toolkit) for word, toolkit in rows.items()}
    venvs = {make_venv("uv", tmp_path / "venv", toolkits[2]): Managed(toolkits[2])}
    front = [f"{conda_program.parents[1]}/condabin"]  # else conda puts it there, at one time or another
    for seed in range(3):
        run_sequence(seed, start_conda(name, {"CONDA_SHLVL": "0"}), envs, venvs, front)


def test_c10_conda_run_gives_the_status_and_output_of_the_command(conda, make_prefix, make_toolkit):
    toolkit = make_toolkit("11.3")
    prefix = make_prefix("A", toolkit)

    def run(*command, live=True):
        return conda("run", *(["--no-capture-output"] if live else []), "-p", prefix, *command)

    assert run("sh", "-c", 'echo "$CUDA_HOME"; exit 7').code == 7
    assert run("nvcc", live=False).out.startswith("Cuda compilation tools, release 11.3")
    for number in (2, 9, 15):
        assert run("sh", "-c", f"kill -{number} $$").code == 128 + number
    for live in (True, False):
        done = run("sh", "-c", "head -c 1048576 /dev/zero | tr '\\0' x", live=live)
        assert (done.code, done.out == "x" * 1048576) == (0, True)


@in_shells
def test_the_cleanup_hook_heals_path_after_a_switch(name, start_conda, make_prefix, make_toolkit):
    toolkit = make_toolkit("11.3")
    a, plain = make_prefix("A", toolkit), make_prefix("plain")
    install_cleanup_hooks(plain)
    conda = start_conda(name)
    before = conda.environment
    conda.activate(a)
    environment = conda.activate(plain)
    assert without_conda(environment)["PATH"] == f"{plain}/bin:{without_conda(before)['PATH']}"
    assert not [variable for variable in environment if "ENVKIT" in variable]
    in_force(conda.deactivate(), toolkit)
    in_force(conda.activate(plain, stack=True), toolkit, first=1)
    in_force(conda.deactivate(), toolkit)
    assert without_conda(conda.deactivate()) == without_conda(before)
    quiet(conda)
