from __future__ import annotations

from dataclasses import replace

import pytest

from envkit.errors import InvalidFileError, UsageError
from envkit.model.conda_record import CondaRecord
from envkit.model.driver import DriverVersion
from envkit.model.spec import parse_spec
from envkit.operations import conda_lock, virtual_packages
from envkit.operations.conda_lock import build_cuda_of, solve_platform
from envkit.operations.virtual_packages import Target, target_cuda
from tests.support.spec_samples import CONDA


class Notes:
    """Keeps what is told."""

    def __init__(self):
        self.told = []

    def step(self, text):
        pass

    def note(self, text):
        self.told.append(text)

    def screen(self):
        return None

    def close(self):
        pass


def record(name, build, depends=(), channel="pytorch"):
    return CondaRecord(name, "1.0", build, channel, "linux-64", f"{name}-1.0-{build}.conda", "ab" * 32, depends=depends)


@pytest.mark.parametrize(
    ("build", "depends", "cuda"),
    [
        ("py3.9_cuda11.3_cudnn8.3.2_0", ("cudatoolkit 11.3.*",), "11.3"),
        ("py3.10_cuda12.1_cudnn8.9.2_0", (), "12.1"),
        ("cuda112py39h3fe9bb7_0", ("cudatoolkit >=11.2,<12",), "11.2"),
        ("cuda126_mkl_py311_h1234567_300", ("cuda-version >=12.6,<13",), "12.6"),
        ("py3.9_cpu_0", ("cpuonly",), "cpu"),
        ("cpu_mkl_py311h123_100", (), "cpu"),
        ("py39_0", ("pytorch-cuda 11.7.*",), "11.7"),
        ("py39_0", ("cuda-version >=12.9,<13",), "12.9"),
        ("py39_0", ("numpy",), "cpu"),
        ("py39_0", ("cuda-cudart",), None),
        ("cuda_0", ("cuda-cudart",), None),
    ],
)
def test_the_build_cuda_of_a_channels_torch(build, depends, cuda):
    # builds as PyTorch's channel and conda-forge name them
    assert build_cuda_of(record("pytorch", build, depends)) == cuda


def test_what_the_target_serves(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))  # no nvidia-smi
    notes = Notes()
    assert target_cuda(None, "linux-64", Target("12.4"), notes) is None
    assert target_cuda("11.3", "linux-64", Target("12.4", DriverVersion.parse("450.80.02")), notes) == "12.4"
    assert target_cuda("11.3", "linux-64", Target(None, DriverVersion.parse("470.57.02")), notes) == "11.4"
    assert target_cuda("11.3", "win-64", Target("auto", DriverVersion.parse("461.33")), notes) == "11.2"
    assert notes.told == []
    assert target_cuda("11.3", "linux-64", Target(), notes) == "11.3"
    assert "No NVIDIA driver answers here" in notes.told[0]
    monkeypatch.setenv("CONDA_OVERRIDE_CUDA", "12.0")
    assert target_cuda("11.3", "linux-64", Target(), notes) == "12.0"
    monkeypatch.setenv("CONDA_OVERRIDE_CUDA", "")
    assert target_cuda("11.3", "linux-64", Target(), notes) is None


@pytest.mark.parametrize(
    ("line", "cuda"),
    [
        ("Driver Version: 535.54.03 CUDA Version: 12.2", "12.2"),
        ("KMD Version: 535.54.03 CUDA UMD Version: 13.1", "13.1"),
    ],
)
def test_the_driver_of_this_machine(monkeypatch, tmp_path, line, cuda):
    stub = tmp_path / "nvidia-smi"  # a stand-in for the program
    stub.write_text(
        f"#!/bin/sh\ncase $1 in '') echo '| NVIDIA-SMI 535.54.03 {line} |';; *) echo 0, X, 535.54.03, 1;; esac\n"
    )
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert target_cuda("11.3", "linux-64", Target(), Notes()) == cuda


def test_the_driver_of_this_machine_counts_for_its_platform_alone(monkeypatch, tmp_path):
    stub = tmp_path / "nvidia-smi"
    stub.write_text("#!/bin/sh\necho '| NVIDIA-SMI 450.80.02 Driver Version: 450.80.02 CUDA Version: 11.0 |'\n")
    stub.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    notes = Notes()
    assert target_cuda("12.6", "linux-64", Target(), notes) == "11.0"
    assert target_cuda("12.6", "win-64", Target(), notes) == "12.6"
    assert "The driver of the win-64 machine is not known" in notes.told[0]


@pytest.mark.parametrize("text", ["newest", "12 4", "-", "12.4; x", "v12"])
def test_an_override_that_is_no_version_is_told(monkeypatch, text):
    monkeypatch.setenv("CONDA_OVERRIDE_CUDA", text)
    with pytest.raises(UsageError, match="CONDA_OVERRIDE_CUDA"):
        target_cuda("11.3", "linux-64", Target(), Notes())
    monkeypatch.setenv("CONDA_OVERRIDE_GLIBC", text)
    with pytest.raises(UsageError, match="CONDA_OVERRIDE_GLIBC"):
        virtual_packages.virtual_packages("linux-64", cuda=None)


def test_this_machine_and_another_one(monkeypatch):
    here = {name: version for name, version, _ in virtual_packages.virtual_packages("linux-64", cuda="12.4")}
    assert {"__unix", "__linux", "__glibc", "__archspec", "__cuda"} == set(here)
    assert here["__cuda"] == "12.4"
    other = virtual_packages.virtual_packages("win-64", cuda=None)
    assert other == (("__win", "0", "0"), ("__archspec", "1", "x86_64"))
    assert ("__osx", "11.0", "0") in virtual_packages.virtual_packages("osx-arm64", cuda=None)
    assert ("__glibc", "2.28", "0") in virtual_packages.virtual_packages("linux-aarch64", cuda=None)
    monkeypatch.setenv("CONDA_OVERRIDE_GLIBC", "2.17")
    assert ("__glibc", "2.17", "0") in virtual_packages.virtual_packages("linux-64", cuda=None)


def solved(monkeypatch, records):
    asked = {}

    def solve(channels, specs, **options):
        asked.update(channels=channels, specs=specs, **options)
        return [item.to_dict() for item in records]

    monkeypatch.setattr(conda_lock, "solve", solve)
    return asked


def test_what_the_solver_is_asked_and_what_the_lock_needs(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    torch = record("pytorch", "py3.9_cuda11.3_cudnn8.3.2_0", ("__glibc >=2.17,<3.0.a0",))
    torch = replace(torch, requested="pytorch=1.12.1")
    asked = solved(monkeypatch, [torch])
    spec = parse_spec(CONDA, "c.yaml")
    old = record("numpy", "0")
    found = solve_platform(spec, "linux-64", kept=[old], target=Target("12.4"), progress=Notes())
    assert found.base == (torch,)
    assert found.needs["glibc"] == {"minimum": "2.17", "known": "confirmed"}
    assert found.needs["driver"]["minimum"] == "450.80.02"
    assert asked["channels"] == ("pytorch", "conda-forge")
    assert asked["specs"] == ["python 3.9.*", "pytorch=1.12.1"]
    assert ("__cuda", "12.4", "0") in asked["virtual_packages"]
    assert asked["locked"] == [old.to_dict()]


@pytest.mark.parametrize(
    ("build", "cuda", "said"),
    [
        ("py3.9_cpu_0", '"11.3"', "is a CPU build, the spec says cuda: 11.3"),
        ("py3.9_cuda11.6_cudnn8_0", '"11.3"', "built for CUDA 11.6, the spec says cuda: 11.3"),
        ("py3.9_cuda11.6_cudnn8_0", "cpu", "built for CUDA 11.6, the spec says cuda: cpu"),
    ],
)
def test_another_build_than_the_spec_says_is_refused(monkeypatch, tmp_path, build, cuda, said):
    monkeypatch.setenv("PATH", str(tmp_path))
    solved(monkeypatch, [record("pytorch", build)])
    spec = parse_spec(CONDA.replace('cuda: "11.3"', f"cuda: {cuda}"), "c.yaml")
    with pytest.raises(InvalidFileError, match=said) as caught:
        solve_platform(spec, "linux-64", kept=[], target=Target(), progress=Notes())
    assert "Name the build" in (caught.value.hint or "")


def test_without_torch_there_is_nothing_to_compare(monkeypatch):
    solved(monkeypatch, [record("numpy", "0")])
    spec = parse_spec(CONDA.replace("pytorch=1.12.1", "numpy"), "c.yaml")
    assert solve_platform(spec, "linux-64", kept=[], target=Target("11.3"), progress=Notes()).base[0].name == "numpy"


def test_a_match_spec_that_is_none_is_the_specs_fault(monkeypatch):
    def solve(channels, specs, **options):
        raise UsageError("'pytorch=x y z' is no MatchSpec.", hint="Write it as in pytorch=1.12.1.")

    monkeypatch.setattr(conda_lock, "solve", solve)
    with pytest.raises(InvalidFileError, match=r"c\.yaml: 'pytorch=x y z' is no MatchSpec") as caught:
        solve_platform(parse_spec(CONDA, "c.yaml"), "linux-64", kept=[], target=Target("11.3"), progress=Notes())
    assert caught.value.exit_code == 4
