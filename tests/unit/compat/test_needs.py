from __future__ import annotations

import pytest

from envkit.compat.card_checks import DriverEnd
from envkit.compat.fit_checks import check_needs
from envkit.compat.needs import needs_of
from envkit.model.driver import DriverVersion
from envkit.model.fit import Card
from envkit.model.locked import LockedPackage

DRIVER = {"driver": {"minimum": "450.80.02", "toolkit": "465.19.01", "known": "confirmed"}}
CODE = {"compute_capability": {"list": ["3.7", "5.0", "7.0", "8.6"], "ptx": ["5.0"], "known": "single"}}


def packages(*files: str, torch: str = "1.12.1+cu113") -> list[LockedPackage]:
    found = [LockedPackage("other", "1.0", file, "0" * 64) for file in files]
    return [*found, LockedPackage("torch", torch, f"torch-{torch}-cp39-cp39-linux_x86_64.whl", "0" * 64)]


def check(needs, **found):
    facts = {"driver": None, "cards": [], "glibc": None} | found
    (result,) = check_needs(needs, **facts)
    return result


def test_needs_of_a_cuda_build():
    files = ("a-1-cp39-cp39-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", "b-1-py3-none-any.whl")
    assert needs_of(packages(*files), "11.3", "linux-64") == {
        "driver": {"minimum": "450.80.02", "toolkit": "465.19.01", "known": "confirmed"},
        "compute_capability": {"list": ["3.7", "5.0", "6.0", "7.0", "7.5", "8.0", "8.6"], "known": "single"},
        "glibc": {"minimum": "2.17", "known": "confirmed"},
    }


def test_needs_of_unknown_facts_are_absent():
    assert needs_of(packages(torch="9.9.9"), "12.7", "linux-64") == {}
    assert needs_of(packages("a-1-cp39-cp39-win_amd64.whl", torch="1.13.1+cpu"), None, "win-64") == {}
    assert set(needs_of(packages(), "13.0", "win-64")["driver"]) == {"minimum", "known"}


def test_needs_of_takes_the_newest_glibc_over_the_files_and_the_oldest_within_a_file():
    files = (
        "a-1-cp39-cp39-manylinux1_x86_64.manylinux_2_28_x86_64.manylinux_2_5_x86_64.whl",
        "b-1-cp39-cp39-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl",
        "c-1-cp39-cp39-manylinux2010_x86_64.whl",
    )
    assert needs_of(packages(*files), None, "linux-64")["glibc"]["minimum"] == "2.27"


@pytest.mark.parametrize(
    ("found", "known", "status"),
    [
        ("440.118.02", "confirmed", "fail"),
        ("440.118.02", "single", "fail"),
        ("440.118.02", "unconfirmed", "warn"),
        ("450.80.02", "confirmed", "warn"),
        ("460.32.03", "confirmed", "warn"),
        ("465.19.01", "confirmed", "ok"),
        ("1000.1", "confirmed", "ok"),
    ],
)
def test_driver(found, known, status):
    needs = {"driver": DRIVER["driver"] | {"known": known}}
    result = check(needs, driver=DriverVersion.parse(found))
    assert (result.id, result.status, result.found) == ("driver", status, found)
    assert (result.why is None) == (status == "ok")


def test_driver_absent_is_unknown_and_a_major_version_alone_can_be_compared():
    assert check(DRIVER).status == "unknown"
    needs = {"driver": {"minimum": "580", "known": "confirmed"}}
    assert check(needs, driver=DriverVersion.parse("575.57.08")).status == "fail"
    assert check(needs, driver=DriverVersion.parse("580.65.06")).status == "ok"


@pytest.mark.parametrize(
    ("found", "status"),
    [
        (["8.6"], "ok"),
        (["8.9"], "ok"),  # code of 8.6 runs on 8.9
        (["7.5"], "ok"),
        (["8.0"], "warn"),  # only by PTX of 5.0
        (["3.5"], "fail"),
        ([], "unknown"),
    ],
)
def test_compute_capability(found, status):
    assert check(CODE, cards=[Card("NVIDIA A40", found[0])] if found else []).status == status


def test_ptx_of_an_older_kind_of_gpu_is_in_doubt_and_that_of_its_own_kind_is_not():
    far = check(CODE, cards=[Card("NVIDIA A100", "8.0")])
    assert far.is_doubtful
    assert "PTX of 5.0 would be compiled" in far.why
    near = {"compute_capability": {"list": ["9.0"], "ptx": ["12.0"], "known": "confirmed"}}
    assert check(near, cards=[Card(None, "12.1")]).status == "ok"
    assert check(near, cards=[Card(None, "13.0")]).is_doubtful


@pytest.mark.parametrize(
    ("capability", "status", "words"),
    [
        ("4.9", "fail", "older than 5.0"),
        ("8.6", "unknown", "not known"),
        ("9.9", "unknown", "not known"),  # it may run code of 9.0
        ("12.0", "warn", "newer than 9.0: at best it runs by PTX"),
    ],
)
def test_what_the_compiler_cannot_make_is_in_no_build(capability, status, words):
    needs = {"compute_capability": {"list": [], "compiled": ["5.0", "9.0"], "known": "confirmed"}}
    found = check(needs, cards=[Card(None, capability)])
    assert (found.status, found.is_doubtful) == (status, status == "warn")
    assert words in found.why


def test_a_gpu_newer_than_what_the_cuda_of_the_driver_knows_is_in_doubt():
    cards, end = [Card(None, "8.6")], DriverEnd("11.0", "8.0")
    found = check(CODE, cards=cards, driver_end=end)
    assert (found.status, found.is_doubtful) == ("warn", True)
    assert "nvcc of CUDA 11.0, which is what it serves, ends at 8.0" in found.why
    assert check(CODE, cards=cards, driver_end=DriverEnd("11.1", "8.6")).status == "ok"


def test_of_two_gpus_the_one_that_does_not_fit_only_warns_and_says_so():
    cards = [Card("Tesla K40m", "3.5"), Card("NVIDIA A40", "8.6")]
    old, new = check_needs(CODE, driver=None, cards=cards, glibc=None)
    assert (old.status, new.status) == ("warn", "ok")
    assert "3.5" in old.why
    assert "A40" in old.why
    assert "CUDA_VISIBLE_DEVICES" in old.hint


def test_compute_capability_without_ptx_does_not_reach_a_newer_major():
    needs = {"compute_capability": {"list": ["3.7", "5.0", "6.0", "7.0"], "known": "confirmed"}}
    result = check(needs, cards=[Card(None, "8.6")])
    assert result.status == "fail"
    assert "8.6" in (result.why or "")


def test_glibc():
    needs = {"glibc": {"minimum": "2.28", "known": "confirmed"}}
    assert check(needs, glibc=(2, 27)).status == "fail"
    assert check(needs, glibc=(2, 100)).status == "ok"
    assert check(needs).status == "unknown"


def test_no_needs_no_checks():
    assert check_needs({}, driver=None, cards=(), glibc=None) == ()
