from __future__ import annotations

from dataclasses import replace

import pytest

from envkit.errors import InvalidFileError
from envkit.model.conda_record import CondaRecord
from envkit.model.locked import LockedPackage
from envkit.model.toolkit_record import ToolkitRecord, parse_toolkit_record

WHEELS = (
    LockedPackage("nvidia-nvvm", "13.2.86", "nvidia_nvvm-13.2.86-py3-none-win_amd64.whl", "b" * 64, 2),
    LockedPackage("nvidia-cuda-nvcc", "13.2.86", "nvidia_cuda_nvcc-13.2.86-py3-none-win_amd64.whl", "a" * 64, 1),
)
RECORD = ToolkitRecord("13.2.2", "pypi", "win-64", ("cublas",), WHEELS, "2026-11-30T14:59:01Z", "envkit 0.1.0")
CONDA = CondaRecord("cuda-nvcc", "12.4.131", "0", "nvidia", "linux-64", "cuda-nvcc-12.4.131-0.conda", "c" * 64, size=3)


@pytest.mark.parametrize(
    "record",
    [RECORD, replace(RECORD, source="conda", platform="linux-64", libraries=(), packages=(CONDA,), version="12.4")],
    ids=["pypi", "conda"],
)
def test_a_record_survives_its_file(record):
    read = parse_toolkit_record(record.to_text(), "toolkit.yaml")
    assert read == replace(record, packages=tuple(sorted(record.packages, key=lambda item: item.name)))
    assert read.to_text() == record.to_text()


def test_the_size_is_told_where_all_are_known():
    assert RECORD.size == 3
    assert replace(RECORD, packages=(*WHEELS, replace(WHEELS[0], size=None))).size is None


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("source: pypi", "source: cvs", "cvs"),
        ("schema: 1", "schema: 2", "schema 2"),
        ("version: 13.2.2", "version: ../../x", "no version"),
        ("sha256: " + "a" * 64, "sha256: " + "a" * 63, "64 hexadecimal"),
        ("version: 13.2.86, file", "version: 13.2.86, source: 'https://example.org/simple', file", "default index"),
        ("file: nvidia_nvvm", "file: ../nvidia_nvvm", "path"),
    ],
)
def test_a_record_that_could_lead_elsewhere_is_refused(before, after, told):
    text = RECORD.to_text()
    assert before in text
    with pytest.raises(InvalidFileError, match=told):
        parse_toolkit_record(text.replace(before, after, 1), "toolkit.yaml")


def test_a_record_without_packages_is_none():
    text = RECORD.to_text().partition("packages:")[0] + "packages: []\n"
    with pytest.raises(InvalidFileError, match="no package"):
        parse_toolkit_record(text, "toolkit.yaml")
