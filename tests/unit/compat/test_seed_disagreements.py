"""Where guides and the publishers disagree: envkit answers what the publishers say, row by row.

The rows are in tests/data/compat/disagreements.yaml; that each has a test is tested.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from envkit.compat.conda_builds import conda_builds
from envkit.compat.gpus import gpu_fact
from envkit.compat.host_compilers import newest_gcc
from envkit.compat.installers import newest_installer
from envkit.compat.releases import release_of, releases
from envkit.compat.spec_checks import check_numpy, check_set
from envkit.compat.tables import (
    MAY_REFUSE,
    arch_list,
    compiled_range,
    driver_need,
    gpus_table,
    is_candidate,
    plain_wheel_build,
    served_cuda,
    toolkit_row,
    toolkit_rows,
    toolkit_update,
    version_key,
)
from envkit.compat.toolkit_releases import cudnn_used_with
from envkit.model.driver import DriverVersion, Gpu
from envkit.operations.machine import Machine, described_machine
from envkit.operations.routes import routes_for
from envkit.operations.spec_fit import fit_of
from envkit.operations.spec_index import spec_named
from envkit.operations.specs import find_spec
from envkit.probes.smi_text import parse_smi

DATA = Path(__file__).parents[2] / "data" / "compat" / "disagreements.yaml"
CU113 = ("1.10.0", "1.10.1", "1.10.2", "1.11.0", "1.12.0", "1.12.1")


def status(name, *facts, platform="linux-64", gpu="Tesla T4", driver="535.104.05"):
    """The status of one check of (torch, cuda, python)."""
    fit = fit_of(*facts, described_machine(driver, (gpu,), platform))
    return next(check.status for check in fit.checks if check.id == name)


def drivers(release, system="windows"):
    """The drivers that the updates of a toolkit were released with: what ``served_cuda`` judges by."""
    rows = toolkit_row(release)["updates"]
    return [row[f"driver_{system}"] for row in rows if row.get(f"driver_{system}") and not is_candidate(row)]


def served(driver, platform="win-64"):
    return served_cuda(DriverVersion.parse(driver), platform)


def lowest_cuda(torch):
    builds = release_of(torch).builds("linux-64")
    return min((build.cuda for build in builds if build.cuda is not None), key=version_key)


def cudnn_of(torch):
    return release_of(torch).row["builds"]["linux_x86_64"]["cu113"]["cudnn"]


def test_every_row_has_a_test():
    rows = [row[0] for row in yaml.safe_load(DATA.read_text(encoding="utf-8"))["rows"]]
    assert rows == list(range(1, 41))
    text = Path(__file__).read_text(encoding="utf-8")
    named = re.findall(r"^def test_rows?((?:_\d+)+)_", text, re.MULTILINE)
    tested = [int(number) for numbers in named for number in numbers.split("_") if number]
    assert set(rows) == set(tested)


def test_row_1_a_release_candidate_is_no_release():
    assert drivers("11.0") == ["451.48", "451.82"]
    assert driver_need("11.0", "win-64").minimum == "451.48"
    assert (served("451.22"), served("451.48")) == ("10.2", "11.0")


def test_rows_2_3_4_5_6_7_drivers_are_per_update():
    assert drivers("11.1") == ["456.38", "456.81"]
    assert drivers("11.2") == ["460.82", "461.09", "461.33"]
    assert (set(drivers("11.3")), set(drivers("11.3", "linux"))) == ({"465.89"}, {"465.19.01"})
    assert (drivers("11.5")[0], drivers("11.5")[-1]) == ("496.04", "496.13")
    assert drivers("11.6") == ["511.23", "511.65", "511.65"]
    assert drivers("11.7") == ["516.01", "516.31"]
    older, first = (
        ("456.37", "460.81", "465.88", "496.03", "511.22", "516.00"),
        "456.38 460.82 465.89 496.04 511.23 516.01",
    )
    assert [served(driver) for driver in older] == ["11.0", "11.1", "11.2", "11.4", "11.5", "11.6"]
    assert [served(driver) for driver in first.split()] == ["11.1", "11.2", "11.3", "11.5", "11.6", "11.7"]
    assert (served("465.19.00", "linux-64"), served("465.19.01", "linux-64")) == ("11.2", "11.3")


def test_row_8_the_installer_may_bundle_another_driver():
    assert (drivers("11.8"), drivers("11.8", "linux")) == (["520.06"], ["520.61.05"])
    assert (served("520.05"), served("520.06")) == ("11.7", "11.8")
    assert "522.06" in newest_installer("11.8", "windows").file


def test_row_9_there_is_11_4():
    assert drivers("11.4") == ["471.11", "471.41", "471.41", "472.50", "472.50"]
    assert (served("471.10"), served("471.11")) == ("11.3", "11.4")


@pytest.mark.parametrize(
    ("platform", "refused", "warned", "served"),
    [("linux-64", "450.66", "460.32.03", "465.19.01"), ("win-64", "451.67", "460.89", "465.89")],
)
def test_rows_10_12_the_floor_refuses_and_the_toolkits_driver_is_no_floor(platform, refused, warned, served):
    facts = ("1.12.1", "11.3", "3.9")
    told = [status("driver", *facts, platform=platform, driver=item) for item in (refused, warned, served, "610.10")]
    assert told == ["fail", "warn", "ok", "ok"]


def test_row_11_a_450_needs_no_older_build_and_440_takes_cu102():
    assert driver_need("11.1", "linux-64").minimum == driver_need("11.3", "linux-64").minimum == "450.80.02"
    machine = described_machine("440.33.01", ("Tesla T4",))
    assert routes_for(("1.12.1", "11.3"), machine)[0].spec == "torch112-cu102"


def test_rows_13_14_pythons():
    assert status("python", "2.0.0", "11.8", "3.11") == "ok"
    assert status("python", "2.0.0", "11.8", "3.11", platform="win-64") == "ok"
    assert status("python", "1.13.0", "11.7", "3.11") == "ok"
    assert status("python", "1.13.1", "11.7", "3.11") == "ok"
    assert status("python", "1.13.1", "11.7", "3.11", platform="win-64") == "fail"
    for torch in ("1.10.0", "1.10.1", "1.10.2"):
        assert status("python", torch, "11.3", "3.10") == "fail"
        assert status("python", torch, "11.3", "3.9") == "ok"
    assert status("python", "1.11.0", "11.3", "3.10") == "ok"


def test_row_15_the_torchvision_of_1_10_0():
    release = release_of("1.10.0")
    assert release.torchvision == "0.11.1"
    assert "torchvision==0.11.1+cu113" in find_spec("torch1.10.0-cu113").spec.packages
    for version in ("0.11.1+cu113", "0.11.0+cu113"):
        assert [check.status for check in check_set(release, [f"torchvision=={version}"])] == ["ok"]
    (wrong,) = check_set(release, ["torchvision==0.12.0+cu113", "torchaudio==0.10.0+cu113"])
    assert wrong.status == "fail"
    assert "torch 1.11.0" in wrong.why


def test_row_16_each_release_has_its_own_set():
    sets = {torch: (release_of(torch).torchvision, release_of(torch).torchaudio) for torch in CU113[:3]}
    assert sets == {"1.10.0": ("0.11.1", "0.10.0"), "1.10.1": ("0.11.2", "0.10.1"), "1.10.2": ("0.11.3", "0.10.2")}


def test_row_17_all_six_have_cu113():
    assert all(release_of(torch).build("cu113", "linux-64") is not None for torch in CU113)
    assert all(spec_named(torch, "11.3") is not None for torch in CU113)


def test_row_18_the_set_of_2_11_0():
    release = release_of("2.11.0")
    assert (release.torchvision, release.torchaudio, release.released) == ("0.26.0", "2.11.0", "2026-03-23")


def test_row_19_the_lowest_cuda_is_per_release():
    assert lowest_cuda("2.0.1") == "11.7"
    assert {lowest_cuda(torch) for torch in ("2.1.0", "2.4.1", "2.7.1")} == {"11.8"}
    assert {lowest_cuda(torch) for torch in ("2.8.0", "2.11.0", "2.14.0")} == {"12.6"}


def test_row_20_builds_of_1_10_and_windows_from_1_11_on():
    for platform in ("linux-64", "win-64"):
        labels = {build.label for build in release_of("1.10.1").builds(platform)}
        assert labels == {"cpu", "cu102", "cu111", "cu113"}
    assert status("build", "1.10.2", "10.2", "3.9", platform="win-64") == "ok"
    assert status("build", "1.11.0", "10.2", "3.9", platform="win-64") == "fail"
    assert status("build", "1.11.0", "10.2", "3.9") == "ok"


def test_rows_21_22_what_a_plain_wheel_is_depends_on_the_system():
    linux = {torch: plain_wheel_build(torch, "linux-64") for torch in ("1.7.1", "1.12.1", "1.13.1", "2.1.0", "2.5.0")}
    assert linux == {"1.7.1": "cu102", "1.12.1": "cu102", "1.13.1": "cu117", "2.1.0": "cu121", "2.5.0": "cu124"}
    later = [plain_wheel_build(torch, "linux-64") for torch in ("2.7.0", "2.8.0", "2.11.0", "2.15.0")]
    assert later == ["cu126", "cu128", "cu130", "cu132"]
    windows = {plain_wheel_build(release.torch, "win-64") for release in releases()}
    assert windows <= {"cpu", None}
    # no label, and a CUDA build all the same
    assert release_of("1.7.1").row["pypi_plain_wheel"]["linux_x86_64"]["version_string"] == "1.7.1"


def test_row_23_the_index_of_each_release():
    told = {torch: release_of(torch).row["index"]["option"] for torch in ("1.9.1", "1.10.2", "1.12.1", "2.0.0")}
    assert told == {"1.9.1": "-f", "1.10.2": "-f", "1.12.1": "--extra-index-url", "2.0.0": "--index-url"}
    # envkit looks for torch's own packages there, and for all others in the user's own index
    (source,) = find_spec("torch112-cu113").spec.sources
    assert source.url == "https://download.pytorch.org/whl/cu113"
    assert "numpy" not in source.packages


def test_row_24_torchaudio_has_a_label_from_0_10_on():
    assert "torchaudio==0.10.1+cu113" in find_spec("torch1.10.1-cu113").spec.packages


def test_rows_25_26_channels_and_cudatoolkit():
    for name in ("torch1.10.1-cu113-conda", "torch112-cu113-conda"):
        spec = find_spec(name).spec
        assert spec.channels == ("pytorch", "conda-forge")
        assert "cudatoolkit=11.3" in spec.packages
    for torch in ("1.8.1", "1.9.0", "1.9.1"):
        release = release_of(torch)
        known = {build.cuda: build.known for build in conda_builds(release, "linux-64")}
        assert (known["11.1"], known["11.3"]) == ("disputed", "disputed")
        assert release.row["conda"]["prefer"] == "cudatoolkit=11.1"
        assert spec_named(torch, "11.3", "conda") is None
    assert all(build.known in MAY_REFUSE for build in conda_builds(release_of("1.10.1"), "linux-64"))


def test_rows_27_28_29_the_cudnn_of_builds():
    assert {cudnn_of(torch) for torch in CU113[:4]} == {"8.2.0.53"}
    assert {cudnn_of(torch) for torch in CU113[4:]} == {"8.3.2.44"}
    assert {"8.2.0", "8.3.2"} <= set(cudnn_used_with("11.3"))


def test_row_30_the_runtime_of_all_of_11_has_one_name():
    files = {row["toolkit"]: row["runtime_files"] for row in toolkit_rows()}
    assert {row["cudart_dll"] for release, row in files.items() if release.startswith("11.")} == {"cudart64_110.dll"}
    assert files["11.3"]["libcudart"] == "libcudart.so.11.0"
    assert (files["12.4"]["cudart_dll"], files["13.0"]["cudart_dll"]) == ("cudart64_12.dll", "cudart64_13.dll")


def test_row_31_one_release_has_several_builds_of_nvcc():
    assert toolkit_update("11.3.109") == "11.3.1"
    assert toolkit_update("11.3.58") is None  # not sure enough: the release is 11.3 all the same


def test_row_32_the_newest_gcc_of_11_3():
    assert newest_gcc("11.3") == 10


def test_row_33_nvcc_and_wheels_have_different_ranges():
    assert compiled_range("11.3")[:2] == ("3.5", "8.6")
    assert arch_list("1.12.1", "11.3", "linux-64").capabilities[0] == "3.7"


@pytest.mark.parametrize(
    ("torch", "cuda", "lowest"),
    [
        ("1.12.1", "11.3", "3.7"),
        ("1.12.1", "10.2", "3.7"),
        ("2.1.0", "11.8", "3.7"),
        ("2.1.0", "12.1", "5.0"),
        ("2.6.0", "12.4", "5.0"),
        ("2.7.0", "12.6", "5.0"),
        ("2.8.0", "12.8", "7.0"),
        ("2.11.0", "13.0", "7.5"),
    ],
)
def test_row_34_the_oldest_card_of_a_build(torch, cuda, lowest):
    assert arch_list(torch, cuda, "linux-64").capabilities[0] == lowest
    assert status("compute-capability", torch, cuda, "3.10", gpu="Tesla K40m") == "fail"


def test_rows_35_36_names_are_looked_up():
    told = {name: gpu_fact(f"GeForce {name}").capability for name in ("GTX 760", "GTX 770", "GTX 780", "GTX TITAN")}
    assert told == {"GTX 760": "3.0", "GTX 770": "3.0", "GTX 780": "3.5", "GTX TITAN": "3.5"}
    assert gpu_fact("GeForce GTX 780 Ti").capability == "3.5"
    assert gpu_fact("GeForce GTX 750").capability == "5.0"
    assert gpu_fact("GeForce GT 710").capability == "3.5"
    kepler = {row["arch"] for row in gpus_table()["gpus"] if row["cc"] == "3.5"}
    assert kepler == {"Kepler"}


def test_row_37_the_tool_counts_before_the_table():
    name = "NVIDIA A100-SXM4-80GB"
    (told,) = parse_smi(f"name, driver_version, compute_cap\n{name}, 535.104.05, 9.9\n").gpus
    assert told.compute_capability == "9.9"
    cards = Machine("linux-64", None, (told, Gpu(1, name)), None, is_described=False, smi=None).cards
    assert [(card.capability, card.known) for card in cards] == [("9.9", "confirmed"), ("8.0", "confirmed")]


def test_rows_38_39_numpy():
    for torch in ("1.10.0", "1.12.1", "2.2.2"):
        assert release_of(torch).numpy_bound("linux-64") == release_of(torch).numpy_bound("win-64") == "<2"
        assert check_numpy(release_of(torch), ["numpy"], "linux-64")[0].status == "warn"
        assert check_numpy(release_of(torch), [], "linux-64")[0].status == "warn"
        assert check_numpy(release_of(torch), ["numpy<2"], "linux-64")[0].status == "ok"
        assert check_numpy(release_of(torch), ["numpy==1.23.5"], "linux-64")[0].status == "ok"
    assert release_of("2.3.0").numpy_bound("linux-64") is None
    assert release_of("2.4.0").numpy_bound("win-64") == "<2"
    assert release_of("2.4.1").numpy_bound("win-64") is None
    assert "numpy<2" in find_spec("torch112-cu113").spec.packages


def test_row_40_sizes_are_shown_where_they_are_known():
    plain = release_of("1.12.1").row["pypi_plain_wheel"]
    assert 770e6 < plain["linux_x86_64"]["sample_size"] < 780e6
