"""Cases c21 to c23: nvidia-smi beside PATH, a driver that waits for a reboot, and what its answers look like.

The tool is a stub here, and the kernel's files lie in a folder of the test: no GPU is needed, none is proved.
"""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from envkit.cli.main import cli
from envkit.probes import nvidia_smi

if TYPE_CHECKING:
    from pathlib import Path

MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 460.73"
ROW = "0, {name}, {driver}, 24576, {capability}"


@dataclass
class Machine:
    """A stub of nvidia-smi and where it is looked for."""

    folder: Path
    root: Path

    def smi(self, query: str, *, status: int = 0, banner: str = "", without: str = "") -> Path:
        """Write the tool: what it answers to a query, to a query that names the field ``without``, and alone.

        Args:
            query: the answer.
            status: how it ends.
            banner: what it prints without options.
            without: a field that it does not know.
        """
        self.folder.mkdir(exist_ok=True)
        script = self.folder / "nvidia-smi"
        said = f'Field "{without}" is not a valid field to query.'
        unknown = f'case "$1" in *{without}*) echo {shlex.quote(said)}; exit 2;; esac'
        lines = [
            "#!/bin/sh",
            unknown if without else ":",
            f'case "$1" in --query*) printf %s {shlex.quote(query)};; *) printf %s {shlex.quote(banner)};; esac',
            f"exit {status}",
        ]
        script.write_text("\n".join(lines) + "\n", encoding="utf-8")
        script.chmod(0o755)
        return script

    def preflight(self, *words: str) -> dict:
        """What ``envkit preflight --json`` says here."""
        done = CliRunner().invoke(cli, ["preflight", *words, "--json"], standalone_mode=False)
        assert done.exception is None, done.exc_info
        told = json.loads(done.stdout)
        return told | {"exit": done.return_value, "by_id": {check["id"]: check for check in told["checks"]}}

    def text(self, *words: str) -> str:
        """What people read."""
        done = CliRunner().invoke(cli, ["preflight", *words], standalone_mode=False)
        assert done.exception is None, done.exc_info
        return done.stdout


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Nothing on PATH but the system's own programs, the side folder as the only usual place, empty kernel files."""
    made = Machine(tmp_path / "lib", tmp_path / "root")
    (made.root / "proc").mkdir(parents=True)
    monkeypatch.setenv("PATH", os.pathsep.join(("/usr/bin", "/bin")))
    monkeypatch.setattr(nvidia_smi, "_usual_folders", lambda: (str(made.folder),))
    monkeypatch.setattr("envkit.operations.preflight.ROOT", made.root)
    return made


def answer(driver="535.54.03", name="NVIDIA A100-SXM4-80GB", capability="8.0"):
    return ROW.format(driver=driver, name=name, capability=capability)


def test_c21_a_tool_beside_path_is_used_and_its_place_told(machine):
    """EK-C21, first run."""
    script = machine.smi(answer())
    told = machine.preflight()
    assert told["exit"] == 0
    assert told["by_id"]["nvidia-smi"]["status"] == "ok"
    assert str(script) in told["by_id"]["nvidia-smi"]["found"]
    assert told["machine"]["nvidia_smi"] == str(script)
    assert told["machine"]["driver_version"] == "535.54.03"
    assert [gpu["name"] for gpu in told["machine"]["gpus"]] == ["NVIDIA A100-SXM4-80GB"]
    assert str(script) in machine.text()


def test_c21_no_tool_is_not_a_tool_that_failed(machine):
    """EK-C21, second run."""
    told = machine.preflight()
    assert (told["exit"], told["fits"]) == (0, None)
    assert told["machine"]["error_kind"] == "command-not-found"
    assert told["by_id"]["nvidia-smi"]["found"] == "no NVIDIA tool found"
    assert "FAIL" not in machine.text()
    machine.smi("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.", status=9)
    failed = machine.preflight("torch112-cu113")
    assert failed["machine"]["error_kind"] == "driver-not-loaded"
    assert "was found at" in failed["by_id"]["nvidia-smi"]["why"]
    assert (failed["exit"], failed["fits"]) == (0, None)


@pytest.mark.parametrize("has_module", [True, False])
def test_c22_a_driver_that_waits_for_a_reboot(machine, has_module):
    """EK-C22."""
    machine.smi(MISMATCH, status=18, banner=MISMATCH)
    if has_module:
        (machine.root / "proc" / "driver" / "nvidia").mkdir(parents=True)
        (machine.root / "proc" / "driver" / "nvidia" / "version").write_text(
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  460.56  Tue Feb 23 23:31:57 UTC 2021\n"
        )
        (machine.root / "usr" / "lib64").mkdir(parents=True)
        (machine.root / "usr" / "lib64" / "libnvidia-ml.so.460.73.01").touch()
    told = machine.preflight("torch112-cu113")
    check = told["by_id"]["nvidia-smi"]
    assert check["status"] == "warn"
    assert ("newer than the kernel module" if has_module else "updated and not loaded yet") in check["why"]
    assert "Reboot" in check["hint"]
    versions = ("460.56", "460.73.01") if has_module else ("460.73",)
    assert all(version in check["why"] for version in versions)
    text = machine.text("torch112-cu113")
    assert "No NVIDIA driver" not in text
    assert "no NVIDIA tool" not in text
    assert (told["exit"], told["fits"]) == (0, None)
    assert told["machine"]["driver_version"] == versions[0]


@pytest.mark.parametrize(
    ("driver", "status"), [("418.87.01", "fail"), ("460.32.03", "warn"), ("470.82", "ok"), ("535.54.03", "ok")]
)
def test_c23_versions_are_compared_part_by_part(machine, driver, status):
    machine.smi(answer(driver=driver))
    told = machine.preflight("torch112-cu113")
    assert told["by_id"]["driver"]["status"] == status
    assert (told["exit"], told["fits"]) == ((3, False) if status == "fail" else (0, True))
    assert told["ok"] is (status != "fail")


@pytest.mark.parametrize("field", ["[N/A]", "[Not Supported]"])
def test_c23_a_field_without_an_answer_is_unknown_and_stops_nothing(machine, field):
    machine.smi(answer(driver=field))
    told = machine.preflight("torch112-cu113")
    assert told["by_id"]["driver"]["status"] == "unknown"
    assert (told["exit"], told["fits"]) == (0, None)
    machine.smi(answer(name=field, capability=field))
    told = machine.preflight("torch112-cu113")
    assert told["by_id"]["compute-capability"]["status"] == "unknown"
    assert (told["exit"], told["fits"]) == (0, None)


def test_c23_without_compute_cap_the_name_tells_or_nothing_does(machine):
    machine.smi("0, GeForce RTX 2080 Ti, 418.87.01, 11019", without="compute_cap")
    told = machine.preflight("torch111-cu102")
    assert told["by_id"]["compute-capability"]["status"] == "ok"
    assert "7.5" in told["by_id"]["compute-capability"]["found"]
    machine.smi("0, Frobnicator 9000, 535.54.03, 11019", without="compute_cap")
    told = machine.preflight("torch112-cu113")
    assert told["by_id"]["compute-capability"]["status"] == "unknown"
    assert "not known" in told["by_id"]["compute-capability"]["found"]


def test_c23_two_gpus_are_told_one_by_one(machine):
    machine.smi(f"{answer()}\n1, Tesla K40m, 535.54.03, 11441, 3.5\n")
    told = machine.preflight("torch112-cu113")
    cards = [check for check in told["checks"] if check["id"] == "compute-capability"]
    found = {check["found"].partition(",")[0]: check["status"] for check in cards}
    assert found == {"NVIDIA A100-SXM4-80GB": "ok", "Tesla K40m": "warn"}
    assert told["fits"] is True


def test_c23_a_name_with_a_comma_and_output_with_crlf(machine):
    machine.smi(f"{answer(name='NVIDIA A100, of somebody')}\r\n")
    told = machine.preflight("torch112-cu113")
    assert [gpu["name"] for gpu in told["machine"]["gpus"]] == ["NVIDIA A100, of somebody"]
    assert told["machine"]["driver_version"] == "535.54.03"
    assert told["fits"] is True
