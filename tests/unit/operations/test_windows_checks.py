"""The checks of Windows, with facts that stand in for a machine's."""

from __future__ import annotations

from pathlib import PureWindowsPath

import pytest

from envkit.operations.windows_checks import windows_checks
from envkit.probes.windows import WindowsFacts

FILES = ("vcruntime140.dll", "msvcp140.dll", "vcruntime140_1.dll")
FOLDER = r"C:\Users\ann\AppData\Local\envkit\envs\torch112_cu113_py39"


def check(name, folder=FOLDER, **facts):
    given = {
        "runtime": "14.38",
        "runtime_files": FILES,
        "bits": 64,
        "has_long_paths": False,
        "profile": r"C:\Users\ann",
    }
    found = windows_checks(PureWindowsPath(folder), WindowsFacts(**given | facts))
    return next(item for item in found if item.id == name)


def test_a_good_machine():
    found = windows_checks(PureWindowsPath(r"C:\envs\demo"), WindowsFacts("14.38", FILES, 64, True, r"C:\Users\ann"))
    assert [(item.id, item.status) for item in found] == [
        ("visual-cpp", "ok"),
        ("python-bits", "ok"),
        ("long-paths", "ok"),
        ("ascii-path", "ok"),
    ]


def test_no_runtime_only_warns_for_conda_may_bring_it():
    found = check("visual-cpp", runtime=None, runtime_files=())
    assert found.status == "warn"
    assert found.found == f"not in the registry; in System32 missing: {', '.join(FILES)}"
    assert "vc_redist.x64.exe" in found.hint


def test_an_old_runtime_has_not_all_files():
    found = check("visual-cpp", runtime="14.0.23026", runtime_files=FILES[:2])
    assert (found.status, found.found) == ("warn", "version 14.0.23026; in System32 missing: vcruntime140_1.dll")


def test_a_python_of_32_bits():
    assert check("python-bits", bits=32).status == "warn"


@pytest.mark.parametrize(
    ("length", "long_paths", "status"),
    [(69, False, "ok"), (70, False, "warn"), (70, None, "warn"), (70, True, "ok")],
)
def test_torchs_longest_file_counts(length, long_paths, status):
    folder = "C:\\" + "x" * (length - 3)
    found = check("long-paths", folder, has_long_paths=long_paths)
    assert found.status == status
    assert str(length + 19 + 171) in found.found


@pytest.mark.parametrize("changes", [{"profile": "C:\\Users\\Jörg"}, {"folder": "D:\\环境\\torch"}])
def test_letters_beyond_ascii(changes):
    found = check("ascii-path", **changes)
    assert found.status == "warn"
    assert found.known == "unconfirmed"
    assert found.found in changes.values()
