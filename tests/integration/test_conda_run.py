"""``envkit run`` and ``shell`` in a conda prefix: what ``conda activate`` would set, and the effect of the hooks."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from envkit.activation import install_hooks
from envkit.model.toolkit import Toolkit

NAME = "torch112_cpu_py311"


@pytest.fixture
def toolkit(tmp_path):
    path = tmp_path / "tool kits" / "cuda-11.3"
    (path / "bin").mkdir(parents=True)
    (path / "include").mkdir()
    (path / "version.json").write_text('{"cuda": {"name": "CUDA SDK", "version": "11.3.1"}}')
    nvcc = path / "bin" / "nvcc"
    nvcc.write_text("#!/bin/sh\necho release 11.3\n")
    nvcc.chmod(0o755)
    return path


@pytest.fixture
def environment(envkit, conda_channels, conda_home, toolkit, tmp_path):
    conda_home.condarc(channel_alias=conda_channels.alias)
    spec = tmp_path / "c.yaml"
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
    spec.write_text(json.dumps(content))
    done = envkit("create", spec, "--no-verify", "--toolkit", toolkit, "--json")
    assert done.code == 0, done.err
    made = done.json["environment"]
    assert made["backend"] == "conda"
    return Path(made["prefix"])


def seen(envkit, *, env=None) -> dict[str, str]:
    done = envkit("run", NAME, "--", "env", "-0", env=env)
    assert done.code == 0, done.err
    return dict(entry.split("=", 1) for entry in done.out.split("\0") if entry)


def test_c10_status_signals_and_output_are_the_command_s(envkit, environment):
    assert envkit("run", NAME, "--", "sh", "-c", "exit 7").code == 7
    assert envkit("run", NAME, "true").code == 0
    for number in (signal.SIGINT, signal.SIGKILL, signal.SIGTERM):
        assert envkit("run", NAME, "--", "sh", "-c", f"kill -{number:d} $$").code == 128 + number
    done = envkit("run", NAME, "--", "python", "-c", "import sys; sys.stdout.write('x' * 2**20)")
    assert (done.code, done.out == "x" * 2**20, done.err) == (0, True, "")
    arguments = ["a b", "$HOME", "it's", "--", "-x", "", "*"]
    done = envkit("run", NAME, "--", "python", "-c", "import sys; print(sys.argv[1:])", *arguments)
    assert done.out.strip() == repr(arguments)
    assert envkit("run", NAME, "--", "no-such-command").code == 127


def test_an_activated_environment(envkit, environment, toolkit):
    found = seen(envkit)
    assert found["PATH"].split(":")[:2] == [f"{toolkit}/bin", f"{environment}/bin"]
    expected = {
        "CUDA_HOME": str(toolkit),
        "CUDA_PATH": str(toolkit),
        "CONDA_PREFIX": str(environment),
        "CONDA_DEFAULT_ENV": NAME,
        "CONDA_SHLVL": "1",
        "PYTHONNOUSERSITE": "1",
    }
    assert {name: found.get(name) for name in expected} == expected
    assert "UV_CONSTRAINT" not in found
    assert "VIRTUAL_ENV" not in found
    done = envkit("run", NAME, "--", "python", "-c", "import sys; print(sys.prefix, sys.flags.no_user_site)")
    assert done.out.split() == [str(environment), "1"]


def test_another_conda_environment_is_left_first(envkit, environment, toolkit, tmp_path):
    other = tmp_path / "other" / "envs" / "o"
    old = tmp_path / "cuda-10.2"
    (old / "bin").mkdir(parents=True)
    install_hooks(other, slot="CONDA", toolkit=Toolkit("10.2", "10.2", old, "test", has_nvcc=True))
    script = tmp_path / "script"
    script.write_text(f". '{other}/etc/conda/activate.d/envkit-cuda.sh'\nexec \"$@\"\n")
    active = {"PATH": f"{other}/bin:{os.environ['PATH']}", "CONDA_PREFIX": str(other), "CONDA_SHLVL": "1"}
    done = subprocess.run(
        ["/bin/sh", script, *envkit.argv("run", NAME, "--", "env", "-0")],
        env=envkit.variables({**active, "CUDA_HOME": "/opt/mine"}),
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    found = dict(entry.split("=", 1) for entry in done.stdout.split("\0") if entry)
    path = found["PATH"].split(":")
    assert path[:2] == [f"{toolkit}/bin", f"{environment}/bin"]
    assert not {f"{other}/bin", f"{old}/bin"}.intersection(path)
    assert (found["CONDA_SHLVL"], found["CONDA_PREFIX_1"]) == ("2", str(other))
    assert found["CUDA_HOME"] == str(toolkit)
    assert found["_ENVKIT_CONDA_HOME_WAS"] == "/opt/mine"


def test_hooks_and_variables_of_other_packages(envkit, environment):
    folder = environment / "etc" / "conda"
    (folder / "env_vars.d").mkdir()
    (folder / "env_vars.d" / "x.json").write_text('{"OF_A_PACKAGE": "a b"}')
    # conda runs such a hook with bash; another shell cannot read it
    hook = 'function f() { local -a x=(1 2); export OF_A_HOOK="$OF_A_PACKAGE ${#x[@]}"; }\nf\n'
    (folder / "activate.d" / "a-package.sh").write_text(hook)
    assert envkit("run", NAME, "--", "sh", "-c", 'echo "$OF_A_HOOK"').out == ("a b 2\n" if shutil.which("bash") else "")


@pytest.mark.parametrize(
    ("shell", "has_conda"),
    [*((name, False) for name in ("bash", "zsh", "fish", "dash")), *((name, True) for name in ("bash", "zsh", "fish"))],
)
def test_shell_is_an_activated_interactive_shell(envkit, environment, toolkit, shell, has_conda):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")
    home = Path(os.environ["HOME"])
    files = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}
    if has_conda:
        function = "function conda; echo conda $argv; end" if shell == "fish" else 'conda () { echo conda "$@"; }'
        (home / files[shell]).parent.mkdir(parents=True, exist_ok=True)
        (home / files[shell]).write_text(f"{function}\n")
    done = subprocess.run(
        envkit.argv("shell", NAME),
        input='echo "$CONDA_PREFIX:$CUDA_HOME:$PYTHONNOUSERSITE"\nexit 5\n',
        capture_output=True,
        text=True,
        env=envkit.variables({"SHELL": program, "TERM": "dumb"}),
        timeout=60,
        check=False,
        start_new_session=True,
    )
    out = done.stdout.replace("\r", "")
    if has_conda:
        assert f"conda activate {environment}\n" in out
    else:
        assert f"{environment}:{toolkit}:1" in out
    assert done.returncode == 5


def test_hooks_show_remove_and_install(envkit, environment, toolkit):
    folder = environment / "etc" / "conda"

    def names():
        return {path.name for path in folder.rglob("envkit-*") if "guard" not in path.name}

    shown = envkit("hooks", "show", NAME, "--json").json["hooks"]
    assert {(item["state"], item["toolkit"]) for item in shown} == {("current", str(toolkit))}
    assert {Path(item["file"]).relative_to(folder).as_posix() for item in shown} == {
        f"{way}.d/envkit-cuda.{end}"
        for way in ("activate", "deactivate")
        for end in ("sh", "fish", "csh", "ps1", "bat")
    }
    assert "_ENVKIT_CONDA_TOOLKIT" in (folder / "activate.d" / "envkit-cuda.sh").read_text()

    assert envkit("hooks", "remove", environment).code == 0
    assert names() == {f"envkit-cleanup.{end}" for end in ("sh", "fish", "csh", "ps1")}
    assert "CUDA_HOME" not in seen(envkit)
    # the environment is envkit's own, so clean-all has nothing to say about its hook
    done = envkit("hooks", "clean-all", "--remove", "--json")
    assert (done.json["prefixes"], names()) == ([], {f"envkit-cleanup.{end}" for end in ("sh", "fish", "csh", "ps1")})

    (folder / "activate.d" / "envkit-guard.sh").unlink()
    assert envkit("hooks", "install", NAME, "--toolkit", toolkit).code == 0
    assert (folder / "activate.d" / "envkit-guard.sh").exists()
    assert names() == {f"envkit-cuda.{end}" for end in ("sh", "fish", "csh", "ps1", "bat")}
    assert not (environment / "bin" / "activate").exists()
    assert seen(envkit)["CUDA_HOME"] == str(toolkit)
