"""Preflight as an operation: what the kernel shows, plans for a driver, another machine, the words for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import pytest

from envkit.cli import preflight_text
from envkit.compat.tables import driver_plans_table
from envkit.errors import InvalidFileError, NotFoundError, UsageError
from envkit.model.driver import DriverVersion, Gpu, SmiReport
from envkit.model.progress import Silent
from envkit.operations import preflight as module
from envkit.operations.driver_plan import plan_driver
from envkit.operations.gpu_checks import check_smi
from envkit.operations.machine import Machine, described_machine
from envkit.operations.preflight import preflight
from envkit.probes.host import System
from envkit.probes.nvidia_kernel import look_at_kernel

if TYPE_CHECKING:
    from pathlib import Path

T4 = "Tesla T4"


def put(root: Path, name: str, content: str | bytes = "") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def card(root: Path, address: str = "0000:01:00.0", vendor: str = "0x10de", kind: str = "0x030200") -> None:
    put(root, f"sys/bus/pci/devices/{address}/vendor", f"{vendor}\n")
    put(root, f"sys/bus/pci/devices/{address}/class", f"{kind}\n")


def here(smi: SmiReport, *, is_wsl: bool = False) -> Machine:
    return Machine("linux-64", smi.driver_version, smi.gpus, (2, 36), is_described=False, smi=smi, is_wsl=is_wsl)


def preflight_lines(result):
    return [click.unstyle(line) for line in preflight_text.preflight_lines(result)]


def missing(*, is_wsl: bool = False) -> Machine:
    return here(SmiReport("error", "command-not-found", "nvidia-smi was not found"), is_wsl=is_wsl)


def asked(name: str | None = None, **words):
    return preflight(name, Silent(), **words)


def test_the_kernel_sees_cards_without_any_tool(tmp_path):
    card(tmp_path)
    card(tmp_path, "0000:02:00.0", kind="0x030000")
    card(tmp_path, "0000:02:00.1", kind="0x040300")  # the card's sound
    card(tmp_path, "0000:03:00.0", vendor="0x1002")  # somebody else's
    assert look_at_kernel(tmp_path).gpus == ("0000:01:00.0", "0000:02:00.0")
    (check,) = check_smi(missing(), look_at_kernel(tmp_path))
    assert "sees 2 NVIDIA GPU(s), at PCI 0000:01:00.0" in check.hint


def test_nouveau_is_named(tmp_path):
    card(tmp_path)
    put(tmp_path, "proc/modules", "nouveau 2310144 4 - Live 0x0\nsnd 1 0 - Live 0x0\n")
    (check,) = check_smi(missing(), look_at_kernel(tmp_path))
    assert "nouveau, which serves no CUDA" in check.hint


def test_a_container_without_gpus_is_told_to_get_them(tmp_path):
    put(tmp_path, ".dockerenv")
    (check,) = check_smi(missing(), look_at_kernel(tmp_path))
    assert "--gpus all" in check.hint
    put(tmp_path, "dev/nvidiactl")
    (check,) = check_smi(missing(), look_at_kernel(tmp_path))
    assert "--gpus all" not in check.hint


def test_wsl_has_the_driver_of_windows(tmp_path):
    (check,) = check_smi(missing(is_wsl=True), look_at_kernel(tmp_path))
    assert "driver of Windows" in check.hint


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  460.56  Tue Feb 23 23:31:57 UTC 2021\n", "460.56"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.10  Release Build  (a@b)\n", "570.86.10"),
        ("something else\n", None),
    ],
)
def test_the_version_of_the_loaded_module(tmp_path, text, version):
    put(tmp_path, "proc/driver/nvidia/version", text)
    assert look_at_kernel(tmp_path).module_version == version


def test_nothing_can_be_read(tmp_path):
    kernel = look_at_kernel(tmp_path / "nowhere")
    assert (kernel.gpus, kernel.module, kernel.module_version, kernel.library_version) == ((), None, None, None)
    assert (kernel.has_device_files, kernel.is_container, kernel.secure_boot) == (False, False, None)


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        ("driver-not-loaded", "modprobe"),
        ("no-devices", "lspci"),
        ("gpu-lost", "Xid"),
        ("device-handle-unknown-error", "start it again"),
        ("insufficient-permissions", "/dev/nvidia"),
        ("timeout", "dmesg"),
        ("failed", "by hand"),
    ],
)
def test_a_tool_that_failed_is_told_by_its_kind(tmp_path, kind, word):
    smi = SmiReport("error", kind, "what it said", found_at="/usr/bin/nvidia-smi")
    (check,) = check_smi(here(smi), look_at_kernel(tmp_path))
    assert check.status == "unknown"
    assert kind in check.found
    assert "what it said" in check.why
    assert word in check.hint


SYSTEMS = {
    "ubuntu": (System("ubuntu", "22.04", ("debian",), "jammy", "Ubuntu 22.04", is_wsl=False), "ubuntu-drivers"),
    "debian": (System("debian", "12", (), "", "Debian 12", is_wsl=False), "apt-get install"),
    "rocky": (System("rocky", "9.3", ("rhel", "centos", "fedora"), "", "Rocky 9.3", is_wsl=False), "dnf module"),
    "fedora": (System("fedora", "42", (), "", "Fedora 42", is_wsl=False), "akmod-nvidia"),
    "manjaro": (System("manjaro", "", ("arch",), "", "Manjaro", is_wsl=False), "pacman"),
    "leap": (System("opensuse-leap", "15.6", ("suse",), "", "openSUSE Leap", is_wsl=False), "zypper"),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_plan_names_the_systems_own_commands(tmp_path, name):
    system, word = SYSTEMS[name]
    put(tmp_path, "proc/modules", "nouveau 1 0 - Live 0x0\n")
    put(tmp_path, "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c", b"\x06\0\0\0\x01")
    plan = plan_driver(system, look_at_kernel(tmp_path), described_machine("440.33.01", (T4,)))
    assert any(word in command for command in plan.commands)
    told = " ".join(plan.notes)
    for thing in ("nouveau", "Secure Boot is on", "mokutil", "Reboot", "administrators"):
        assert thing in told
    assert ("usually goes" in told) == (plan.known == "unconfirmed")


def test_windows_and_wsl_have_no_commands_in_linux(tmp_path):
    kernel, machine = look_at_kernel(tmp_path), described_machine("440.33.01", (T4,))
    wsl = plan_driver(System("ubuntu", "22.04", (), "", "Ubuntu 22.04", is_wsl=True), kernel, machine)
    windows = plan_driver(System("windows", "", (), "", "Windows", is_wsl=False), kernel, machine)
    assert wsl.commands == windows.commands == ()
    assert "Install no NVIDIA driver in Linux" in wsl.notes[0]
    assert "installer" in windows.notes[0]
    other = plan_driver(System("gentoo", "", (), "", "Gentoo", is_wsl=False), kernel, machine)
    assert (other.commands, other.known, other.source) == ((), "unknown", None)


def test_an_old_card_has_a_last_branch(tmp_path):
    system = SYSTEMS["ubuntu"][0]
    plan = plan_driver(system, look_at_kernel(tmp_path), described_machine("390.116", ("Tesla K80",)))
    told = "The newest driver for Tesla K80 is of branch 470 (single); packages of newer ones do not serve it."
    assert told in plan.notes


@pytest.mark.parametrize(
    ("name", "gpus", "package"),
    [
        ("ubuntu", ("Tesla K80",), "nvidia-driver-470-server"),
        ("ubuntu", ("GeForce GTX 1080",), "nvidia-driver-580"),
        ("rocky", ("Tesla V100-SXM2-16GB",), "nvidia-driver:580-dkms"),
        ("fedora", ("Tesla K80",), None),
        ("manjaro", ("GeForce GTX 1080",), None),
        ("leap", ("GeForce GTX 1080",), None),
        ("ubuntu", ("Tesla K80", "NVIDIA GeForce RTX 5090"), None),
    ],
)
def test_no_plan_brings_a_driver_that_drops_the_card(tmp_path, name, gpus, package):
    plan = plan_driver(SYSTEMS[name][0], look_at_kernel(tmp_path), described_machine("390.116", gpus))
    if package is None:
        assert (plan.commands, plan.known) == ((), "unknown")
        assert "Take a package of branch" in plan.notes[0]
    else:
        assert plan.commands[-1].endswith(f" install {package}")
        assert (plan.known, (plan.source or "")[:8]) == ("single", "https://")


@pytest.mark.parametrize(("driver", "is_told"), [("610.43.02", True), ("470.82.01", False)])
def test_a_described_driver_that_drops_the_card_is_told(driver, is_told):
    notes = preflight(None, Silent(), driver=driver, gpus=("Tesla K80", "Tesla T4"), platform="linux-64").notes
    told = f"The newest driver for Tesla K80 is of branch 470 (single); {driver} does not serve it."
    assert (told in notes) is is_told


def test_in_a_container_no_driver_is_installed(tmp_path):
    put(tmp_path, ".dockerenv", "")
    plan = plan_driver(SYSTEMS["ubuntu"][0], look_at_kernel(tmp_path), described_machine("440.33.01", (T4,)))
    assert plan.commands == ()


@pytest.mark.parametrize(
    ("driver", "told"),
    [
        ("12.2", "may be a version of CUDA"),
        ("11.7.1", "may be a version of CUDA"),
        ("27.21.14.5671", "That is 456.71"),
        ("31.0.15.2727", "That is 527.27"),
        ("9.18.13.4725", "That is 347.25"),
        ("580", "Write all of it"),
    ],
)
def test_numbers_that_are_no_drivers_are_told(driver, told):
    with pytest.raises(UsageError) as error:
        described_machine(driver, ())
    assert told in f"{error.value.message} {error.value.hint}"


def test_each_row_of_the_table_has_known_sources_and_words():
    table = driver_plans_table()
    branches = [row for system in table["systems"] for row in system.get("branches", {}).values()]
    rows = [*table["systems"], *table["last_branches"], *branches]
    assert {source for row in rows for source in row["src"]} <= set(table["sources"])
    assert {row["status"] for row in rows} <= {"confirmed", "single", "unconfirmed"}
    names = [name for row in table["systems"] for name in row["ids"]]
    assert len(names) == len(set(names))
    for row in table["systems"]:
        assert all("\n" not in command for command in row["commands"])
    assert [row["below"] for row in table["last_branches"]] == ["5.0", "7.5"]


@pytest.fixture
def too_old(tmp_path, monkeypatch):
    """A machine with an old driver, as a stub of nvidia-smi would tell; its system is an Ubuntu without anything."""
    put(tmp_path, "etc/os-release", 'ID=ubuntu\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04"\n')
    smi = SmiReport("ok", None, None, DriverVersion.parse("440.33.01"), (Gpu(0, T4),), found_at="/usr/bin/nvidia-smi")
    monkeypatch.setattr(module, "this_machine", lambda: here(smi))
    return tmp_path


def test_a_machine_that_does_not_fit(too_old):
    result = asked("torch112-cu113", root=too_old)
    assert result.fits is False
    assert [route.spec for route in result.routes] == ["torch112-cu102", None]
    assert "ubuntu-drivers" in " ".join(result.driver_plan.commands)
    assert result.error.exit_code == 3
    assert "torch112-cu102" in result.error.hint
    assert "Driver 450.80.02 or newer runs it" in result.error.hint
    lines = preflight_lines(result)
    assert lines[0] == lines[-1] == "Verdict: torch112-cu113 does not fit this machine; torch112-cu102 does."
    text = "\n".join(lines)
    for part in ("FAIL  driver", "envkit create torch112-cu102", "Upgrade the driver", "sudo ubuntu-drivers", "reboot"):
        assert part in text
    told = result.to_json()
    assert set(told) == {"spec", "fits", "checks", "routes", "machine", "driver_plan", "notes"}
    assert set(told["routes"][0]) == {"kind", "spec", "why"}
    assert set(told["checks"][0]) == {"id", "status", "found", "needed", "why", "hint", "source", "known"}


def test_a_described_machine_is_judged_alone():
    result = asked("torch112-cu113", driver="460.32.03", gpus=[T4])
    assert (result.fits, result.spec, result.error) == (True, "torch112-cu113", None)
    assert {check.id for check in result.checks} == {
        "python", "driver", "compute-capability", "glibc", "torch-set", "numpy",
    }  # fmt: skip
    assert "are not looked at" in result.notes[0]
    lines = preflight_lines(result)
    wanted = "Verdict: torch112-cu113 fits the machine that you described; driver older than the toolkit's 465.19.01."
    assert lines[0] == lines[-1] == wanted
    assert not any("glibc" in line for line in lines if "not looked at" not in line)
    assert asked("torch112-cu113", driver="440.33.01", gpus=[T4]).driver_plan is None


def test_a_requirement_is_taken_as_create_takes_it():
    words = {"driver": "460.32.03", "gpus": [T4]}
    result = asked("torch==1.12.1", cuda="11.3", python="3.8", **words)
    assert (result.spec, result.fits) == ("torch112-cu113-py38", True)
    assert result.notes[0].startswith("Taking the spec torch112-cu113-py38")
    assert asked("torch==1.12.1", **words).spec == asked("torch112-cu113", cuda="auto", **words).spec
    wrong = asked("torch112-cu113", python="3.11", **words)
    assert (wrong.fits, wrong.error.exit_code) == (False, 3)
    unfit = asked("torch==1.12.1", driver="570.86.16", gpus=["NVIDIA GeForce RTX 5090"])
    assert (unfit.fits, unfit.error.exit_code) == (False, 3)
    assert unfit.routes[0].spec == "torch211-cu128"


@pytest.mark.parametrize(
    ("name", "words", "error"),
    [
        ("torch==1.12.1", {"cuda": "12.1"}, NotFoundError),
        ("torch112", {}, NotFoundError),
        ("torch>=2", {}, UsageError),
        ("torch112-cu113", {"cuda": "11.3"}, UsageError),
        ("torch112-cu113", {"python": "python3"}, UsageError),
        (None, {"cuda": "auto"}, UsageError),
    ],
)
def test_wrong_requirements(name, words, error):
    with pytest.raises(error):
        asked(name, driver="460.32.03", gpus=[T4], **words)


def test_in_a_container_the_driver_is_the_hosts(too_old):
    put(too_old, ".dockerenv")
    result = asked("torch112-cu113", root=too_old)
    assert result.driver_plan is None
    assert module.IN_CONTAINER in result.notes
    assert "sudo" not in "\n".join(preflight_lines(result))


def test_another_platform():
    result = asked("torch111-cu102", driver="537.13", gpus=[T4], platform="win-64")
    assert result.fits is False
    assert next(check for check in result.checks if check.id == "platform").status == "fail"
    short = asked("torch111-cu102", driver="537.13", gpus=[T4], platform="windows")
    assert short.machine.platform == "win-64"


def test_without_a_spec_the_newest_build_that_fits_is_told():
    result = asked(driver="535.104.05", gpus=["NVIDIA A100-SXM4-80GB"])
    assert (result.spec, result.fits) == (None, None)
    assert result.routes[0].spec == "torch211-cu128"
    assert preflight_lines(result)[-1] == (
        "Verdict: driver 535.104.05 runs builds up to CUDA 12.9. Newest for NVIDIA A100-SXM4-80GB: "
        "`envkit create torch211-cu128`."
    )


@pytest.mark.parametrize(
    ("gpu", "end"),
    [
        ("Voodoo 2", "runs builds up to CUDA 12.9. Which of them Voodoo 2 runs cannot be told."),
        ("GeForce GTX 680", "None of them is known to run on GeForce GTX 680; for the CPU: `envkit create "),
    ],
)
def test_without_a_spec_a_card_that_runs_nothing(gpu, end):
    assert end in preflight_lines(asked(driver="535.104.05", gpus=[gpu]))[-1]


def test_a_login_node_is_told_how_to_ask_for_the_other_machine(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "this_machine", missing)
    result = asked("torch112-cu113", root=tmp_path)
    assert result.fits is None
    assert result.notes[-1].startswith("envkit preflight torch112-cu113 --driver 535.104.05 --gpu")
    lines = preflight_lines(result)
    assert lines[0] == lines[-1] == "Verdict: whether torch112-cu113 fits this machine cannot be told."
    assert lines.index(result.notes[-1]) < next(n for n, line in enumerate(lines) if line.startswith("? nvidia-smi"))
    assert not any(line.startswith(("? driver:", "? compute-capability:")) for line in lines)  # told once
    cpu = asked("torch213-cpu", root=tmp_path)
    assert cpu.notes == ()
    assert "nvidia-smi" not in {check.id for check in cpu.checks}


def test_what_was_not_stated_of_a_machine_is_told_so():
    told = {check.id: check for check in asked("torch112-cu113", platform="linux-64").checks}
    assert told["driver"].why == "No driver was stated (--driver)."
    assert told["compute-capability"].why == "No GPU was stated (--gpu)."
    card = asked("torch112-cu113", driver="535.54.03", gpus=["RTX 2080tii"])
    (check,) = [check for check in card.checks if check.id == "compute-capability"]
    assert check.hint.startswith("Near it in the table: NVIDIA GeForce RTX 2080 Ti,")
    nothing = asked("torch112-cu113", driver="535.54.03", gpus=["Voodoo 2"])
    assert not any("Near it" in (check.hint or "") for check in nothing.checks)


def test_files_of_specs_and_locks(tmp_path):
    from envkit import resources  # noqa: PLC0415 - where the shipped ones lie

    folder = resources.lockfiles_dir()
    for name in ("torch112-cu113.yaml", "torch112-cu113.lock.yaml"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
        result = asked(str(tmp_path / name), driver="440.33.01", gpus=[T4])
        assert (result.spec, result.fits) == ("torch112-cu113", False)
        assert result.routes[0].spec == "torch112-cu102"
    (tmp_path / "torch112-cu113.lock.yaml").unlink()
    without_lock = asked(str(tmp_path / "torch112-cu113.yaml"), driver="460.32.03", gpus=[T4])
    assert without_lock.fits is True
    assert "build" in {check.id for check in without_lock.checks}


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ({"driver": "new"}, UsageError),
        ({"driver": "535"}, UsageError),
        ({"platform": "linux-32"}, UsageError),
        ({"driver": "535.54.03", "network": True}, UsageError),
    ],
)
def test_wrong_descriptions(words, error):
    with pytest.raises(error):
        asked(**words)


def test_wrong_specs(tmp_path):
    with pytest.raises(NotFoundError):
        asked("torch112-cu11", driver="535.54.03")
    (tmp_path / "x.yaml").write_text("schema: 1\nname: x\n")
    with pytest.raises(InvalidFileError):
        asked(str(tmp_path / "x.yaml"), driver="535.54.03")
