"""Drivers, cards, systems and builds as they meet: the verdict, what it rests on, and what works instead."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pytest

from envkit.compat.tables import version_key
from envkit.model.driver import DriverVersion, Gpu
from envkit.operations.machine import Machine, described_machine
from envkit.operations.routes import newest_fitting, routes_for
from envkit.operations.spec_fit import fit_of, fit_of_spec
from envkit.operations.specs import find_spec

T4, K80, K40, GTX1080 = "Tesla T4", "Tesla K80", "Tesla K40m", "NVIDIA GeForce GTX 1080 Ti"
V100, RTX3090, RTX4090, RTX5090 = (
    "Tesla V100-SXM2-32GB",
    "NVIDIA GeForce RTX 3090",
    "NVIDIA GeForce RTX 4090",
    "NVIDIA GeForce RTX 5090",
)
A100, H100, B200, GH200 = "NVIDIA A100-SXM4-80GB", "NVIDIA H100 PCIe", "NVIDIA B200", "NVIDIA GH200 480GB"
CARD = "compute-capability"


@dataclass(frozen=True)
class Situation:
    """What is there, what is wanted, and what envkit says.

    Attributes:
        torch, build, python: what is wanted; the build is "11.3" or None.
        driver, gpus, platform: where.
        fits: the verdict.
        says: check and status that matter.
        words: what is said of the first of these checks.
        routes: kinds and specs, in their order.
    """

    torch: str
    build: str | None
    python: str
    driver: str | None
    gpus: tuple[str, ...]
    fits: bool | None
    says: dict[str, str]
    words: str = ""
    routes: tuple[str, ...] = ()
    platform: str = "linux-64"


UPGRADE = "upgrade-driver"
SITUATIONS = {
    "460.32 with cu113 fits, with a note": Situation(
        "1.12.1", "11.3", "3.9", "460.32.03", (RTX3090,), True, {"driver": "warn"}, "465.19.01"
    ),
    "440 with cu113 does not, cu102 does": Situation(
        "1.12.1", "11.3", "3.9", "440.33.01", (T4,), False, {"driver": "fail"}, "450.80.02",
        ("torch112-cu102", UPGRADE),
    ),
    "440 with cu102 fits": Situation("1.12.1", "10.2", "3.9", "440.33.01", (T4,), True, {"driver": "ok", CARD: "ok"}),
    "450.80.02 is enough for cu118": Situation(
        "2.0.1", "11.8", "3.10", "450.80.02", (V100,), True, {"driver": "warn"}, "520.61.05"
    ),
    "RTX 5090 with cu113": Situation(
        "1.12.1", "11.3", "3.9", "580.65.06", (RTX5090,), False, {CARD: "fail"}, "newer than the build",
        ("torch215-cu132",),
    ),
    "RTX 5090 with cu128 fits": Situation(
        "2.11.0", "12.8", "3.12", "570.86.10", (RTX5090,), True, {"driver": "ok", CARD: "ok"}
    ),
    "RTX 5090 with cu126": Situation(
        "2.11.0", "12.6", "3.12", "570.86.10", (RTX5090,), False, {CARD: "fail"}, "12.0", ("torch211-cu128",)
    ),
    "RTX 5090 with the RTX 30 series' driver": Situation(
        "1.12.1", "11.3", "3.9", "460.32.03", (RTX5090,), False, {CARD: "fail"}, "12.0", (UPGRADE, "torch112-cpu")
    ),
    "H100 with torch 1.10": Situation(
        "1.10.2", "11.3", "3.9", "535.104.05", (H100,), False, {CARD: "fail"}, "9.0", ("torch211-cu128",)
    ),
    "H100 with cu118 fits": Situation("2.0.1", "11.8", "3.10", "535.104.05", (H100,), True, {CARD: "ok"}),
    "K80 with cu118 warns": Situation(
        "2.0.1", "11.8", "3.10", "470.82.01", (K80,), True, {"driver": "warn", CARD: "ok"}, "520.61.05"
    ),
    "K80 with cu121": Situation(
        "2.2.2", "12.1", "3.10", "470.82.01", (K80,), False, {"driver": "fail", CARD: "fail"}, "525.60.13",
        ("torch22-cu118",),
    ),
    "GTX 1080 Ti with the newest build": Situation(
        "2.15.0", "13.2", "3.12", "580.95.05", (GTX1080,), False, {CARD: "fail"}, "older than", ("torch211-cu126",)
    ),
    "GTX 1080 Ti with cu126 fits": Situation(
        "2.11.0", "12.6", "3.12", "580.65.06", (GTX1080,), True, {"driver": "ok", CARD: "ok"}
    ),
    "V100 with cu130": Situation(
        "2.10.0", "13.0", "3.12", "580.65.06", (V100,), False, {CARD: "fail"}, "7.0", ("torch210-cu128",)
    ),
    "A100 with Python 3.11 and torch 1.12: Python, not the network": Situation(
        "1.12.1", "11.3", "3.11", "535.104.05", (A100,), False, {"python": "fail", CARD: "ok"}, "not the network",
        ("torch112-cu116",),
    ),
    "torch 1.10 has no wheels for Python 3.10": Situation(
        "1.10.2", "11.3", "3.10", "535.104.05", (A100,), False, {"python": "fail"}, "3.6 to 3.9", ("torch110-cu113",)
    ),
    "torch 2.0.0 has wheels for Python 3.11": Situation(
        "2.0.0", "11.8", "3.11", "535.104.05", (A100,), True, {"python": "ok"}
    ),
    "torch 1.13.1 has 3.11 on Linux": Situation(
        "1.13.1", "11.7", "3.11", "535.104.05", (A100,), True, {"python": "ok"}
    ),
    "torch 1.13.1 has none on Windows": Situation(
        "1.13.1", "11.7", "3.11", "537.13", (RTX3090,), False, {"python": "fail"}, "win-64", ("torch113-cu117",),
        "win-64",
    ),
    "RTX 3090 with cu102": Situation(
        "1.12.1", "10.2", "3.9", "535.104.05", (RTX3090,), False, {CARD: "fail"}, "8.6", ("torch112-cu116",)
    ),
    "RTX 4090 runs code of the RTX 30 series": Situation(
        "1.12.1", "11.3", "3.9", "535.104.05", (RTX4090,), True, {CARD: "ok"}
    ),
    "Windows: no cu102 from 1.11 on": Situation(
        "1.11.0", "10.2", "3.9", "537.13", (T4,), False, {"build": "fail"}, "no cu102 build", ("torch111-cu115",),
        "win-64",
    ),
    "Windows: 452.39 is the floor of cu113": Situation(
        "1.12.1", "11.3", "3.9", "452.39", (T4,), True, {"driver": "warn"}, "465.89", (), "win-64"
    ),
    "Windows: 451.67 is below it": Situation(
        "1.12.1", "11.3", "3.9", "451.67", (T4,), False, {"driver": "fail"}, "452.39", ("torch110-cu102", UPGRADE),
        "win-64",
    ),
    "Windows: the floor of CUDA 13 is not confirmed, so it only warns": Situation(
        "2.11.0", "13.0", "3.12", "572.16", (RTX4090,), None, {"driver": "warn"}, "580", (), "win-64"
    ),
    "Windows: the PTX of 3.7 waits for a driver of the toolkit": Situation(
        "1.12.1", "11.3", "3.9", "460.89", (H100,), None, {CARD: "warn"}, "by PTX", (), "win-64"
    ),
    "Windows: PTX of 3.7 is no code for an RTX 50": Situation(
        "1.12.1", "11.3", "3.9", "572.16", ("NVIDIA GeForce RTX 5070 Ti",), None, {CARD: "warn"}, "PTX of 3.7",
        ("torch211-cu128",), "win-64",
    ),
    "Windows: nor with the last build that has it": Situation(
        "2.5.1", "11.8", "3.12", "572.16", ("NVIDIA GeForce RTX 5070 Ti",), None, {CARD: "warn"}, "PTX of 3.7",
        ("torch211-cu128",), "win-64",
    ),
    "Windows: RTX 50 with cu124, which has no PTX": Situation(
        "2.5.1", "12.4", "3.12", "572.16", ("NVIDIA GeForce RTX 5070 Ti",), False, {CARD: "fail"}, "12.0",
        ("torch211-cu128",), "win-64",
    ),
    "Windows: RTX 50 with a build whose GPU code is not known, by an nvcc that does not know the card": Situation(
        "2.7.1", "12.6", "3.12", "572.16", ("NVIDIA GeForce RTX 5070 Ti",), None, {CARD: "warn"}, "newer than 9.0",
        ("torch211-cu128",), "win-64",
    ),
    "Windows: RTX 50 with cu128": Situation(
        "2.11.0", "12.8", "3.12", "572.16", ("NVIDIA GeForce RTX 5070 Ti",), True, {CARD: "ok"}, "", (), "win-64"
    ),
    "Windows: RTX 4090 runs code of the RTX 30 series": Situation(
        "1.12.1", "11.3", "3.9", "572.16", (RTX4090,), True, {CARD: "ok"}, "", (), "win-64"
    ),
    "Windows: RTX 4090 with cu102 has PTX of 3.7 alone": Situation(
        "1.10.2", "10.2", "3.9", "572.16", (RTX4090,), None, {CARD: "warn"}, "PTX of 3.7", ("torch110-cu113",),
        "win-64",
    ),
    "RTX 5090 with a driver that is older than the card": Situation(
        "2.11.0", "12.8", "3.12", "535.104.05", (RTX5090,), None, {"driver": "warn", CARD: "warn"},
        "minor-version", (UPGRADE, "torch211-cpu"),
    ),
    "two GPUs of which one fits": Situation(
        "2.11.0", "12.8", "3.12", "570.86.10", (RTX5090, GTX1080), True, {"driver": "ok"}
    ),
    "two GPUs of which none fits": Situation(
        "2.11.0", "13.0", "3.12", "580.65.06", (V100, GTX1080), False, {CARD: "fail"}, "", ("torch211-cu126",)
    ),
    "eight GPUs of one kind are told once": Situation(
        "2.11.0", "12.8", "3.12", "570.86.10", (A100,) * 8, True, {CARD: "ok"}
    ),
    "K40 with cu113": Situation(
        "1.12.1", "11.3", "3.9", "470.82.01", (K40,), False, {CARD: "fail"}, "3.5", ("torch112-cpu",)
    ),
    "a GPU that no table knows": Situation(
        "2.11.0", "12.8", "3.12", "570.86.10", ("NVIDIA Frobnicator 9000",), None, {CARD: "unknown"}, "not known"
    ),
    "a driver that is not told": Situation(
        "2.11.0", "12.8", "3.12", None, (A100,), None, {"driver": "unknown", CARD: "ok"}
    ),
    "nothing is told": Situation("2.11.0", "12.8", "3.12", None, (), None, {"driver": "unknown", CARD: "unknown"}),
    "a CPU build needs neither": Situation("2.11.0", None, "3.12", None, (), True, {"build": "ok", "python": "ok"}),
    "a vGPU has the capability of its board": Situation(
        "2.11.0", "12.8", "3.12", "570.86.10", ("GRID T4-16Q",), True, {CARD: "ok"}
    ),
    "a vGPU's capability is not sure enough to refuse": Situation(
        "1.12.1", "10.2", "3.9", "535.104.05", ("NVIDIA A40-8Q",), None, {CARD: "warn"}
    ),
    "a part of an A100 (MIG)": Situation(
        "1.12.1", "11.3", "3.9", "535.104.05", (f"{A100} MIG 1g.10gb",), True, {CARD: "ok"}
    ),
    "a Jetson takes other wheels": Situation(
        "2.11.0", "12.8", "3.12", "570.86.10", ("Orin",), None, {CARD: "warn"}, "Jetson", (), "linux-aarch64"
    ),
    "B200 with cu128 fits": Situation("2.11.0", "12.8", "3.12", "570.86.10", (B200,), True, {CARD: "ok"}),
    "B200 with cu124": Situation(
        "2.6.0", "12.4", "3.12", "570.86.10", (B200,), False, {CARD: "fail"}, "10.0", ("torch211-cu128",)
    ),
    "GH200 on aarch64 fits cu128": Situation(
        "2.11.0", "12.8", "3.12", "570.86.10", (GH200,), True, {"build": "ok", CARD: "ok"}, "", (), "linux-aarch64"
    ),
    "aarch64 has no CUDA builds before 2.7": Situation(
        "2.6.0", "12.6", "3.12", "570.86.10", (GH200,), False, {"build": "fail"}, "no cu126 build",
        ("torch211-cu128",), "linux-aarch64",
    ),
    "macOS has no CUDA builds": Situation(
        "2.11.0", "12.8", "3.12", None, (), False, {"build": "fail"}, "Linux and Windows", (), "osx-arm64"
    ),
    "a torch that the table does not have": Situation(
        "9.9.9", "11.3", "3.9", "535.104.05", (A100,), None, {"build": "unknown"}, "not in envkit's table"
    ),
    "a build that was never made": Situation(
        "1.12.1", "11.7", "3.9", "535.104.05", (A100,), False, {"build": "fail"}, "no cu117 build", ("torch112-cu116",)
    ),
    "a build whose GPU code is not known, and a GPU its compiler cannot serve": Situation(
        "2.12.0", "13.2", "3.12", "595.45.04", (V100,), False, {CARD: "fail"}, "no code for GPUs older than 7.5",
        ("torch211-cu126",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("situation", SITUATIONS.values(), ids=SITUATIONS)
def test_the_verdict_and_what_it_rests_on(situation):
    machine = described_machine(situation.driver, situation.gpus, situation.platform)
    fit = fit_of(situation.torch, situation.build, situation.python, machine)
    told = [(check.id, check.status, check.why) for check in fit.checks]
    assert fit.fits is situation.fits, told
    for name, status in situation.says.items():
        assert status in {check.status for check in fit.checks if check.id == name}, told
    first = next(iter(situation.says))
    assert situation.words in " ".join(check.why or "" for check in fit.checks if check.id == first), told
    for check in fit.checks:
        assert (check.why is None) == (check.status == "ok"), told
        assert check.status != "fail" or check.hint, told


@pytest.mark.parametrize("name", [name for name, item in SITUATIONS.items() if item.fits is False or item.routes])
def test_the_ways_out(name):
    situation = SITUATIONS[name]
    machine = described_machine(situation.driver, situation.gpus, situation.platform)
    routes = routes_for((situation.torch, situation.build), machine)
    assert tuple(route.spec or route.kind for route in routes) == situation.routes
    for route in routes:
        assert (route.kind == UPGRADE) == (route.spec is None)
        assert route.why.endswith(".")


def test_a_way_out_keeps_the_python_that_was_asked_for():
    machine = described_machine("570.86.10", (RTX5090,))
    (route,) = routes_for(("1.12.1", "11.3"), machine, python="3.9")
    assert route.spec == "torch28-cu128"  # the newest with wheels for 3.9 and code for the card, without a reserve


def test_an_old_card_is_not_sent_to_a_driver_that_does_not_serve_it():
    machine = described_machine("390.116", (K80,))
    kinds = {route.kind: route for route in routes_for(("2.6.0", "12.4"), machine)}
    assert "450.80.02 or newer" in kinds[UPGRADE].why
    assert "525" not in kinds[UPGRADE].why


def test_each_of_two_gpus_has_its_check():
    fit = fit_of("2.11.0", "12.8", "3.12", described_machine("570.86.10", (RTX5090, GTX1080)))
    found = {check.found.partition(",")[0]: check for check in fit.checks if check.id == CARD}
    assert found[RTX5090].status == "ok"
    assert found[GTX1080].status == "warn"
    assert RTX5090 in found[GTX1080].why


def test_a_gpu_beside_an_unknown_one_does_not_decide():
    fit = fit_of("2.11.0", "12.8", "3.12", described_machine("570.86.10", (GTX1080, "NVIDIA Frobnicator")))
    assert fit.fits is None
    assert fit_of("2.11.0", "12.8", "3.12", described_machine("570.86.10", (RTX5090, "NVIDIA Frobnicator"))).fits


def test_the_driver_of_wsl_is_the_one_of_windows():
    """Its numbers are Windows': 452.39 is the floor there, 450.80.02 on Linux."""
    driver = DriverVersion.parse("451.67")
    linux = Machine("linux-64", driver, (Gpu(0, T4),), (2, 35), is_described=False, smi=None)
    assert fit_of("1.12.1", "11.3", "3.9", linux).fits is True
    assert fit_of("1.12.1", "11.3", "3.9", replace(linux, is_wsl=True)).fits is False


def test_what_the_driver_says_of_a_card_counts_before_its_name():
    machine = Machine(
        "linux-64", DriverVersion.parse("570.86"), (Gpu(0, T4, compute_capability="12.0"),), None, False, None
    )
    assert [(card.capability, card.known) for card in machine.cards] == [("12.0", "confirmed")]
    assert fit_of("1.12.1", "11.3", "3.9", machine).fits is False


def test_an_old_glibc_is_refused():
    machine = replace(described_machine("580.65.06", (A100,)), glibc=(2, 17))
    fit = fit_of("2.11.0", "13.0", "3.12", machine)
    assert {check.id: check.status for check in fit.checks}["glibc"] == "fail"
    assert fit.fits is False


def test_the_newest_build_for_a_machine():
    assert newest_fitting(described_machine("535.104.05", (A100,))).spec == "torch211-cu128"
    assert newest_fitting(described_machine("470.82.01", (K40,))).spec.endswith("-cpu")
    assert newest_fitting(described_machine(None, (A100,))) is None


def spec_routes(name: str, driver: str, gpu: str, platform: str) -> list[tuple[str, str | None]]:
    machine = described_machine(driver, [gpu], platform)
    return [(route.kind, route.spec) for route in routes_for(find_spec(name).spec, machine)]


def test_a_cpu_build_is_answered_by_a_cpu_build_of_the_platform():
    # torch 2.14 for the CPU ships for Windows alone: on Linux the newest one that does
    assert spec_routes("torch2.14.0-cpu", "418.87.01", "Tesla V100-SXM2-16GB", "linux-64") == [
        ("use-spec", "torch213-cpu")
    ]


def test_a_newer_driver_is_no_way_to_a_spec_of_another_platform():
    machine = described_machine("452.39", ["GeForce RTX 3080"], "win-64")
    spec = find_spec("torch2.14.0-cu130").spec
    assert "win-64" not in spec.platforms
    assert not any(route.why.startswith("Driver 580") for route in routes_for(spec, machine))


def test_a_newer_driver_runs_a_build_only_where_that_is_sure():
    gpu, old = ["Tesla T4"], "440.33.01"
    (known,) = [route for route in routes_for(("1.12.1", "11.3"), described_machine(old, gpu)) if route.spec is None]
    assert known.why.startswith("Driver 450.80.02 or newer runs it")
    (unknown,) = [route for route in routes_for(("1.12.1", "11.3"), described_machine(old, [])) if route.spec is None]
    assert unknown.why.startswith("Driver 450.80.02 or newer is new enough for CUDA 11.3")


DESCRIBED = (
    ("418.87.01", "Tesla V100-SXM2-16GB", "linux-64"),
    ("450.80.02", "NVIDIA GeForce RTX 2080 Ti", "linux-64"),
    ("470.82.01", "Tesla K80", "linux-64"),
    ("535.104.05", "NVIDIA GeForce RTX 5090", "linux-64"),
    ("452.39", "GeForce RTX 3080", "win-64"),
    ("572.16", "NVIDIA GeForce RTX 5070 Ti", "win-64"),
    ("560.35.03", "NVIDIA GH200 480GB", "linux-aarch64"),
)


@pytest.mark.parametrize(("driver", "gpu", "platform"), DESCRIBED, ids=lambda value: str(value).replace(" ", "-"))
def test_each_way_out_leads_to_what_surely_fits(driver, gpu, platform):
    machine = described_machine(driver, [gpu], platform)
    for name in (
        "torch215-cu132",
        "torch27-cu118",
        "torch21-cu121",
        "torch112-cu113",
        "torch110-cu102",
        "torch2.14.0-cpu",
    ):
        spec = find_spec(name).spec
        for route in () if fit_of_spec(spec, machine).fits else routes_for(spec, machine):
            if route.spec is not None:
                assert route.spec != name
                assert fit_of_spec(find_spec(route.spec).spec, machine).fits is True, route
            told = re.match(r"(?:With driver (\S+) or newer, (\S+) fits|Driver (\S+) or newer runs it)", route.why)
            if told is not None:
                there = find_spec(told[2]).spec if told[2] else spec
                version = told[1] or told[3]
                newer = DriverVersion(version_key(version), version)
                assert newer > machine.driver
                assert fit_of_spec(there, replace(machine, driver=newer)).fits is True, route
