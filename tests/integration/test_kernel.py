"""``envkit kernel``: Jupyter starts it, it has the variables, and Jupyter's signals reach it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from envkit import process
from envkit.activation import install_hooks
from envkit.errors import EnvkitError
from envkit.installers.indexes import read_pip_config, uv_index_arguments, uv_index_environment
from envkit.installers.uv import uv_environment, uv_program
from envkit.model.progress import Silent
from envkit.model.toolkit import Toolkit
from envkit.operations.environments import find_environment
from envkit.operations.kernel import make_kernel, remove_kernel
from tests.support.small_environments import small_environment
from tests.support.toolkits import stub_toolkit

TALK = """
import json, os, sys
from jupyter_client.manager import KernelManager
manager = KernelManager(kernel_name=sys.argv[1])
manager.start_kernel()
client = manager.client()
client.start_channels()
client.wait_for_ready(timeout=60)
said = []
def hear(message):
    if message["msg_type"] == "stream":
        said.append(message["content"]["text"])
ask = "import os, sys, json; print(json.dumps([os.getpid(), sys.executable, dict(os.environ)]), flush=True)"
client.execute_interactive(ask, timeout=30, output_hook=hear)
pid, executable, variables = json.loads("".join(said))
def interrupt(message):
    if message["msg_type"] == "stream":
        manager.interrupt_kernel()
slow = "import time; print('begun', flush=True); time.sleep(60)"
reply = client.execute_interactive(slow, timeout=30, output_hook=interrupt)
again = client.execute_interactive("1 + 1", timeout=30, output_hook=lambda _: None)
client.stop_channels()
manager.shutdown_kernel()
try:
    os.kill(pid, 0)
    is_gone = False
except ProcessLookupError:
    is_gone = True
json.dump({
    "executable": executable, "variables": variables, "is_gone": is_gone,
    "interrupted": reply["content"].get("ename"), "again": again["content"]["status"],
}, sys.stdout)
"""


def kernels() -> Path:
    return Path(os.environ["XDG_DATA_HOME"]) / "jupyter" / "kernels"


def toolkit_at(folder) -> Toolkit:
    return Toolkit("11.3", "11.3", stub_toolkit(folder, "11.3"), "test", has_nvcc=True)


def install_ipykernel(prefix: Path) -> None:
    """From this machine's index; jupyter_client, with which the test talks to it, comes along."""
    config = read_pip_config()
    variables = process.clean_environment(uv_environment() | uv_index_environment(config))
    command = [uv_program(), "pip", "install", "--python", prefix / "bin" / "python", *uv_index_arguments(config)]
    subprocess.run([*command, "ipykernel"], check=True, capture_output=True, env=variables)


def talk(envkit, prefix: Path) -> dict[str, str]:
    """Make a kernel, let Jupyter start, use, interrupt and end it; gives the variables of its process."""
    made = envkit("kernel", prefix, "--json")
    assert made.code == 0, made.err
    kernel = made.json["kernel"]
    assert (kernel["name"], kernel["path"]) == ("an-env", str(kernels() / "an-env"))
    script = prefix.parent / "talk.py"
    script.write_text(TALK)
    command = [prefix / "bin" / "python", "-W", "ignore", script, kernel["name"]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=prefix.parent)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    variables = told.pop("variables")
    assert told == {
        "executable": str(prefix / "bin" / "python"),
        "is_gone": True,
        "interrupted": "KeyboardInterrupt",
        "again": "ok",
    }
    return variables


@pytest.mark.network
@pytest.mark.slow
def test_jupyter_starts_it_and_its_signals_reach_it(envkit, tmp_path, monkeypatch):
    toolkit = toolkit_at(tmp_path / "it's" / "cuda-11.3")
    prefix = small_environment(tmp_path / "an env", toolkit, guard=False)
    install_ipykernel(prefix)
    variables = talk(envkit, prefix)
    assert variables["CUDA_HOME"] == str(toolkit.path)
    assert variables["PATH"].startswith(f"{toolkit.path}/bin:{prefix}/bin:")
    assert variables["VIRTUAL_ENV"] == str(prefix)

    # the same folder as a conda prefix, as far as activation goes; Jupyter runs in another one
    (prefix / "conda-meta").mkdir()
    (prefix / "conda-meta" / "history").touch()
    (prefix / "conda-meta" / "state").write_text(json.dumps({"env_vars": {"MINE": "it's $mine"}}))
    record = prefix / ".envkit" / "environment.json"
    record.write_text(json.dumps(json.loads(record.read_text()) | {"backend": "conda"}))
    install_hooks(prefix, slot="CONDA", toolkit=toolkit)
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path))
    monkeypatch.setenv("CONDA_SHLVL", "1")
    (tmp_path / "etc" / "conda" / "deactivate.d").mkdir(parents=True)
    for name in ("1", "2"):
        (tmp_path / "etc" / "conda" / "deactivate.d" / f"{name}.sh").write_text(f'export LEFT="${{LEFT-}}{name}"\n')
    variables = talk(envkit, prefix)
    assert variables["CUDA_HOME"] == str(toolkit.path)
    assert variables["PATH"].startswith(f"{toolkit.path}/bin:{prefix}/bin:")
    assert (variables["CONDA_PREFIX"], variables["MINE"], variables["LEFT"]) == (str(prefix), "it's $mine", "21")


@pytest.fixture
def environment(tmp_path):
    """An environment that says it has ipykernel."""
    prefix = small_environment(tmp_path / "Env 1", None, guard=False)
    (site,) = prefix.glob("lib/python3*/site-packages")
    (site / "ipykernel-7.0.dist-info").mkdir()
    return prefix


def code_of(call) -> int:
    with pytest.raises(EnvkitError) as caught:
        call()
    return int(caught.value.exit_code)


def test_there_and_back(envkit, environment):
    prefix = str(environment)
    done = envkit("kernel", prefix)
    assert done.out == f"Made the kernel env-1 in {kernels()}/env-1. Jupyter shows it as Env 1.\n"
    spec = json.loads((kernels() / "env-1" / "kernel.json").read_text())
    assert spec["argv"] == ["/bin/sh", f"{kernels()}/env-1/start.sh", "-f", "{connection_file}"]
    assert (spec["display_name"], spec["language"]) == ("Env 1", "python")
    again = make_kernel(prefix, None, "CUDA 11", Silent())
    assert json.loads((kernels() / "env-1" / "kernel.json").read_text())["display_name"] == "CUDA 11"
    assert again.to_json()["kernel"]["display_name"] == "CUDA 11"
    make_kernel(prefix, "second", None, Silent())
    assert code_of(lambda: remove_kernel(prefix, None)) == 2
    assert remove_kernel(prefix, "second").name == "second"
    assert envkit("kernel", prefix, "--remove").out == f"Removed the kernel env-1 in {kernels()}/env-1.\n"
    assert list(kernels().iterdir()) == []
    assert envkit("kernel", prefix, "--remove", "--json").code == 9


def test_of_an_environment_that_has_gone(environment):
    make_kernel(str(environment), None, None, Silent())
    environment.rename(environment.with_name("moved"))
    done = remove_kernel("Env 1", None)
    assert (done.environment, done.to_json()["environment"]) == (None, None)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "A", "a b", "ünï", "-x\n"])
def test_a_name_that_jupyter_does_not_take(environment, name):
    assert code_of(lambda: make_kernel(str(environment), name, None, Silent())) == 2
    assert not kernels().exists()


def test_a_kernel_of_somebody_else_stays(environment, tmp_path):
    folder = kernels() / "python3"
    folder.mkdir(parents=True)
    (folder / "kernel.json").write_text('{"argv": ["python"], "display_name": "Python 3", "language": "python"}')
    assert code_of(lambda: make_kernel(str(environment), "python3", None, Silent())) == 11
    assert code_of(lambda: remove_kernel(str(environment), "python3")) == 9
    (folder / "kernel.json").unlink()
    (folder / "logo.png").touch()
    assert code_of(lambda: make_kernel(str(environment), "python3", None, Silent())) == 11
    (folder / "logo.png").rename(folder / "start.sh")  # what a kill of ours leaves
    make_kernel(str(environment), "python3", None, Silent())
    other = small_environment(tmp_path / "other", None, guard=False)
    (next(other.glob("lib/python3*/site-packages")) / "ipykernel-7.0.dist-info").mkdir()
    assert code_of(lambda: make_kernel(str(other), "python3", None, Silent())) == 11
    (environment / ".envkit" / "environment.json").unlink()
    assert make_kernel(str(other), "python3", None, Silent()).environment == find_environment(str(other))


def test_without_ipykernel(envkit, tmp_path):
    prefix = small_environment(tmp_path / "env", None, guard=False)
    done = envkit("kernel", prefix, "--json")
    assert (done.code, done.json["kernel"]) == (9, None)
    assert done.json["error"]["hint"] == f"`envkit add {prefix} ipykernel` adds it."
    assert not kernels().exists()


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_DATA_HOME": ""}, "~/.local/share/jupyter"),
        ("linux", {"JUPYTER_DATA_DIR": "/j"}, "/j"),
        ("linux", {"JUPYTER_PLATFORM_DIRS": "1", "XDG_DATA_HOME": "/x"}, "/x/jupyter"),
        ("darwin", {}, "~/Library/Jupyter"),
    ],
)
def test_where_jupyter_looks(environment, monkeypatch, platform, variables, expected):
    from envkit.operations import kernel  # noqa: PLC0415

    monkeypatch.setattr(kernel.sys, "platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert kernel._data_dir() == Path(expected).expanduser()
    assert sys.platform == platform
