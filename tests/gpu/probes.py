"""The checks of run.sh that use envkit's own code: ``probes.py PART FOLDER PYTHON``; status 77 means skipped."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

from envkit.activation import attach_hooks, install_hooks
from envkit.model.report import LAYERS, VerifyReport
from envkit.probes.nvidia_smi import query_gpus
from envkit.probes.toolkits import find_toolkits
from envkit.probes.torch_runtime import Expectation, verify_runtime

CUDA_SOURCE = """
#include <cstdio>
__global__ void add(int *out) { atomicAdd(out, threadIdx.x); }
int main() {
    int *sum = 0, result = 0;
    if (cudaMalloc(&sum, sizeof(int)) != cudaSuccess || cudaMemset(sum, 0, sizeof(int)) != cudaSuccess) return 2;
    add<<<2, 64>>>(sum);
    if (cudaDeviceSynchronize() != cudaSuccess) return 3;
    cudaMemcpy(&result, sum, sizeof(int), cudaMemcpyDeviceToHost);
    std::printf("%d\\n", result);
    return result == 2 * 63 * 32 ? 0 : 4;
}
"""
ACTIVATED = """
set -eu
. "$1/bin/activate"
[ "$CUDA_HOME" = "$2" ] && [ "$CUDA_PATH" = "$2" ]
[ "$(command -v nvcc)" = "$2/bin/nvcc" ]
nvcc -V | grep -F "release $3"
[ -z "$5" ] || { nvcc $5 -o "$4" "$4.cu" && "$4"; }
deactivate
[ -z "${CUDA_HOME+x}" ]
"""


def note(text: object) -> None:
    """What run.sh shows of a check that failed."""
    sys.stdout.write(f"{text}\n")


def said(text: object) -> None:
    """What run.sh shows beside the name of the check."""
    note(f"said: {text}")


def skip(reason: str) -> NoReturn:
    note(reason)
    sys.exit(77)


def torch_says(python: str, code: str) -> str:
    done = subprocess.run([python, "-c", f"import torch; print({code})"], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def nvidia_smi(_folder: Path, python: str) -> None:
    """The probe's answer is whole, and torch says the same."""
    report = query_gpus()
    note(report)
    assert report.status == "ok", report
    assert report.driver_version is not None
    assert report.banner
    assert report.gpus
    for gpu in report.gpus:
        assert gpu.name
        assert gpu.compute_capability
        assert (gpu.memory_total_mib or 0) > 1000
    if "CUDA_VISIBLE_DEVICES" not in os.environ:
        assert torch_says(python, "torch.cuda.device_count()") == str(len(report.gpus))
        capability = torch_says(python, "'%d.%d' % torch.cuda.get_device_capability(0)")
        assert capability in {str(gpu.compute_capability) for gpu in report.gpus}
    capability = report.gpus[0].compute_capability
    said(f"driver {report.driver_version}, {len(report.gpus)} GPUs, compute capability {capability}")


def fits(_folder: Path, python: str) -> None:
    """Every form of the answer tells the same facts, and a torch that computes here is not said to be unfit."""
    try:
        from envkit.compat.gpus import gpu_fact  # noqa: PLC0415 - needs more than the standard library
        from envkit.operations.machine import this_machine  # noqa: PLC0415
        from envkit.operations.spec_fit import fit_of  # noqa: PLC0415
        from envkit.probes.smi_text import parse_smi  # noqa: PLC0415
    except ImportError as error:
        skip(f"envkit's tables cannot be read with this Python: {error}")
    asked = query_gpus()
    for words in ([], ["-q"]):
        text = subprocess.run(["nvidia-smi", *words], check=True, capture_output=True, text=True).stdout
        read = parse_smi(text)
        note(read)
        assert (read.status, read.driver_version, read.cuda_version) == ("ok", asked.driver_version, asked.cuda_version)
        assert len(read.gpus) == len(asked.gpus)
        for one, other in zip(read.gpus, asked.gpus, strict=True):
            assert str(other.name).startswith(str(one.name).removesuffix("..."))
            assert one.memory_total_mib == other.memory_total_mib
    fact = gpu_fact(asked.gpus[0].name)
    assert fact is None or asked.gpus[0].compute_capability in {fact.capability, *fact.others}, fact
    torch, build = torch_says(python, "torch.__version__"), torch_says(python, "torch.version.cuda")
    version = subprocess.run(
        [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], check=True, capture_output=True, text=True
    )
    fit = fit_of(torch, build, version.stdout.strip(), this_machine())
    for check in fit.checks:
        note(check)
    assert not [check for check in fit.checks if check.status == "fail" and check.id != "build"], fit
    said(f"torch {torch} for CUDA {build}: fits {fit.fits}; the table knows the GPU: {fact is not None}")


def verify(_folder: Path, python: str) -> None:
    """All layers pass and measure something."""
    build = torch_says(python, "torch.version.cuda")
    packages = {"torch": torch_says(python, "torch.__version__")}
    layers = verify_runtime(Path(python), expect=Expectation(packages, build, smi=query_gpus()), layers=LAYERS)
    for layer in layers:
        note(layer)
    assert VerifyReport("device", layers).verified
    facts = {layer.layer: layer.facts for layer in layers}
    assert facts["device"]["device"].startswith("cuda")
    before, during, after = facts["memory"]["allocated_mib"]
    assert during > before
    assert during > after
    said(" ".join(f"{layer.layer} {layer.seconds:.1f} s" for layer in layers))


def hidden(_folder: Path, python: str) -> None:
    """A hidden GPU is no failure, and the variable is named."""
    build = torch_says(python, "torch.version.cuda")
    layers = verify_runtime(
        Path(python), expect=Expectation({}, build, smi=query_gpus()), layers=LAYERS, env={"CUDA_VISIBLE_DEVICES": "-1"}
    )
    report = VerifyReport("device", layers)
    note(report)
    assert report.not_verifiable
    assert "CUDA_VISIBLE_DEVICES" in (report.reason or "")
    said(report.reason)


def toolkits(_folder: Path, _python: str) -> None:
    """Toolkits are found, with versions, or there is no nvcc at all."""
    found = find_toolkits()
    for toolkit in found:
        note(toolkit)
        assert toolkit.path.is_dir()
    if not found:
        assert shutil.which("nvcc") is None, "nvcc is on PATH, but no toolkit was found"
        skip("no CUDA toolkit on this machine")
    said(", ".join(f"{toolkit.version} in {toolkit.path}" for toolkit in found))


def activation(folder: Path, python: str) -> None:
    """An activated environment compiles a CUDA program with its toolkit, and the program computes on the GPU."""
    toolkit = next((item for item in find_toolkits() if item.has_nvcc), None)
    if toolkit is None:
        skip("no CUDA toolkit with nvcc on this machine")
    prefix = folder / "environment with spaces"
    base = subprocess.run(
        [python, "-c", "import sys; print(getattr(sys, '_base_executable', sys.executable))"],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    subprocess.run([base, "-m", "venv", "--without-pip", prefix], check=True)
    install_hooks(prefix, slot="VENV", toolkit=toolkit, library_path=False)
    attach_hooks(prefix)
    program = folder / "sum"
    program.with_suffix(".cu").write_text(CUDA_SOURCE)
    flags = compile_flags(toolkit.path / "bin" / "nvcc")
    environ = {
        name: value for name, value in os.environ.items() if name not in {"CUDA_HOME", "CUDA_PATH", "PYTHONPATH"}
    }
    shells = [shell for shell in ("bash", "dash", "zsh") if shutil.which(shell)]
    for shell in shells:
        arguments = [str(prefix), str(toolkit.path), str(toolkit.release), str(program), flags]
        script = ("setopt sh_word_split\n" if shell == "zsh" else "") + ACTIVATED
        subprocess.run([shell, "-c", script, shell, *arguments], env=environ, check=True)
    told = (
        "compiled and ran a program"
        if flags
        else "nvcc has no code for this GPU, or there is no host compiler: not compiled"
    )
    said(f"{', '.join(shells)}: {told}")


def cuda_check(_folder: Path, _python: str) -> None:
    """Each toolkit with nvcc: its program sees the GPU, and the kernel's result is right."""
    found = [toolkit for toolkit in find_toolkits() if toolkit.has_nvcc]
    if not found:
        skip("no CUDA toolkit with nvcc on this machine")
    try:
        from envkit.model.progress import Silent  # noqa: PLC0415 - needs more than the standard library
        from envkit.operations.toolkit_check import check_toolkit  # noqa: PLC0415
    except ImportError as error:
        skip(f"envkit's tables cannot be read with this Python: {error}")
    told = []
    for toolkit in found:
        report = check_toolkit(toolkit, Silent())
        for step in report.steps:
            note(step)
        if not report.compiles and "g++" in str(report.failure and report.failure.reason):
            told.append(f"{toolkit.version}: no host compiler for it")
            continue
        assert report.compiles, f"{toolkit.path} does not compile"
        assert report.failure is None, report.failure
        device = report.facts("device")["devices"][0]
        kernel = report.facts("kernel")
        assert (
            device["compute_capability"] == str(query_gpus().gpus[0].compute_capability) or len(query_gpus().gpus) > 1
        )
        told.append(f"{toolkit.version}: {device['name']}, {kernel.get('compared', 'no code for it, not')} compared")
    said("; ".join(told))


def compile_flags(nvcc: Path) -> str:
    """nvcc's flags for this GPU; empty where it cannot compile for it."""
    capability = str(query_gpus().gpus[0].compute_capability).replace(".", "")
    known = subprocess.run([nvcc, "--list-gpu-code"], check=False, capture_output=True, text=True).stdout.split()
    if f"sm_{capability}" not in known or shutil.which("g++") is None:
        return ""
    return f"-gencode arch=compute_{capability},code=sm_{capability}"


if __name__ == "__main__":
    part, work, program = sys.argv[1:]
    {item.__name__: item for item in (nvidia_smi, fits, verify, hidden, toolkits, activation, cuda_check)}[part](
        Path(work), program
    )
