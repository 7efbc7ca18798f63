"""Verify through the command line, with a stub of torch and a stub of nvidia-smi: no GPU is needed, none is proved.

The stubs are those of ``tests/data/stub_torch`` and a script first on PATH; what they answer is said in each test.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.wheels import make_wheel

DATA = Path(__file__).parents[1] / "data" / "stub_torch"
NAME = "torch111_cu113_py39"
GPU = "0, NVIDIA A100-SXM4-80GB, 535.104.05, 81920, 8.0\n"
ARCHITECTURES = ["sm_37", "sm_50", "sm_70", "sm_80", "sm_86"]
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 460.73\n"
"""As nvidia-smi says it; tests/data/nvidia-smi has the origin."""


@pytest.fixture
def stub_environment(envkit, project):
    """An environment whose packages are stubs that behave as STUB_TORCH says; it was made without verification."""
    for wheel in project.wheels:
        wheel.unlink()
    for name, version, folder in (
        ("torch", "1.11.0+cu113", project.source.folder),
        ("torchvision", "0.12.0+cu113", project.source.folder),
        ("torchaudio", "0.11.0+cu113", project.source.folder),
        ("numpy", "1.26.4", project.default.folder),
    ):
        files = {f"{name}/{path.name}": path.read_bytes() for path in (DATA / name).glob("*.py")}
        make_wheel(folder, name, version, files=files, tags="cp39-cp39-linux_x86_64")
    project.write_lock(spec_sha256=None)
    done = envkit("create", project.lock, "--no-verify", "--json")
    assert done.code == 0, done.err
    return Path(done.json["environment"]["prefix"])


@pytest.fixture
def smi(tmp_path, monkeypatch):
    """Put a stub of nvidia-smi first on PATH."""

    def put(text: str, status: int = 0) -> None:
        folder = tmp_path / "smi"
        folder.mkdir(exist_ok=True)
        (folder / "answer").write_text(text)
        script = folder / "nvidia-smi"
        script.write_text(f'#!/bin/sh\ncat "{folder}/answer"\nexit {status}\n')
        script.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    return put


def _behave(**changes) -> dict[str, str]:
    config = {"version": "1.11.0+cu113", "cuda": "11.3", "torchvision": "0.12.0+cu113", "torchaudio": "0.11.0+cu113"}
    return {"STUB_TORCH": json.dumps(config | changes)}


@pytest.mark.parametrize("value", ["", "-1", "1"])
def test_a_gpu_hidden_by_a_variable_is_told_with_its_value(envkit, stub_environment, smi, value):
    """EK-C25: the first three runs."""
    smi(GPU)
    done = envkit("verify", NAME, "--json", env=_behave() | {"CUDA_VISIBLE_DEVICES": value})

    assert done.code == 10
    device = next(layer for layer in done.json["layers"] if layer["layer"] == "device")
    assert device["status"] == "skip"
    assert f"CUDA_VISIBLE_DEVICES='{value}'" in device["reason"]
    assert done.json["error"]["type"] == "NotVerifiable"
    said = f"{done.out} {done.err}".lower()
    assert "reinstall" not in said
    assert "restore" not in done.json["error"]["hint"]
    assert envkit("snapshot", "list", NAME, "--json").json["snapshots"] == []


def test_a_gpu_that_nothing_hides_leads_on_to_driver_and_build(envkit, stub_environment, smi):
    """EK-C25: the fourth run."""
    smi(GPU)
    done = envkit("verify", NAME, "--json", env=_behave() | {"CUDA_VISIBLE_DEVICES": None})

    assert done.code == 6
    device = next(layer for layer in done.json["layers"] if layer["layer"] == "device")
    assert device["status"] == "fail"
    assert "535.104.05" in device["reason"]
    assert "11.3" in device["reason"]
    assert "CUDA_VISIBLE_DEVICES" not in device["reason"]


def test_an_environment_with_a_gpu_is_verified_and_the_snapshot_names_it(envkit, stub_environment, smi):
    smi(GPU)
    behaviour = _behave(gpus=[["NVIDIA A100-SXM4-80GB", 8, 0]], arch_list=ARCHITECTURES)
    done = envkit("verify", NAME, "--json", env=behaviour)

    assert done.code == 0, done.json["layers"]
    assert done.json["verified"] is True
    snapshots = envkit("snapshot", "list", NAME, "--json").json["snapshots"]
    assert snapshots[0]["driver_version"] == "535.104.05"
    assert snapshots[0]["gpus"] == ["NVIDIA A100-SXM4-80GB"]
    assert snapshots[0]["torch_version"] == "1.11.0+cu113"
    shown = envkit("snapshot", "show", NAME).out
    assert "535.104.05" in shown
    listed = envkit("list", "--json").json["environments"][0]
    assert listed["verified_at"] == snapshots[0]["taken_at"]

    smi(GPU.replace("535.104.05", "560.35.03"))
    assert envkit("remove", NAME, "--yes").code == 0
    restored = envkit("restore", NAME, "--no-verify")
    assert restored.code == 0, restored.err
    assert "The driver was 535.104.05 then, it is 560.35.03 now." in restored.err


def test_a_crashing_environment_does_not_take_envkit_along(envkit, stub_environment, smi):
    smi(GPU)
    behaviour = _behave(gpus=[["NVIDIA A100-SXM4-80GB", 8, 0]], arch_list=ARCHITECTURES, at={"product": "SIGSEGV"})
    done = envkit("verify", NAME, "--json", env=behaviour)

    assert done.code == 6
    compute = next(layer for layer in done.json["layers"] if layer["layer"] == "compute")
    assert compute["status"] == "fail"
    assert "SIGSEGV" in compute["reason"]
    assert [layer["status"] for layer in done.json["layers"]] == ["pass", "pass", "fail", "skip"]


def test_no_gpu_here(envkit, project, stub_environment):
    done = envkit("verify", NAME, "--json", env=_behave())
    shallow = envkit("verify", NAME, "--level", "import", "--json", env=_behave())
    created = envkit("create", project.lock, "--name", "second", "--json", env=_behave())

    assert done.code == 10
    assert done.json["ok"] is False
    assert [layer["status"] for layer in done.json["layers"]] == ["pass", "skip", "skip", "skip"]
    assert "no GPU here" in done.json["error"]["why"]
    assert shallow.code == 0
    assert shallow.json["ok"] is True
    assert shallow.json["verified"] is False
    assert created.code == 0, created.err
    assert created.json["created"] is True
    assert created.json["verify"]["verified"] is False
    assert created.json["snapshot"] is None
    text = envkit("create", project.lock, "--name", "third", env=_behave())
    assert "third: created, not verified: no GPU here" in text.out


def test_a_driver_that_does_not_answer_is_no_missing_gpu(envkit, stub_environment, smi):
    """EK-C22, as far as verify and snapshot go."""
    smi(MISMATCH, status=18)
    done = envkit("snapshot", "take", NAME, "--json", env=_behave())

    assert done.code == 10
    assert done.json["snapshot"] is None
    assert "mismatch" in done.json["error"]["why"]
    assert "no GPU here" not in done.json["error"]["why"]


def test_a_driver_that_is_too_old_refuses_before_a_byte_is_downloaded(envkit, project, smi):
    content = project.lock_content()
    needs = {"driver": {"minimum": "450.80.02", "toolkit": "465.19.01", "known": "confirmed"}}
    content["platforms"]["linux-64"]["needs"] = needs
    project.write_lock(spec_sha256=content["spec_sha256"], platforms=content["platforms"])

    smi(GPU.replace("535.104.05", "418.87.01"))
    old = envkit("create", project.spec, "--json")
    assert old.code == 3
    assert "418.87.01" in old.json["error"]["message"]
    assert "450.80.02" in old.json["error"]["message"]
    assert "confirmed" in old.json["error"]["why"]
    assert project.source.requests == project.default.requests == []
    smi(GPU.replace("535.104.05", "460.27.04"))
    between = envkit("create", project.spec, "--no-verify")
    assert between.code == 0
    assert "465.19.01" in between.err
    smi(GPU.replace("535.104.05", "418.87.01"))
    assert envkit("create", project.spec, "--no-verify", "--force", "--name", "forced").code == 0
    target = envkit("create", project.spec, "--no-verify", "--cuda", "12.4", "--name", "elsewhere")
    assert target.code == 0
