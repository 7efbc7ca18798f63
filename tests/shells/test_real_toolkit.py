"""A real CUDA toolkit of this machine, switched to by a real environment."""

from __future__ import annotations

import subprocess

import pytest

from envkit.activation import install_hooks
from envkit.probes.toolkits import find_toolkits

KERNEL = "__global__ void add(int *a) { a[threadIdx.x] += 1; }\nint main() { add<<<1, 1>>>(nullptr); return 0; }\n"


@pytest.fixture(scope="module")
def real():
    """The newest toolkit here, its own ``nvcc -V``, and whether it compiles at all."""
    toolkit = next((found for found in find_toolkits({}) if found.has_nvcc), None)
    if toolkit is None:
        pytest.skip("no CUDA toolkit with nvcc in the usual places")
    said = subprocess.run(
        [toolkit.path / "bin" / "nvcc", "-V"], capture_output=True, text=True, timeout=60, check=False
    )
    if said.returncode:
        pytest.skip(f"{toolkit.path}/bin/nvcc does not run here")
    return toolkit, said.stdout


@pytest.fixture(scope="module")
def prefix(real, make_venv, tmp_path_factory):
    return make_venv("uv", tmp_path_factory.mktemp("real") / "env with a space", real[0])


def test_nvcc_is_the_toolkits_own(shell, real, prefix, base_env, tmp_path):
    toolkit, said = real
    where = "which nvcc | cat\n" if shell.extension == "csh" else "command -v nvcc; true\n"
    text = f"{where}{shell.source(prefix / 'bin' / shell.script)}nvcc -V\n{where}deactivate\n{where}"
    done = shell.run(text, {**base_env, "OSTYPE": "linux"}, tmp_path / "run")
    outside = done.stdout[: done.stdout.index(said)]  # another nvcc, as in /usr/local/bin, or nothing
    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        f"{outside}{said}{toolkit.path}/bin/nvcc\n{outside}",
        "",
    )
    assert f"release {toolkit.release}," in said


def test_a_kernel_compiles(shell_named, real, prefix, base_env, tmp_path):
    shell = shell_named("bash")
    source = tmp_path / "add.cu"
    source.write_text(KERNEL)
    text = (
        f'{shell.source(prefix / "bin" / "activate")}nvcc -c "{source}" -o add.o && "$CUDA_HOME/bin/nvcc" --version\n'
    )
    done = shell.run(text, base_env, tmp_path / "run")
    if "host compiler" in done.stderr or "unsupported GNU" in done.stderr:
        pytest.skip(f"no host compiler that this nvcc takes: {done.stderr}")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "add.o").read_bytes()[:4] == b"\x7fELF"


def test_the_toolkit_of_another_machine_is_found_by_its_release(shell, real, tmp_path, base_env):
    from dataclasses import replace  # noqa: PLC0415

    toolkit, _ = real
    if toolkit.path.parent.as_posix() != "/usr/local" or toolkit.path.name != f"cuda-{toolkit.release}":
        pytest.skip("the toolkit here is not at its usual place")
    install_hooks(tmp_path / "env", slot="VENV", toolkit=replace(toolkit, path=tmp_path / "not" / "here"))
    hook = tmp_path / "env" / "etc" / "conda" / "activate.d" / f"envkit-cuda.{shell.extension}"
    done = shell.run(f"{shell.source(hook)}DUMP\n", base_env, tmp_path / "run")
    assert (done.stdout, done.stderr) == ("", "")
    assert done.dumps[0]["CUDA_HOME"] == str(toolkit.path)
