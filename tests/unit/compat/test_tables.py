from __future__ import annotations

import pytest
import yaml

from envkit import resources
from envkit.compat.tables import (
    ArchList,
    DriverNeed,
    arch_list,
    build_label,
    driver_need,
    plain_wheel_build,
    toolkit_update,
    version_key,
)

TABLES = ("arch_lists", "cuda_toolkits", "pytorch_releases", "toolkit_installers")


@pytest.mark.parametrize(
    ("cuda", "platform", "expected"),
    [
        ("10.2", "linux-64", DriverNeed("440.33", "440.33", "confirmed")),
        ("11.0", "linux-64", DriverNeed("450.51.05", "450.51.05", "confirmed")),
        ("11.3", "linux-64", DriverNeed("450.80.02", "465.19.01", "confirmed")),
        ("11.3", "win-64", DriverNeed("452.39", "465.89", "confirmed")),
        ("12.8", "linux-aarch64", DriverNeed("525.60.13", "570.26", "confirmed")),
        ("12.8", "win-64", DriverNeed("528.33", "570.65", "single")),
        ("13.0", "win-64", DriverNeed("580", None, "unconfirmed")),
        ("12.7", "linux-64", None),
        ("11.3", "osx-arm64", None),
    ],
)
def test_driver_need(cuda, platform, expected):
    assert driver_need(cuda, platform) == expected


@pytest.mark.parametrize(
    ("nvcc", "version"),
    [
        ("11.3.109", "11.3.1"),
        ("10.1.168", "10.1.168"),
        ("13.2.78", "13.2.1"),
        ("13.0.88", None),
        ("13.4.59", None),
        ("11.3.58", None),
        ("99.1.1", None),
    ],
    ids=["an update", "before 11.0", "newer", "of two updates", "of two updates in one row", "not sure", "unknown"],
)
def test_toolkit_update_of_a_compilers_number(nvcc, version):
    assert toolkit_update(nvcc) == version


def test_arch_list_of_wheels_not_of_conda_packages():
    assert arch_list("1.11.0", "10.2", "linux-64") == ArchList(("3.7", "5.0", "6.0", "7.0"), (), "confirmed")
    windows = arch_list("1.12.1+cu113", "11.3", "win-64")
    assert windows is not None
    assert (windows.capabilities[3], windows.ptx, windows.known) == ("6.1", ("3.7",), "single")
    newest = arch_list("2.13.0", "13.0", "linux-64")
    assert newest is not None
    assert newest.capabilities[-2:] == ("10.0", "12.0")
    assert arch_list("1.11.0", "11.8", "linux-64") is None
    assert arch_list("2.5.0", "12.4", "linux-64").known == "confirmed"


def test_plain_wheel_build_is_told_only_where_it_is_confirmed():
    assert plain_wheel_build("1.11.0", "linux-64") == "cu102"
    assert plain_wheel_build("1.11.0", "win-64") == "cpu"
    assert plain_wheel_build("1.7.0", "win-64") is None
    assert plain_wheel_build("0.4.1", "linux-64") is None
    assert plain_wheel_build("1.11.0", "osx-64") is None


def test_versions_compare_part_by_part():
    assert version_key("470.82") == version_key("470.82.00")
    assert version_key("418.87.01") < version_key("450.80.02") < version_key("1000.1")


def test_build_label():
    assert [build_label(cuda) for cuda in (None, "9.2", "11.3", "13.0")] == ["cpu", "cu92", "cu113", "cu130"]


@pytest.mark.parametrize("name", TABLES)
def test_table_has_sources_and_every_reference_to_one_is_known(name):
    text = resources.data_file(f"{name}.yaml").read_text(encoding="utf-8")
    table = yaml.safe_load(text)
    assert table["schema"] == 1
    cited = list(_cited(table))
    assert cited
    assert set(cited) <= set(table["sources"])


def _cited(value):
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "src" or str(key).endswith("_src"):
                yield from item
            else:
                yield from _cited(item)
    elif isinstance(value, list):
        for item in value:
            yield from _cited(item)


def test_every_row_of_the_arch_lists_cites_and_no_two_rows_say_the_same():
    table = yaml.safe_load(resources.data_file("arch_lists.yaml").read_text(encoding="utf-8"))
    seen = set()
    for row in table["entries"]:
        assert row["src"]
        assert row["status"] in table["status_values"]
        for torch in row["torch"]:
            key = (torch, row["build"], row["platform"], row["package"])
            assert key not in seen
            seen.add(key)


def test_toolkits_and_releases_are_in_order_and_unique():
    toolkits = yaml.safe_load(resources.data_file("cuda_toolkits.yaml").read_text(encoding="utf-8"))["toolkits"]
    versions = [version_key(row["toolkit"]) for row in toolkits]
    assert len(set(versions)) == len(versions)
    assert [row["tag"] for row in toolkits] == [build_label(row["toolkit"]) for row in toolkits]
    releases = yaml.safe_load(resources.data_file("pytorch_releases.yaml").read_text(encoding="utf-8"))["releases"]
    keys = [version_key(row["torch"]) for row in releases]
    assert len({row["torch"] for row in releases}) == len(keys)
    assert keys == sorted(keys)
