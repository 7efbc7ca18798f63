"""``envkit run`` against ``conda run``, in an environment that envkit has made: the same variables, the same status."""

from __future__ import annotations

import json

import pytest

from tests.conda.conftest import SHELLS, without_conda
from tests.shells.test_conda_hooks import in_force

NAME = "torch112_cpu_py311"
OF_THE_PROGRAM = {
    "CONDA_EXE",
    "CONDA_PYTHON_EXE",
    "CONDA_ROOT",
    "_CONDA_EXE",
    "_CONDA_ROOT",
    "_CE_M",
    "_CE_CONDA",
    "_",
    "SHLVL",
    "PWD",
}


@pytest.fixture
def toolkit(make_toolkit):
    made = make_toolkit("11.3")
    (made.path / "version.json").write_text('{"cuda": {"name": "CUDA SDK", "version": "11.3.1"}}')
    return made


@pytest.fixture
def environment(envkit, conda, conda_channels, toolkit, tmp_path):
    (conda.home / ".condarc").write_text(json.dumps({"channel_alias": conda_channels.alias}))
    content = {
        "schema": 1,
        "name": "c",
        "python": "3.11",
        "installer": "conda",
        "cuda": "cpu",
        "packages": ["pytorch=1.12.1", "cpuonly"],
        "channels": ["pytorch", "conda-forge"],
        "platforms": ["linux-64"],
    }
    (tmp_path / "c.yaml").write_text(json.dumps(content))
    envkit.environ |= conda.environ
    done = envkit("create", tmp_path / "c.yaml", "--no-verify", "--toolkit", toolkit.path, "--json")
    assert done.code == 0, done.err
    assert done.json["environment"]["prefix"] == str(conda.envs / NAME)
    return conda.envs / NAME


def variables(output: str) -> dict[str, str]:
    found = dict(entry.split("=", 1) for entry in output.split("\0") if "=" in entry)
    path = ":".join(entry for entry in found.pop("PATH").split(":") if not entry.endswith("/condabin"))
    return {**{name: value for name, value in found.items() if name not in OF_THE_PROGRAM}, "PATH": path}


def test_envkit_run_is_conda_run(envkit, conda, environment, make_prefix):
    assert conda("env", "config", "vars", "set", "-n", NAME, "OWN_WORD=a b").code == 0
    command = ["env", "-0"]
    by_conda = conda("run", "--no-capture-output", "-n", NAME, *command, check=True)
    by_envkit = envkit("run", NAME, "--", *command)
    assert by_envkit.code == 0, by_envkit.err
    assert variables(by_envkit.out) == variables(by_conda.out)
    assert variables(by_envkit.out)["OWN_WORD"] == "a b"

    # and from another environment that is active
    other = make_prefix("other")
    active = {"CONDA_PREFIX": str(other), "CONDA_SHLVL": "1", "PATH": f"{other}/bin:{conda.environ['PATH']}"}
    by_conda = conda("run", "--no-capture-output", "-n", NAME, *command, env=active, check=True)
    by_envkit = envkit("run", NAME, "--", *command, env=active)
    assert variables(by_envkit.out) == variables(by_conda.out)


def test_c10_both_give_the_status_and_the_output_of_the_command(envkit, conda, environment):
    def run(*command):
        mine, conda_s = envkit("run", NAME, "--", *command), conda("run", "--no-capture-output", "-n", NAME, *command)
        assert (mine.code, mine.out) == (conda_s.code, conda_s.out)
        return mine

    assert run("sh", "-c", "exit 7").code == 7
    assert run("sh", "-c", "kill -TERM $$").code == 128 + 15
    assert run("sh", "-c", "kill -KILL $$").code == 128 + 9
    assert run("python", "-c", "import sys; sys.stdout.write('x' * 2**20)").out == "x" * 2**20


@pytest.mark.parametrize("name", SHELLS)
def test_it_is_activated_by_its_name(name, conda_shell, conda, environment, toolkit):
    script = f"DUMP\nconda activate {NAME}\nDUMP\npython -c 'import sys; print(sys.prefix)'\nconda deactivate\nDUMP\n"
    done = conda_shell(name, script, env={"PYTHONNOUSERSITE": ""})
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{environment}\n", "")
    before, inside, after = done.dumps
    in_force(inside, toolkit)
    assert (inside["CONDA_DEFAULT_ENV"], inside["PYTHONNOUSERSITE"]) == (NAME, "1")
    assert without_conda(after) == without_conda(before)
