"""A real CUDA build from PyPI, on a machine without a GPU."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.xdist_group("real torch")]

NAME = "torch111_cu102_py39"


def test_create_torch111_cu102(envkit):
    found = envkit("create", "torch111-cu102", "--dry-run")
    if found.code == 3:
        pytest.skip(f"no Python 3.9 here: {found.err}")
    done = envkit("create", "torch111-cu102", "--json", timeout_s=900)
    assert done.code == 0, done.err
    environment = done.json["environment"]
    assert environment["name"] == NAME
    assert environment["build_cuda"] == "10.2"
    layers = {layer["layer"]: layer for layer in done.json["verify"]["layers"]}
    assert layers["import"]["status"] == "pass"
    assert layers["import"]["facts"]["torch_version"] == "1.11.0+cu102"
    if layers["device"]["status"] != "skip":
        pytest.skip("there is a GPU here; what follows is about a machine without one")

    said = subprocess.run(
        [Path(environment["prefix"], "bin", "python"), "-c", "import torch; print(torch.version.cuda)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.strip() == "10.2"
    verify = envkit("verify", NAME, "--json")
    assert verify.code == 10
    assert verify.json["layers"][0]["status"] == "pass"
    assert verify.json["snapshot"] is None
    assert envkit("verify", NAME, "--level", "import").code == 0
    assert envkit("snapshot", "list", NAME, "--json").json["snapshots"] == []
    again = envkit("create", "torch111-cu102")
    assert "already there" in again.out
