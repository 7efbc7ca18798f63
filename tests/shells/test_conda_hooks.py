"""The hooks in conda prefixes, in conda's order of events."""

from __future__ import annotations

import pytest

from envkit.activation import install_hooks
from envkit.model.toolkit import Toolkit

STATES = {"unset": None, "empty": "", "value": "/opt/my cuda", "same": "THE TOOLKIT"}
ODD_NAMES = [
    "my tools",
    "it's",
    "a$HOME",
    "$(touch pwned)",
    "back`touch pwned`tick",
    'double"quote',
    "back\\slash",
    "st*r [x]",
    "@SLOT@",
    "-n %s",
    "''",
    "%PATH%",
    "!touch pwned! !!",
    "a&touch pwned&b;touch pwned;c|touch pwned",
    "^caret^ <in >out {a,b} ~ #",
    "-rf",
    "“it’s” ‘touch pwned’",
    "tab\there",
    "ünï",
    "中文",
]


def in_force(environment, toolkit, *, own=0, first=0):
    path = environment["PATH"].split(":")
    entry = f"{toolkit.path}/bin"
    assert environment["CUDA_HOME"] == environment["CUDA_PATH"] == str(toolkit.path)
    assert path[first] == entry
    assert path.count(entry) == own + 1


def without_conda(environment):
    """All variables but conda's own."""
    return {name: value for name, value in environment.items() if not name.startswith("CONDA_")}


def test_reactivating_does_not_grow_path(shell, start_conda, make_prefix, make_toolkit):
    """EK-C01."""
    toolkit = make_toolkit("11.3")
    prefix = make_prefix("A", toolkit)
    conda = start_conda(shell)
    before = conda.environment
    for act in (lambda: conda.activate(prefix), *[conda.reactivate] * 3):
        environment = act()
        in_force(environment, toolkit)
        assert len(environment["PATH"].split(":")) == len(before["PATH"].split(":")) + 2
        conda.edit("nvcc > nvcc.out\n")
        assert "release 11.3" in (conda.session.folder / "nvcc.out").read_text(encoding="utf-8")
    after = conda.deactivate()
    assert without_conda(after) == before
    assert conda.session.stdout == ""
    assert conda.session.stderr() == ""


def test_switching_leaves_one_toolkit_only(shell, start_conda, make_prefix, make_toolkit):
    """EK-C02."""
    old, new = make_toolkit("11.3"), make_toolkit("11.8")
    a, b = make_prefix("A", old), make_prefix("B", new)
    conda = start_conda(shell)
    before = conda.environment
    fresh = conda.activate(a)
    in_force(fresh, old)
    for prefix, toolkit, other in ((b, new, old), (a, old, new), (b, new, old)):
        environment = conda.activate(prefix)
        in_force(environment, toolkit)
        assert f"{other.path}/bin" not in environment["PATH"].split(":")
    while conda.history:
        environment = conda.deactivate()
        if conda.active == a:
            assert without_conda(environment) == without_conda(fresh)
    assert without_conda(environment) == before


def test_switch_to_an_unmanaged_environment_heals_on_the_way_down(shell, start_conda, make_prefix, make_toolkit):
    toolkit = make_toolkit("11.3")
    a, plain = make_prefix("A", toolkit), make_prefix("plain")
    conda = start_conda(shell)
    before = conda.environment
    conda.activate(a)
    environment = conda.activate(plain)
    assert "CUDA_HOME" not in environment
    assert "CUDA_PATH" not in environment
    conda.deactivate()
    environment = conda.deactivate()
    assert without_conda(environment) == before


def test_stacked_environments(shell, start_conda, make_prefix, make_toolkit):
    old, new = make_toolkit("11.3"), make_toolkit("11.8")
    a, b = make_prefix("A", old), make_prefix("B", new)
    conda = start_conda(shell)
    before = conda.environment
    conda.activate(a)
    in_force(conda.activate(b, stack=True), new)
    in_force(conda.deactivate(), old)
    after = conda.deactivate()
    assert without_conda(after) == before


@pytest.mark.parametrize("variable", ["CUDA_HOME", "CUDA_PATH"])
@pytest.mark.parametrize("state", STATES)
def test_a_prior_variable_comes_back(shell, variable, state, start_conda, make_prefix, make_toolkit, base_env):
    """EK-C03."""
    toolkit = make_toolkit("11.3")
    value = str(toolkit.path) if state == "same" else STATES[state]
    conda = start_conda(shell, base_env if value is None else {**base_env, variable: value})
    before = conda.environment
    assert before.get(variable) == value
    in_force(conda.activate(make_prefix("A", toolkit)), toolkit)
    in_force(conda.reactivate(), toolkit)
    after = conda.deactivate()
    assert without_conda(after) == before


def test_a_value_set_while_active_stays(shell, start_conda, make_prefix, make_toolkit):
    conda = start_conda(shell)
    conda.activate(make_prefix("A", make_toolkit("11.3")))
    conda.edit(shell.export("CUDA_HOME", "/opt/mine"))
    after = conda.deactivate()
    assert after["CUDA_HOME"] == "/opt/mine"
    assert "CUDA_PATH" not in after


@pytest.mark.parametrize("own", [1, 2], ids=["once", "twice"])
def test_equal_entries_of_the_user_stay_where_they_are(shell, own, start_conda, make_prefix, make_toolkit, base_env):
    toolkit = make_toolkit("11.3")
    entry = f"{toolkit.path}/bin"
    path = ":".join(["/usr/bin", *[entry] * own, "/bin", f"{entry}x"])
    conda = start_conda(shell, {**base_env, "PATH": path})
    in_force(conda.activate(make_prefix("A", toolkit)), toolkit, own=own)
    in_force(conda.reactivate(), toolkit, own=own)
    in_force(conda.activate(make_prefix("B", toolkit)), toolkit, own=own)
    conda.deactivate()
    assert conda.deactivate()["PATH"] == path


LIBRARY_PATHS = {"unset": None, "empty": "", "value": "/opt/x/lib", "trailing": "/opt/x/lib:", "leading": ":/opt/x/lib"}


@pytest.mark.parametrize("option", [True, False], ids=["on", "off"])
@pytest.mark.parametrize("state", LIBRARY_PATHS)
def test_library_path(shell, state, option, start_conda, make_prefix, make_toolkit, base_env):
    """EK-C06."""
    toolkit = make_toolkit("11.3")
    value = LIBRARY_PATHS[state]
    conda = start_conda(shell, base_env if value is None else {**base_env, "LD_LIBRARY_PATH": value})
    expected = value
    if option:
        expected = f"{toolkit.path}/lib64" + (f":{value}" if value else "")
    prefix = make_prefix("A", toolkit, library_path=option)
    assert conda.activate(prefix).get("LD_LIBRARY_PATH") == expected
    assert conda.reactivate().get("LD_LIBRARY_PATH") == expected
    assert conda.activate(make_prefix("B", toolkit)).get("LD_LIBRARY_PATH") == value
    assert conda.deactivate().get("LD_LIBRARY_PATH") == expected
    assert conda.deactivate().get("LD_LIBRARY_PATH") == value


def test_library_path_keeps_an_equal_entry_of_the_user(shell, start_conda, make_prefix, make_toolkit, base_env):
    toolkit = make_toolkit("11.3")
    value = f"/opt/x:{toolkit.path}/lib64:/opt/y"
    conda = start_conda(shell, {**base_env, "LD_LIBRARY_PATH": value})
    environment = conda.activate(make_prefix("A", toolkit, library_path=True))
    assert environment["LD_LIBRARY_PATH"] == f"{toolkit.path}/lib64:{value}"
    assert conda.deactivate()["LD_LIBRARY_PATH"] == value


def test_vanished_toolkit_is_told_once_and_changes_nothing(shell, start_conda, make_prefix, make_toolkit, base_env):
    """EK-C07; in a script: test_strict_shells.py, what doctor says: integration/test_doctor.py."""
    toolkit = make_toolkit("11.3")
    prefix = make_prefix("A", toolkit)
    toolkit.path.rename(toolkit.path.with_name("elsewhere"))
    conda = start_conda(shell, {**base_env, "CUDA_HOME": "/opt/other"})
    before = conda.environment
    environment = conda.activate(prefix)
    assert environment["CUDA_HOME"] == "/opt/other"
    assert "CUDA_PATH" not in environment
    assert not [entry for entry in environment["PATH"].split(":") if "cuda" in entry]
    (line,) = conda.session.stderr().splitlines()
    assert str(toolkit.path) in line
    assert 'envkit hooks install "$CONDA_PREFIX" --toolkit' in line
    after = conda.deactivate()
    assert without_conda(after) == before
    assert conda.session.stdout == ""


def test_toolkit_that_vanishes_while_active_gives_the_users_values_back(
    shell, start_conda, make_prefix, make_toolkit, base_env
):
    toolkit = make_toolkit("11.3")
    conda = start_conda(shell, {**base_env, "CUDA_HOME": "/opt/other"})
    conda.activate(make_prefix("A", toolkit))
    toolkit.path.rename(toolkit.path.with_name("elsewhere"))
    environment = conda.reactivate()
    assert environment["CUDA_HOME"] == "/opt/other"
    assert f"{toolkit.path}/bin" not in environment["PATH"].split(":")


def test_stacking_an_environment_without_its_toolkit_undoes_the_lower_one(
    shell, start_conda, make_prefix, make_toolkit
):
    gone = make_toolkit("11.8")
    conda = start_conda(shell)
    conda.activate(make_prefix("A", make_toolkit("11.3")))
    prefix = make_prefix("B", gone)
    gone.path.rename(gone.path.with_name("elsewhere"))
    environment = conda.activate(prefix, stack=True)
    assert not [name for name in environment if name.startswith(("CUDA_", "_ENVKIT"))]
    assert "cuda" not in environment["PATH"]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_are_taken_letter_by_letter(shell, name, tmp_path, start_conda, make_prefix, make_toolkit):
    """EK-C08; the names in a whole ``create``: integration/test_toolkit.py and test_main_job.py."""
    toolkit = make_toolkit("11.3", parent=tmp_path / "tk" / name)
    prefix = make_prefix(name, toolkit, parent=tmp_path / "envs" / name)
    conda = start_conda(shell)
    before = conda.environment
    in_force(conda.activate(prefix), toolkit)
    in_force(conda.reactivate(), toolkit)
    after = conda.deactivate()
    assert without_conda(after) == before
    toolkit.path.rename(toolkit.path.with_name("elsewhere"))
    conda.activate(prefix)
    assert str(toolkit.path) in conda.session.stderr()
    assert conda.session.stdout == ""
    assert not list(tmp_path.rglob("pwned"))


def test_a_prefix_that_is_its_own_toolkit(shell, start_conda, make_prefix, make_toolkit, tmp_path, base_env):
    other = make_toolkit("11.8")
    a, b = make_prefix("A"), make_prefix("B", other)
    install_hooks(a, slot="CONDA", toolkit=Toolkit("11.3", "11.3", a, "test", has_nvcc=True))
    conda = start_conda(shell, {**base_env, "CUDA_HOME": "/opt/mine"})
    before = conda.environment

    def inside(environment, prefix):
        path = environment["PATH"].split(":")
        assert environment["CUDA_HOME"] == environment["CUDA_PATH"] == str(prefix)
        assert (path[0], path.count(f"{prefix}/bin")) == (f"{prefix}/bin", 1)
        assert f"{other.path}/bin" not in path

    inside(conda.activate(a), a)
    inside(conda.reactivate(), a)
    environment = conda.activate(b)
    in_force(environment, other)
    assert f"{a}/bin" not in environment["PATH"].split(":")
    inside(conda.activate(a), a)
    in_force(conda.activate(b, stack=True), other)
    while conda.history:
        environment = conda.deactivate()
    assert without_conda(environment) == before
    assert (conda.session.stdout, conda.session.stderr()) == ("", "")

    moved = a.rename(tmp_path / "moved")  # packed and unpacked elsewhere
    inside(conda.activate(moved), moved)
