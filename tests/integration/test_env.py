"""``envkit env``: the variables of an active environment, for scripts and IDEs."""

from __future__ import annotations

import os
import shutil
import subprocess

import dotenv
import pytest

from envkit.errors import UsageError
from envkit.model.progress import Silent
from envkit.model.toolkit import Toolkit
from envkit.operations.env_variables import environment_code
from tests.support.small_environments import small_environment
from tests.support.toolkits import stub_toolkit

EVAL = {
    "bash": 'eval "$("$@" --shell bash)"',
    "dash": 'eval "$("$@" --shell sh)"',
    "zsh": 'eval "$("$@" --shell zsh)"',
    "fish": "$argv --shell fish | source",
    "tcsh": "eval `$argv:q --shell tcsh`",
}


def toolkit_at(folder) -> Toolkit:
    return Toolkit("11.3", "11.3", stub_toolkit(folder, "11.3"), "test", has_nvcc=True)


@pytest.mark.parametrize("shell", EVAL)
def test_a_shell_evaluates_it(envkit, tmp_path, shell):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    toolkit = toolkit_at(tmp_path / "it's $(touch pwned)" / "cuda-11.3")
    prefix = small_environment(tmp_path / "e n v", toolkit)
    script = f"{EVAL[shell]}\nnvcc --version\n/usr/bin/env"
    options = {"fish": ["--no-config", "-c", script], "tcsh": ["-f", "-c", script]}.get(
        shell, ["-c", script, *(["sh"] if shell != "fish" else [])]
    )
    command = [program, *options, *envkit.argv("env", prefix)]
    done = subprocess.run(
        command, env=envkit.variables({"SHELL": None}), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, *rest = done.stdout.splitlines()
    assert "release 11.3" in first
    variables = dict(line.split("=", 1) for line in rest if "=" in line)
    assert variables["CUDA_HOME"] == variables["CUDA_PATH"] == str(toolkit.path)
    assert variables["VIRTUAL_ENV"] == str(prefix)
    assert variables["PATH"].startswith(f"{toolkit.path}/bin:{prefix}/bin:")
    assert variables["UV_CONSTRAINT"].endswith("/constraints.txt")
    assert [name for name in variables if name.startswith(("_ENVKIT", "_OLD_VIRTUAL"))] == []
    assert list(tmp_path.rglob("pwned")) == []


def values(prefix, **options) -> dict[str, str]:
    text = environment_code(str(prefix), Silent(), as_dotenv=True, **options)
    file = prefix.parent / ".env"
    file.write_text(text)
    return dotenv.dotenv_values(file)


def test_a_env_file(tmp_path, monkeypatch):
    toolkit = toolkit_at(tmp_path / "cuda-11.3")
    prefix = small_environment(tmp_path / "env", toolkit)
    monkeypatch.setenv("PYTHONPATH", "/my/modules")
    monkeypatch.setenv("PYTHONHOME", "/nowhere")  # venvs unset it; envkit itself runs all the same
    found = values(prefix)
    assert found["CUDA_HOME"] == str(toolkit.path)
    assert found["PATH"] == f"{toolkit.path}/bin:{prefix}/bin:{os.environ['PATH']}"
    assert found.keys() == {
        "CUDA_HOME", "CUDA_PATH", "PATH", "VIRTUAL_ENV", "UV_CONSTRAINT",
    }  # fmt: skip
    code = environment_code(str(prefix), Silent(), syntax="sh")
    assert "unset -v PYTHONHOME;\n" in code
    assert "PYTHONPATH" not in code


def test_a_conda_prefix(tmp_path, monkeypatch):
    toolkit = toolkit_at(tmp_path / "cuda-11.3")
    prefix = small_environment(tmp_path / "env", toolkit, backend="conda")
    (prefix / "etc" / "conda" / "activate.d" / "loud.sh").write_text("echo loud; export OF_A_PACKAGE=1\n")
    found = values(prefix)
    assert found["CONDA_PREFIX"] == str(prefix)
    assert found["PYTHONNOUSERSITE"] == found["OF_A_PACKAGE"] == found["CONDA_SHLVL"] == "1"
    assert found["PATH"].startswith(f"{toolkit.path}/bin:{prefix}/bin:")
    assert "CONDA_PROMPT_MODIFIER" not in found


def test_where_it_is_active_already(envkit, tmp_path):
    toolkit = toolkit_at(tmp_path / "cuda-11.3")
    prefix = small_environment(tmp_path / "env", toolkit)
    command = ["sh", "-c", '. "$0/bin/activate"; "$@"', prefix, *envkit.argv("env", prefix, "--dotenv")]
    done = subprocess.run(command, env=envkit.variables(), capture_output=True, text=True, check=True)
    assert {f"VIRTUAL_ENV={prefix}", f"CUDA_HOME={toolkit.path}"} < set(done.stdout.splitlines())


def test_what_hooks_say_is_told_and_not_printed(envkit, tmp_path):
    toolkit = toolkit_at(tmp_path / "cuda-98.7")
    prefix = small_environment(tmp_path / "env", toolkit)
    shutil.rmtree(toolkit.path)
    done = envkit("env", prefix, "--dotenv")
    assert done.code == 0
    assert "CUDA_HOME" not in done.out
    assert done.err.startswith("envkit: there is no CUDA toolkit")


@pytest.mark.parametrize(
    ("shell", "start"), [("/usr/bin/fish", "set -gx "), ("/bin/tcsh", "setenv "), ("/opt/nu", "export ")]
)
def test_the_default_is_the_user_s_shell(tmp_path, monkeypatch, shell, start):
    prefix = small_environment(tmp_path / "env", None)
    monkeypatch.setenv("SHELL", shell)
    assert environment_code(str(prefix), Silent()).startswith(start)


def test_failures(envkit, tmp_path):
    assert envkit("env", "nothing").code == 9
    prefix = small_environment(tmp_path / "env", None)
    with pytest.raises(UsageError, match="two forms"):
        environment_code(str(prefix), Silent(), syntax="sh", as_dotenv=True)
    (prefix / "bin" / "activate").unlink()
    done = envkit("env", prefix, "--dotenv")
    assert (done.code, done.out) == (6, "")
    assert "cannot be activated" in done.err
