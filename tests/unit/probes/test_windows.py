"""Windows' own answers; registry and system folder are stand-ins, on every system."""

from __future__ import annotations

import sys

import pytest

from envkit.probes.windows import read_registry, read_windows_memory, read_windows_processor, windows_facts

KEY = r"SOFTWARE\Microsoft\VisualStudio\14.0\VC\Runtimes\x64"
OF_32_BITS = r"SOFTWARE\WOW6432Node\Microsoft\VisualStudio\14.0\VC\Runtimes\x64"
FILE_SYSTEM = r"SYSTEM\CurrentControlSet\Control\FileSystem"


def facts(values, folder, **more):
    return windows_facts(("a.dll", "b.dll"), lambda key, name: values.get((key, name)), folder, **more)


@pytest.mark.parametrize("key", [KEY, OF_32_BITS])
def test_the_runtimes_version(key, tmp_path):
    assert facts({(key, "Installed"): 1, (key, "Version"): "v14.38.33135.00"}, tmp_path).runtime == "14.38.33135.00"
    assert facts({(key, "Installed"): 0, (key, "Version"): "v14.38"}, tmp_path).runtime is None
    assert facts({(key, "Installed"): 1}, tmp_path).runtime == "of an unknown version"


def test_files_long_paths_bits_and_profile(tmp_path):
    (tmp_path / "b.dll").touch()
    found = facts({(FILE_SYSTEM, "LongPathsEnabled"): 1}, tmp_path, profile="C:\\Users\\x")
    assert found.runtime_files == ("b.dll",)
    assert found.has_long_paths is True
    assert found.bits == 64
    assert found.profile == "C:\\Users\\x"
    assert facts({(FILE_SYSTEM, "LongPathsEnabled"): 0}, tmp_path).has_long_paths is False
    assert facts({}, tmp_path).has_long_paths is None


@pytest.mark.skipif(sys.platform == "win32", reason="there it answers")
def test_elsewhere_there_is_nothing_to_be_read():
    assert read_registry(KEY, "Installed") is None
    assert read_windows_memory() is None
    assert read_windows_processor() is None
