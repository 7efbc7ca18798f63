"""`envkit specs --fits`: which specs a machine runs."""

from __future__ import annotations

import json

from click.testing import CliRunner

from envkit.cli.main import cli
from envkit.cli.specs_text import fitting_lines, specs_lines
from envkit.compat.tables import version_key
from envkit.model.lock import parse_lock
from envkit.model.lock_text import outline
from envkit.operations.machine import described_machine
from envkit.operations.specs import find_spec, list_specs, shipped_names

A100 = "NVIDIA A100-SXM4-80GB"


def test_each_spec_has_its_verdict():
    listed = {item.name: item for item in list_specs(described_machine("460.32.03", [A100], "linux-64"))}
    assert listed["torch112-cu113"].fits is True
    assert "minor-version" in str(listed["torch112-cu113"].why)
    assert listed["torch112-cu102"].fits is False
    assert "no kernels for compute capability 8.0" in str(listed["torch112-cu102"].why)
    assert listed["torch25-cu124"].fits is False
    assert listed["torch25-cpu"].fits is True
    assert set(listed) == set(shipped_names())


def test_without_a_driver_cuda_builds_cannot_be_told():
    verdicts = {item.cuda is None: set() for item in list_specs()}
    for item in list_specs(described_machine(None, [], "linux-64")):
        if "linux-64" in find_spec(item.name).spec.platforms:
            verdicts[item.cuda is None].add(item.fits)
    assert verdicts == {True: {True}, False: {None}}


def test_not_asked_is_not_judged():
    assert {(item.fits, item.why) for item in list_specs()} == {(None, None)}
    assert list_specs()[0].to_json()["fits"] is None


def test_the_order_of_the_list():
    names = [item.name for item in list_specs()]
    assert [name for name in names if name.startswith("torch213-")] == [
        "torch213-cu132", "torch213-cu130", "torch213-cu126", "torch213-cpu",
    ]  # fmt: skip
    wanted = [name for name in names if name.startswith(("torch112-", "torch1.12.0-"))]
    assert wanted == [
        "torch112-cu116", "torch112-cu116-conda", "torch112-cu113", "torch112-cu113-conda", "torch112-cu102",
        "torch112-cu102-conda", "torch112-cpu",
        "torch1.12.0-cu116", "torch1.12.0-cu116-conda", "torch1.12.0-cu113", "torch1.12.0-cu113-conda",
        "torch1.12.0-cu102", "torch1.12.0-cu102-conda", "torch1.12.0-cpu",
    ]  # fmt: skip
    releases = [version_key((find_spec(name).spec.torch_version or "").partition("+")[0]) for name in names]
    assert releases == sorted(releases, reverse=True)


def test_the_text_holds_what_fits_and_counts_the_rest():
    machine = described_machine("460.32.03", [A100], "linux-64")
    listed = list_specs(machine)
    lines = fitting_lines(listed, machine)
    names = [line.split()[0] for line in lines if line.startswith("torch")]
    assert names == [item.name for item in listed if item.fits is not False]
    unfit = sum(item.fits is False for item in listed)
    assert lines[-1].startswith(f"{unfit} of {len(listed)} do not fit:")
    (line,) = [line for line in lines if line.startswith("torch112-cu113 ")]
    assert line.endswith("yes   driver older than the toolkit's 465.19.01")


def test_without_a_driver_the_cpu_specs_are_listed_and_the_line_to_ask():
    machine = described_machine(None, [], "linux-64")
    listed = list_specs(machine)
    lines = fitting_lines(listed, machine)
    assert "The machine that you described: linux-64; no driver was stated (--driver)." in lines
    names = [line.split()[0] for line in lines if line.startswith("torch")]
    assert names == [item.name for item in listed if item.fits]
    assert len(names) < len(listed) / 3
    assert "envkit specs --fits --driver V --gpu NAME" in lines
    assert specs_lines(list_specs())[0].split()[0] == "NAME"


def test_the_outline_of_a_lock_is_what_stands_in_it():
    paths = [path for name in shipped_names() if (path := find_spec(name).lock_path).is_file()]
    assert paths
    for path in paths:
        text = path.read_text(encoding="utf-8")
        lock = parse_lock(text, path.name)
        assert outline(text) == (lock.spec_sha256, tuple(sorted(lock.platforms)))


def test_another_machine_gives_the_same_verdicts_in_specs_and_matrix():
    words = ["--driver", "570.86.16", "--gpu", "NVIDIA GeForce RTX 5090", "--platform", "linux"]
    specs = json.loads(CliRunner().invoke(cli, ["specs", *words, "--json"], catch_exceptions=False).output)["specs"]
    matrix = ["matrix", "--torch", "2.11", *words, "--json"]
    rows = json.loads(CliRunner().invoke(cli, matrix, catch_exceptions=False).output)["rows"]
    told = {item["name"]: item["fits"] for item in specs}
    assert (told["torch211-cu128"], told["torch112-cu113"]) == (True, False)
    assert {row["spec"]: row["fits"] for row in rows if row["spec"]}.items() <= told.items()
