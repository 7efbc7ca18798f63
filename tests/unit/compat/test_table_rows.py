"""Every table: right in form by its schema, every fact with a source and a status, and no table contradicts another."""

from __future__ import annotations

import copy
import json
import runpy
import sys
from collections import Counter
from pathlib import Path

import jsonschema
import pytest
import yaml
from packaging.specifiers import SpecifierSet

from envkit import resources
from envkit.compat.releases import build_cuda
from envkit.compat.tables import version_key

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
STATUSES = {"confirmed", "single", "derived", "inferred", "unconfirmed", "disputed", "unknown"}
OTHER_WORDS = {
    "ambiguous",  # gpus: several chips under one name
    "exact",  # gpus: how a name is known
    "pci_name",
    "product_name",
    "vision_confirmed_audio_untested",  # pytorch_releases: pairs
}
NAMES = sorted(path.stem for path in resources.data_file("").glob("*.yaml"))
WITH_SCHEMA = ("arch_lists", "cuda_toolkits", "gpus", "pytorch_releases")
VERSIONS = {
    "torch",
    "torchvision",
    "torchaudio",
    "toolkit",
    "version",
    "versions",
    "release",
    "releases",
    "cc",
    "update",
}
CITED_ELSEWHERE = {"python", "pypi_plain_wheel", "msvc", "rules_status", "matching_rules_status"}
"""Facts whose source is told once for all in the table's README or beside them."""


@pytest.fixture(scope="module")
def tables():
    def read(name):
        return yaml.load(resources.data_file(f"{name}.yaml").read_text(encoding="utf-8"), Loader=LOADER)  # noqa: S506

    return {name: read(name) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_the_json_that_is_read_holds_what_the_yaml_does(tables, name):
    """Where they differ: scripts/make_tables.py."""
    assert resources.table(name) == tables[name]


def test_make_tables_writes_what_ships(monkeypatch, capsys):
    script = Path(__file__).parents[3] / "scripts" / "make_tables.py"
    monkeypatch.setattr(sys, "argv", [str(script), "--check"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(script), run_name="__main__")
    assert ended.value.code == 0, capsys.readouterr().out


@pytest.fixture(scope="module")
def releases(tables):
    return tables["pytorch_releases"]["releases"]


@pytest.fixture(scope="module")
def toolkits(tables):
    return {row["toolkit"]: row for row in tables["cuda_toolkits"]["toolkits"]}


def facts(value, keys=()):
    """Each mapping of a table with the keys that lead to it."""
    if isinstance(value, dict):
        yield keys, value
        for key, item in value.items():
            yield from facts(item, (*keys, str(key)))
    elif isinstance(value, list):
        for item in value:
            yield from facts(item, keys)


def sources_in(fact):
    return [name for key, item in fact.items() if key == "src" or str(key).endswith("_src") for name in item]


@pytest.mark.parametrize("name", NAMES)
def test_sources_and_status_words(tables, name):
    table = tables[name]
    assert table["schema"] == 1
    assert table["sources"]
    for source in table["sources"].values():
        assert source.get("url") or source.get("name") or source.get("note")
    for keys, fact in facts(table):
        assert set(sources_in(fact)) <= set(table["sources"]), keys
        words = {item for key, item in fact.items() if str(key).endswith("status") and isinstance(item, str)}
        assert words <= STATUSES | OTHER_WORDS, keys
        if words and not CITED_ELSEWHERE & set(keys) and words != {"unknown"}:
            assert sources_in(fact) or fact.get("url"), (keys, fact)


@pytest.mark.parametrize("name", NAMES)
def test_versions_are_text(tables, name):
    for keys, fact in facts(tables[name]):
        for key, item in fact.items():
            for value in item if isinstance(item, list) else [item]:
                assert not isinstance(value, float), (keys, key)  # 3.10 without quotes
                assert not (isinstance(value, int) and VERSIONS & {key}), (keys, key)


def validator(name):
    schema = json.loads(resources.data_file(f"{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("name", WITH_SCHEMA)
def test_table_has_the_form_that_its_schema_says(tables, name):
    assert [error.message for error in validator(name).iter_errors(tables[name])] == []


BREAKS = {
    "a number for a version": ("pytorch_releases", lambda table: table["releases"][0].update(torch=1.7)),
    "an unknown key": ("pytorch_releases", lambda table: table["releases"][0].update(tourch="1")),
    "no source": ("arch_lists", lambda table: table["entries"][0].update(src=[])),
    "another status": ("cuda_toolkits", lambda table: table["toolkits"][0]["sm"].update(status="sure")),
    "no capability": ("gpus", lambda table: table["gpus"][0].pop("cc")),
    "a capability as a number": ("gpus", lambda table: table["gpus"][0].update(cc=3.0)),
    "zero for unknown": (
        "cuda_toolkits",
        lambda table: table["toolkits"][-1]["toolkit_driver_ga"].update(windows=0),
    ),
}


@pytest.mark.parametrize("what", BREAKS)
def test_schema_finds(tables, what):
    name, change = BREAKS[what]
    small = {
        key: copy.deepcopy(value[:1] + value[-1:] if isinstance(value, list) and key != "rules" else value)
        for key, value in tables[name].items()
    }
    assert validator(name).is_valid(small)
    change(small)
    assert not validator(name).is_valid(small)


def test_builds_python_and_dates_of_releases(tables, releases, toolkits):
    labels = tables["pytorch_releases"]["build_to_toolkit"]
    for row in releases:
        for machine, builds in row["builds"].items():
            cudas = [build_cuda(label) for label in builds]
            assert cudas == sorted(cudas, key=lambda cuda: version_key(cuda or "0")), row["torch"]
            assert {cuda for cuda in cudas if cuda} <= set(toolkits)
            assert [labels[label] for label in builds] == cudas
            assert machine in row["python"], row["torch"]
            for build in builds.values():
                assert build.get("cudnn") is not None or build.get("cudnn_status") in {None, "unknown"}
        for machine, versions in row["python"].items():
            if machine != "status":
                assert versions == sorted(versions, key=lambda text: (version_key(text), text)), row["torch"]
                supported = SpecifierSet(row["requires_python"] or "")
                assert all(version.rstrip("t") + ".99" in supported for version in versions)
    dates = [row["released"] for row in releases if row["released"] and row["torch"] != "1.8.2"]  # LTS, after 1.9.0
    assert dates == sorted(dates)


def test_plain_wheels_are_builds_that_exist(releases):
    for row in releases:
        for machine, wheel in row.get("pypi_plain_wheel", {}).items():
            if wheel["build"] is None:
                assert wheel["build_status"] == "unknown"
                continue
            build = row["builds"][machine][wheel["build"]]
            assert wheel["build_status"] != "confirmed" or build["status"] == "confirmed"
            if wheel["version_string"] is not None and "+" in wheel["version_string"]:
                assert wheel["version_string"] == f"{row['torch']}+{wheel['build']}"
            if machine == "windows_x86_64":
                assert wheel["build"] == "cpu"


def test_conda_entries_name_builds_that_exist_unless_disputed(releases):
    for row in releases:
        for entry in row["conda"]["entries"]:
            package, _, cuda = entry["spec"].partition("=")
            assert package == row["conda"]["cuda_package"]
            for machine in entry["platforms"]:
                there = {build_cuda(label) for label in row["builds"][machine]}
                assert cuda in there or entry["status"] == "disputed", row["torch"]


def test_numpy_bound_follows_the_rule_of_the_table(releases):
    for row in releases:
        version = version_key(row["torch"])
        assert row["numpy"]["linux"] == ("<2" if version < (2, 3) else None)
        assert row["numpy"]["windows"] == ("<2" if version < (2, 4, 1) else None)


def test_bounds_name_releases(tables, releases):
    known = {row["torch"] for row in releases}
    for row in tables["pytorch_releases"]["bounds"]:
        assert row["until"] in known
        SpecifierSet(row["specifier"])


def test_arch_lists_are_of_builds_that_releases_and_toolkits_know(tables, releases, toolkits):
    builds = {row["torch"]: row["builds"] for row in releases}
    unknown: list[tuple[str, ...]] = []
    for row in tables["arch_lists"]["entries"]:
        code = [(name.startswith("compute"), int(name.split("_")[1].rstrip("af"))) for name in row["arch_list"]]
        assert code == sorted(code)
        toolkit = toolkits[build_cuda(row["build"])]
        compiled = {name for name in row["arch_list"] if name.startswith("sm_")}
        assert compiled <= {*toolkit["sm"]["list"], *toolkit["sm"]["arch_specific"]}, row
        unknown += [
            (torch, row["build"], row["platform"], row["status"])
            for torch in row["torch"]
            if row["build"] not in builds[torch].get(row["platform"], {})
        ]
    assert unknown == [("1.8.2", "cu101", "windows_x86_64", "single")]  # in the LTS build script, on no page


def test_toolkits_agree_in_themselves(toolkits):
    versions = [version_key(toolkit) for toolkit in toolkits]
    assert versions == sorted(versions)
    assert "12.7" not in toolkits
    for release, row in toolkits.items():
        for system in ("linux", "windows"):
            released = [version_key(item[f"driver_{system}"]) for item in row["updates"] if item[f"driver_{system}"]]
            assert released == sorted(released), release
            first = next(item for item in row["updates"] if "RC" not in item["update"])
            assert first[f"driver_{system}"] == row["toolkit_driver_ga"][system], release
        assert (row["sm"]["list"][0], row["sm"]["list"][-1]) == (row["sm"]["min"], row["sm"]["max"])
        assert row["updates"][0]["update"].startswith(release)


def test_cudnn_of_builds_and_toolkits_is_of_a_major_version_whose_files_are_known(tables, releases, toolkits):
    known = {row["cudnn"] for row in tables["cuda_toolkits"]["cudnn_files"]} | {"7"}  # of 7 no file names are tabled
    stated = [build.get("cudnn") for row in releases for builds in row["builds"].values() for build in builds.values()]
    stated += [version for row in toolkits.values() for version in row["cudnn"]["versions"]]
    assert {version.split(".")[0] for version in stated if version} <= known
    for version, number in tables["cuda_toolkits"]["cudnn_version_integers"].items():
        major, minor, patch = (int(part) for part in version.split("."))
        assert number == (major * 10000 if major >= 9 else major * 1000) + minor * 100 + patch


def test_gpus_are_in_order_unique_and_agree_with_their_chips(tables):
    table = tables["gpus"]
    rows, chips = table["gpus"], table["chip_to_cc"]
    assert table["count"] == len(rows)
    assert max(Counter(row["name"] for row in rows).values()) == 1
    capabilities = [version_key(row["cc"]) for row in rows]
    assert capabilities == sorted(capabilities)
    for row in rows:
        assert (row["cc_status"] == "ambiguous") == ("cc_other" in row), row["name"]
        chip = row.get("chip", "").removesuffix("B") if row.get("chip") not in chips else row["chip"]
        if chip:
            assert chips[chip] in {row["cc"], *row.get("cc_other", ())}, row["name"]


def test_wheels_with_hashes_are_in_order_and_unique(tables):
    rows = tables["cudnn_wheels"]["wheels"]
    assert len({row["file"] for row in rows}) == len(rows)
    order = [version_key(row["toolkit"]) for row in tables["toolkit_wheels"]["toolkits"]]
    assert order == sorted(order, reverse=True)
