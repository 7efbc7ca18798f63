"""Two real toolkits, this machine's own and the one that ``envkit cuda install 13.2`` makes, in every shell."""

from __future__ import annotations

import subprocess

import pytest

from envkit.probes.toolkits import toolkit_at
from tests.support.toolkits import real_toolkit

pytestmark = pytest.mark.network
SHELLS = ["bash", "zsh", "dash", "fish", "tcsh", "xonsh"]
SOURCE = """#include <cuda_runtime.h>
#include <cstdio>
__global__ void add(int *a) { a[threadIdx.x] += 1; }
int main() {
    int version = 0;
    cudaRuntimeGetVersion(&version);
    std::printf("%d %d\\n", CUDART_VERSION, version);
    if (version < 0) add<<<1, 1>>>(nullptr);
}
"""


@pytest.fixture(scope="module")
def pair(real_toolkit_132, tmp_path_factory):
    """The two toolkits; skips where there is one only, or none that compiles."""
    folder, probe = real_toolkit(), tmp_path_factory.mktemp("probe")
    if folder is None:
        pytest.skip("no CUDA toolkit with nvcc in /usr/local")
    (probe / "probe.cu").write_text("int main() {}\n")
    command = [folder / "bin" / "nvcc", "probe.cu", "-o", "probe"]
    tried = subprocess.run(command, cwd=probe, capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"{folder}/bin/nvcc does not compile here: {tried.stderr}")
    return toolkit_at(folder, "test"), toolkit_at(real_toolkit_132, "test")


def in_force(session, environment, toolkit, *, compiles):
    """Both variables, PATH and nvcc itself say that it is this toolkit, and what it compiles is of its version."""
    assert environment["CUDA_HOME"] == environment["CUDA_PATH"] == str(toolkit.path)
    entries = [entry for entry in environment["PATH"].split(":") if "cuda" in entry]
    assert entries == [f"{toolkit.path}/bin"]
    assert environment["PATH"].startswith(f"{entries[0]}:")
    source = session.folder / "add.cu"
    source.write_text(SOURCE)
    session.do("nvcc -V > said.txt\n" + (f"nvcc -o {toolkit.release} add.cu > log.txt\n" if compiles else ""))
    assert f"release {toolkit.release}," in (session.folder / "said.txt").read_text()
    if compiles:
        major, minor = map(int, toolkit.release.split("."))
        said = subprocess.run([session.folder / toolkit.release], capture_output=True, text=True, check=True).stdout
        assert said == f"{major * 1000 + minor * 10} {major * 1000 + minor * 10}\n"


def outside(environment):
    return {name: value for name, value in environment.items() if not name.startswith(("CONDA_", "PS"))}


@pytest.mark.parametrize("name", SHELLS)
def test_conda_environments(name, pair, shell_named, start_conda, make_prefix):
    shell = shell_named(name)
    a, b = make_prefix("A", pair[0]), make_prefix("B", pair[1])
    conda = start_conda(shell)
    before = conda.environment
    in_force(conda.session, conda.activate(a), pair[0], compiles=True)
    in_force(conda.session, conda.activate(b), pair[1], compiles=True)
    in_force(conda.session, conda.deactivate(), pair[0], compiles=False)
    assert outside(conda.deactivate()) == outside(before)
    assert conda.session.stdout == ""
    if name != "xonsh":  # which has warnings of its own
        assert conda.session.stderr() == ""


@pytest.mark.parametrize("name", [name for name in SHELLS if name != "xonsh"])
def test_virtual_environments(name, pair, shell_named, start_session, make_venv, base_env, tmp_path):
    shell = shell_named(name)
    a, b = (make_venv("uv", tmp_path / folder, kit) for folder, kit in zip("AB", pair, strict=True))
    session = start_session(shell, {**base_env, "VIRTUAL_ENV_DISABLE_PROMPT": "1", "OSTYPE": "linux"})
    before = session.do("")
    for prefix, kit in ((a, pair[0]), (b, pair[1])):
        in_force(session, session.do(shell.source(prefix / "bin" / shell.script)), kit, compiles=False)
    assert outside(session.do("deactivate\n")) == outside(before)
    assert (session.stdout, session.stderr()) == ("", "")


def test_a_virtual_environment_in_xonsh_by_the_two_lines_of_the_docs(
    pair, shell_named, start_session, make_venv, tmp_path
):
    """virtualenv writes an activate.xsh, which envkit leaves alone; docs/activation.md says how to source the hooks."""
    shell = shell_named("xonsh")
    prefix = make_venv("virtualenv", tmp_path / "A", pair[1])
    session = start_session(shell)
    before = session.do("")
    hook = "$VIRTUAL_ENV/etc/conda/{}.d/envkit-cuda.sh"
    on, off = (f"source-bash {hook.format(word)}\n" for word in ("activate", "deactivate"))
    inside = session.do(f"source {prefix}/bin/activate.xsh\n{on}")
    assert inside["CUDA_HOME"] == str(pair[1].path)
    assert inside["PATH"].split(":")[:2] == [f"{pair[1].path}/bin", f"{prefix}/bin"]
    assert outside(session.do(f"{off}deactivate\n")) == outside(before)
