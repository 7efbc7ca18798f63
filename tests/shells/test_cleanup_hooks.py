"""Environments that switch no toolkit and have the cleanup hook: PATH is right there too."""

from __future__ import annotations

import random

import pytest

from envkit.activation import install_hooks
from envkit.activation.cleanup_hooks import install_cleanup_hooks
from tests.shells.test_conda_hooks import in_force
from tests.shells.test_strict_shells import CASES, IDS, start


@pytest.fixture
def make_plain(make_prefix):
    def _make(name):
        prefix = make_prefix(name)
        install_cleanup_hooks(prefix)
        return prefix

    return _make


def without_conda(environment):
    return {name: value for name, value in environment.items() if not name.startswith("CONDA_")}


@pytest.mark.parametrize("own", [0, 1, 2])
def test_a_switch_leaves_nothing_in_path(shell, own, start_conda, make_prefix, make_plain, make_toolkit, base_env):
    toolkit = make_toolkit("11.3")
    entry = f"{toolkit.path}/bin"
    path = ":".join(["/usr/bin", *[entry] * own, "/bin"])
    a, plain = make_prefix("A", toolkit), make_plain("plain")
    conda = start_conda(shell, {**base_env, "PATH": path})
    before = conda.environment
    conda.activate(a)
    environment = conda.activate(plain)
    assert environment["PATH"] == f"{plain}/bin:{path}"
    assert not [name for name in environment if "ENVKIT" in name]
    assert conda.reactivate() == environment
    in_force(conda.deactivate(), toolkit, own=own)
    assert without_conda(conda.deactivate()) == without_conda(before)
    assert (conda.session.stdout, conda.session.stderr()) == ("", "")


def test_stacked_on_a_managed_environment_its_toolkit_stays(shell, start_conda, make_prefix, make_plain, make_toolkit):
    toolkit = make_toolkit("11.3")
    a, plain = make_prefix("A", toolkit), make_plain("plain")
    conda = start_conda(shell)
    before = conda.environment
    inside = conda.activate(a)
    environment = conda.activate(plain, stack=True)
    assert environment["PATH"] == f"{plain}/bin:{inside['PATH']}"
    assert environment["CUDA_HOME"] == str(toolkit.path)
    in_force(conda.deactivate(), toolkit)
    assert without_conda(conda.deactivate()) == without_conda(before)


def test_a_managed_environment_without_a_toolkit(shell, start_conda, make_prefix, make_toolkit):
    a, b = make_prefix("A", make_toolkit("11.3")), make_prefix("B")
    install_hooks(b, slot="CONDA", toolkit=None)
    conda = start_conda(shell)
    before = conda.environment
    conda.activate(a)
    assert conda.activate(b)["PATH"] == f"{b}/bin:{before['PATH']}"


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_under_options(name, options, shell_named, make_plain, make_toolkit, base_env, tmp_path):
    shell, options = start(shell_named(name), options)
    entry = f"{make_toolkit('11.3', parent=tmp_path / 'my tools').path}/bin"
    hook = shell.source(make_plain("plain") / "etc/conda/activate.d" / f"envkit-cleanup.{shell.extension}")
    stale = {"_ENVKIT_CONDA_BIN": entry, "_ENVKIT_CONDA_OWN": "x", "_ENVKIT_CONDA_IN": "x"}
    env = {**base_env, **stale, "PATH": f"/usr/bin:{entry}::/bin:{entry}"}
    done = shell.run(f"DUMP\n{hook}DUMP\n{hook}DUMP\n", env, tmp_path / "run", options)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    before, once, twice = done.dumps
    normal = ":." if shell.extension == "fish" else ":"
    assert once["PATH"] == f"/usr/bin{normal}:/bin:{entry}"
    assert once == twice
    assert once.keys() == before.keys() - stale.keys()


def test_random_sequences(shell, start_conda, make_prefix, make_plain, make_toolkit):
    toolkits = {make_prefix(name, make_toolkit(release)) for name, release in (("A", "11.3"), ("B", "11.8"))}
    plains = [make_plain("plain"), make_plain("other")]
    for seed in range(4):
        rng = random.Random(seed)  # noqa: S311 - repeatable, not secret
        conda = start_conda(shell)
        before = conda.environment
        for _ in range(12):
            if conda.active and rng.random() < 0.35:
                conda.deactivate()
            else:
                conda.activate(rng.choice([*sorted(toolkits), *plains]), stack=rng.random() < 0.2)
            stacked = any(is_stacked for _, is_stacked in conda.history)
            entries = [entry for entry in conda.environment["PATH"].split(":") if "/cuda-" in entry]
            if conda.active in toolkits or conda.active is None or not stacked:
                assert len(entries) == (conda.active in toolkits), (seed, conda.history)
        while conda.history:
            conda.deactivate()
        assert without_conda(conda.environment) == without_conda(before)
        assert (conda.session.stdout, conda.session.stderr()) == ("", "")
