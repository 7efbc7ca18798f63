"""What failures of uv and pip mean; the texts are those the programs wrote (uv 0.13.9, pip 26.3), hosts changed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envkit.errors import DownloadError, ProgramError, StorageError
from envkit.installers.diagnose import download_error
from envkit.model.locked import LockedPackage

SOURCE = "https://download.pytorch.org/whl/cu113"
TORCH = LockedPackage(
    "torch", "1.12.1+cu113", "torch-1.12.1+cu113-cp39-cp39-linux_x86_64.whl", "1" * 64, None, SOURCE, "single"
)
VISION = LockedPackage(
    "torchvision", "0.13.1+cu113", "torchvision-0.13.1+cu113-cp39-cp39-linux_x86_64.whl", "2" * 64, None, SOURCE
)
NUMPY = LockedPackage("numpy", "1.21.5", "numpy-1.21.5-cp39-cp39-manylinux_2_17_x86_64.whl", "3" * 64)

UNREACHABLE = f"""\
error: Request failed after 3 retries
  Caused by: Failed to fetch: `{SOURCE}/torch/`
  Caused by: error sending request for url ({SOURCE}/torch/)
  Caused by: client error (Connect)
  Caused by: dns error: failed to lookup address information: Name or service not known
"""
ABSENT = """\
  × No solution found when resolving dependencies:
  ╰─▶ Because there is no version of torch==1.12.1+cu113 and you require torch==1.12.1+cu113, we can conclude that your
      requirements are unsatisfiable.
"""
MISMATCH = f"""\
  × Failed to download `torch==1.12.1+cu113`
  ╰─▶ Hash mismatch for `torch==1.12.1+cu113`

      Expected:
        sha256:{"1" * 64}

      Computed:
        sha256:{"9" * 64}
"""
PIP_MISMATCH = f"""\
ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.
    torch==1.12.1+cu113 from https://download.pytorch.org/whl/cu113/torch.whl:
        Expected sha256 {"1" * 64}
             Got        {"9" * 64}
"""


def _failure(text: str) -> ProgramError:
    return ProgramError("uv failed.", argv=("uv",), returncode=2, stderr=text, why=text)


def _told(text: str, *packages, offline=False):
    return download_error(_failure(text), packages or (TORCH, VISION), SOURCE, offline=offline)


def test_a_source_out_of_reach_names_file_place_and_ways_out():
    error = _told(UNREACHABLE)
    assert isinstance(error, DownloadError)
    assert error.message == f"Could not get {TORCH.file} from {SOURCE}."
    assert "Name or service not known" in error.why
    assert "mirror" in error.hint
    assert "--wheelhouse" in error.hint


def test_the_default_index_has_another_advice():
    error = download_error(_failure(UNREACHABLE.replace("torch", "numpy")), (NUMPY,), "your index", offline=False)
    assert "index-url" in error.hint


def test_a_file_that_the_index_does_not_have():
    error = _told(ABSENT)
    assert error.message == f"{SOURCE} does not have {TORCH.file}."


@pytest.mark.parametrize("text", [MISMATCH, PIP_MISMATCH], ids=["uv", "pip"])
def test_a_hash_mismatch_tells_both_hashes_and_how_well_the_locked_one_is_known(text):
    error = _told(text)
    assert error.exit_code == 5
    assert "1" * 64 in error.why
    assert "9" * 64 in error.why
    assert "single place" in error.why
    known_well = _told(text.replace("torch==1.12.1", "torchvision==0.13.1"), VISION)
    assert "single place" not in known_well.why
    confirmed = _told(text.replace("torch==1.12.1", "torchvision==0.13.1"), replace(VISION, known="confirmed"))
    assert "single place" not in confirmed.why


def test_words_in_a_builds_log_are_no_network_trouble():
    failure = _failure(
        "error: Failed to build `h==1.0`\n  [stdout]\n1502 warnings, proxy objects, certificate.c, 404\n"
    )
    assert download_error(failure, (TORCH,), SOURCE, offline=False) is failure


def test_offline_names_what_is_missing():
    for text, offline in (("x", True), ("Packages were unavailable because the network was disabled.", False)):
        error = _told(text, TORCH, offline=offline)
        assert error.message == f"Offline, and not on this disk: {TORCH.file}."


def test_a_full_disk_is_no_download_error():
    error = _told("error: failed to write: No space left on device (os error 28)")
    assert isinstance(error, StorageError)


def test_an_unknown_failure_stays_what_it_was():
    failure = _failure("error: something new")
    error = download_error(failure, (TORCH,), SOURCE, offline=False)
    assert error is failure
    assert TORCH.file in error.hint


def test_many_files_are_not_all_listed():
    many = [LockedPackage(f"p{n}", "1", f"p{n}-1-py3-none-any.whl", "4" * 64) for n in range(9)]
    error = download_error(_failure("connection refused"), many, "an index", offline=False)
    assert "and 6 more" in error.message
