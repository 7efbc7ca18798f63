"""CC, CXX and CUDAHOSTCXX: set where the user has not set them, and undone; the compilers are stand-ins."""

from __future__ import annotations

import pytest

NAMES = ("CC", "CXX", "CUDAHOSTCXX")


def compilers(environment):
    return tuple(environment.get(name) for name in NAMES)


def named(version):
    return f"gcc-{version}", f"g++-{version}", f"g++-{version}"


def outside(environment):
    return {name: value for name, value in environment.items() if not name.startswith("CONDA_")}


NOTHING = (None, None, None)


def test_named_while_active_and_gone_afterwards(shell, start_conda, make_prefix, make_toolkit, make_host_compiler):
    toolkit = make_toolkit("11.3")
    conda = start_conda(shell)
    before = conda.environment
    prefix = make_prefix("A", toolkit, host_compiler=make_host_compiler(10))
    assert compilers(conda.activate(prefix)) == named(10)
    assert compilers(conda.reactivate()) == named(10)
    assert outside(conda.deactivate()) == before
    assert (conda.session.stdout, conda.session.stderr()) == ("", "")


@pytest.mark.parametrize("value", ["", "ccache gcc", "gcc-10"], ids=["empty", "value", "same"])
@pytest.mark.parametrize("name", NAMES)
def test_what_the_user_has_set_stays(
    shell, name, value, start_conda, make_prefix, make_toolkit, make_host_compiler, base_env
):
    conda = start_conda(shell, {**base_env, name: value})
    before = conda.environment
    expected = dict(zip(NAMES, named(10), strict=True)) | {name: value}
    prefix = make_prefix("A", make_toolkit("11.3"), host_compiler=make_host_compiler(10))
    assert compilers(conda.activate(prefix)) == tuple(expected.values())
    assert compilers(conda.reactivate()) == tuple(expected.values())
    assert outside(conda.deactivate()) == before


@pytest.mark.parametrize("value", [None, "", "clang"], ids=["unset", "empty", "value"])
def test_what_the_user_sets_while_active_stays(
    shell, value, start_conda, make_prefix, make_toolkit, make_host_compiler
):
    conda = start_conda(shell)
    conda.activate(make_prefix("A", make_toolkit("11.3"), host_compiler=make_host_compiler(10)))
    conda.edit(shell.unset("CC") if value is None else shell.export("CC", value))
    assert compilers(conda.deactivate()) == (value, None, None)


def test_switching_and_stacking(shell, start_conda, make_prefix, make_toolkit, make_host_compiler):
    old, new = make_toolkit("11.3"), make_toolkit("11.8")
    a = make_prefix("A", old, host_compiler=make_host_compiler(10))
    b = make_prefix("B", new, host_compiler=make_host_compiler(11))
    c, plain = make_prefix("C", new), make_prefix("plain")
    conda = start_conda(shell)
    before = conda.environment
    assert compilers(conda.activate(a)) == named(10)
    assert compilers(conda.activate(b)) == named(11)
    assert compilers(conda.activate(c)) == NOTHING
    assert compilers(conda.activate(a)) == named(10)
    assert compilers(conda.activate(plain)) == NOTHING
    assert compilers(conda.activate(a)) == named(10)
    assert compilers(conda.activate(b, stack=True)) == named(11)
    assert compilers(conda.deactivate()) == named(10)
    assert compilers(conda.activate(c, stack=True)) == NOTHING
    while conda.history:
        environment = conda.deactivate()
    assert outside(environment) == before
    assert (conda.session.stdout, conda.session.stderr()) == ("", "")


@pytest.mark.parametrize("gone", ["gcc-10", "g++-10"])
def test_a_compiler_that_is_not_here_is_not_named(
    shell, gone, start_conda, make_prefix, make_toolkit, make_host_compiler
):
    host = make_host_compiler(10)
    toolkit = make_toolkit("11.3")
    prefix = make_prefix("A", toolkit, host_compiler=host)
    (host.folder / gone).unlink()
    conda = start_conda(shell)
    environment = conda.activate(prefix)
    assert environment["CUDA_HOME"] == str(toolkit.path)
    assert compilers(environment) == NOTHING
    assert (conda.session.stdout, conda.session.stderr()) == ("", "")


def test_a_toolkit_that_vanished_takes_the_compiler_along(
    shell, start_conda, make_prefix, make_toolkit, make_host_compiler
):
    toolkit = make_toolkit("11.3")
    conda = start_conda(shell)
    conda.activate(make_prefix("A", toolkit, host_compiler=make_host_compiler(10)))
    toolkit.path.rename(toolkit.path.with_name("elsewhere"))
    assert compilers(conda.reactivate()) == NOTHING


@pytest.mark.parametrize("first", ["the venv", "the conda environment"])
@pytest.mark.parametrize("inner", [9, 10, None], ids=["older", "same", "none"])
def test_a_venv_inside_a_conda_environment(
    shell, inner, first, start_conda, make_prefix, make_toolkit, make_host_compiler, tmp_path, base_env
):
    """As conda and a virtual environment's scripts run the files; whichever is left first, nothing stays behind."""
    from envkit.activation import install_hooks  # noqa: PLC0415

    a = make_prefix("A", make_toolkit("11.3"), host_compiler=make_host_compiler(10))
    venv = tmp_path / "venv"
    host = None if inner is None else make_host_compiler(inner)
    install_hooks(venv, slot="VENV", toolkit=make_toolkit("11.8"), host_compiler=host)
    on, off = (
        shell.source(venv / "etc" / "conda" / f"{direction}.d" / f"envkit-cuda.{shell.extension}")
        for direction in ("activate", "deactivate")
    )
    conda = start_conda(shell, {**base_env, "CXX": "mine"})
    before = conda.environment

    def expected(version):
        return f"gcc-{version}", "mine", f"g++-{version}"

    assert compilers(conda.activate(a)) == expected(10)
    assert compilers(conda.edit(on)) == expected(inner or 10)
    if first == "the venv":
        assert compilers(conda.edit(off)) == expected(10)
        environment = conda.deactivate()
    else:
        left = conda.deactivate()
        assert compilers(left) == (expected(inner) if inner else (None, "mine", None))
        environment = conda.edit(off)
    assert compilers(environment) == (None, "mine", None)
    assert not [name for name in environment if "ENVKIT" in name]
    if first == "the venv":
        assert outside(environment) == before


def test_hooks_of_condas_compilers_run_before_and_win(
    posix_shell, start_conda, make_prefix, make_toolkit, make_host_compiler
):
    """Stand-ins for conda-forge's activate-gcc_linux-64.sh, which saves CC, and its counterpart, which restores it."""
    toolkit, host = make_toolkit("11.3"), make_host_compiler(10)
    a, b = make_prefix("A", toolkit, host_compiler=host), make_prefix("B", toolkit, host_compiler=host)
    texts = {
        "activate": 'if [ -n "${CC+x}" ]; then export CONDA_BACKUP_CC="$CC"; else unset CONDA_BACKUP_CC; fi\n'
        "export CC=x86_64-conda-linux-gnu-cc\n",
        "deactivate": 'if [ -n "${CONDA_BACKUP_CC+x}" ]; then export CC="$CONDA_BACKUP_CC"; else unset CC; fi\n'
        "unset CONDA_BACKUP_CC\n",
    }
    for direction, text in texts.items():
        (a / "etc" / "conda" / f"{direction}.d" / f"{direction}-gcc_linux-64.sh").write_text(text)
    theirs = ("x86_64-conda-linux-gnu-cc", "g++-10", "g++-10")
    conda = start_conda(posix_shell)
    before = conda.environment
    assert compilers(conda.activate(a)) == theirs
    assert compilers(conda.reactivate()) == theirs
    assert compilers(conda.activate(b)) == named(10)
    assert compilers(conda.activate(a)) == theirs
    while conda.history:
        environment = conda.deactivate()
    assert outside(environment) == before


def test_a_universal_variable_of_fish_is_the_users(
    shell_named, make_prefix, make_toolkit, make_host_compiler, tmp_path
):
    fish = shell_named("fish")
    prefix = make_prefix("A", make_toolkit("11.3"), host_compiler=make_host_compiler(10))
    hook = fish.source(prefix / "etc" / "conda" / "activate.d" / "envkit-cuda.fish")
    env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "h"), "XDG_CONFIG_HOME": str(tmp_path / "h"), "TERM": "dumb"}
    done = fish.run(f"set -Ux CC clang\n{hook}DUMP\n", env, tmp_path / "run")
    assert done.dumps[0]["CC"] == "clang"
    assert done.dumps[0]["CXX"] == "g++-10"


def test_odd_names_of_the_compilers_folder(shell, start_conda, make_prefix, make_toolkit, make_host_compiler, tmp_path):
    folder = tmp_path / "it's a `touch pwned` $(touch pwned) \"!x! 中"
    prefix = make_prefix("A", make_toolkit("11.3"), host_compiler=make_host_compiler(10, folder))
    conda = start_conda(shell)
    assert compilers(conda.activate(prefix)) == named(10)
    assert compilers(conda.deactivate()) == NOTHING
    assert not list(tmp_path.rglob("pwned"))
    assert (conda.session.stdout, conda.session.stderr()) == ("", "")
