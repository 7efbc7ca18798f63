from __future__ import annotations

import errno

import pytest

from envkit import errors


def test_the_exit_codes_are_those_of_the_design():
    assert {code.name: int(code) for code in errors.ExitCode} == {
        "OK": 0,
        "UNEXPECTED": 1,
        "USAGE": 2,
        "UNFIT_MACHINE": 3,
        "INVALID_FILE": 4,
        "EXTERNAL": 5,
        "VERIFICATION_FAILED": 6,
        "INSTALLER_RULE": 7,
        "BUSY": 8,
        "NOT_FOUND": 9,
        "NOT_VERIFIABLE": 10,
        "EXISTS": 11,
        "STORAGE": 12,
        "RUN_ENVKIT": 125,
        "RUN_NOT_EXECUTABLE": 126,
        "RUN_NOT_FOUND": 127,
        "INTERRUPTED": 130,
    }


def test_an_installer_that_is_mixed_in_says_why_and_what_to_do():
    error = errors.InstallerMixedError("torch112_cu113_py39", "conda", "pip", needed="scipy", hint="envkit add")
    assert error.exit_code == 7
    assert error.kind == "InstallerMixed"
    assert "built with conda" in error.message
    assert error.why
    assert error.hint


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "full"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permission"),
        (errno.ENAMETOOLONG, "too long"),
    ],
)
def test_storage_errors_are_told_by_their_reason(number, words):
    error = errors.StorageError.from_os_error(OSError(number, "x", "/place"))
    assert error.exit_code == 12
    assert "/place" in error.message
    assert words in error.why


def test_other_os_errors_are_no_storage_errors():
    assert errors.StorageError.from_os_error(OSError(errno.ECONNREFUSED, "x")) is None
    assert errors.StorageError.from_os_error(OSError("without a number")) is None
    assert "a file" in errors.StorageError.from_os_error(OSError(errno.ENOSPC, "x")).message


def test_a_file_error_names_file_and_line():
    assert errors.InvalidFileError("a.yaml", "bad.", line=3).message == "a.yaml:3: bad."
    assert errors.InvalidFileError("a.yaml", "bad.").message == "a.yaml: bad."
