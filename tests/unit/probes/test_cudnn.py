from __future__ import annotations

import pytest

from envkit.model.toolkit import Cudnn
from envkit.probes.cudnn import find_cudnn
from tests.support.toolkit_folders import add_cudnn, make_toolkit

SEVEN = """\
#define CUDNN_MAJOR 7
#define CUDNN_MINOR 6
#define CUDNN_PATCHLEVEL 5
#define CUDNN_VERSION (CUDNN_MAJOR * 1000 + CUDNN_MINOR * 100 + CUDNN_PATCHLEVEL)
"""


@pytest.fixture
def toolkit(tmp_path):
    return make_toolkit(tmp_path / "cuda-11.3")


def test_a_toolkit_without_cudnn_has_none(toolkit):
    assert find_cudnn(toolkit) is None
    assert find_cudnn(toolkit / "nowhere") is None


def test_the_version_is_that_of_the_header(toolkit):
    add_cudnn(toolkit, "8.2.1")
    assert find_cudnn(toolkit) == Cudnn("8.2.1")
    assert find_cudnn(toolkit) == Cudnn("8.2.1", ())


def test_before_8_it_is_in_cudnn_h(toolkit):
    (toolkit / "include" / "cudnn.h").write_text(SEVEN)
    (toolkit / "lib").mkdir()
    (toolkit / "lib" / "libcudnn.so.7").write_bytes(b"")
    assert find_cudnn(toolkit) == Cudnn("7.6.5")


@pytest.mark.parametrize("place", ["lib64", "lib", "targets/x86_64-linux/lib"])
def test_the_library_alone_lacks_headers_and_version(toolkit, place):
    (toolkit / place).mkdir(parents=True)
    (toolkit / place / "libcudnn.so.9").write_bytes(b"")
    assert find_cudnn(toolkit) == Cudnn(None, ("include",))


def test_headers_alone_lack_the_library(toolkit):
    add_cudnn(toolkit, "9.10.2", lib=False)
    assert find_cudnn(toolkit) == Cudnn("9.10.2", ("lib",))


def test_a_header_that_does_not_tell_leaves_the_version_unknown(toolkit):
    add_cudnn(toolkit)
    (toolkit / "include" / "cudnn_version.h").write_bytes(b"#define CUDNN_MAJOR 8\n\xff")
    assert find_cudnn(toolkit) == Cudnn(None)


def test_debians_own_cudnn_is_nobodys_part(tmp_path):
    toolkit = tmp_path / "usr" / "lib" / "nvidia-cuda-toolkit"
    (toolkit / "bin").mkdir(parents=True)
    (tmp_path / "usr" / "include").mkdir()
    (tmp_path / "usr" / "include" / "cudnn_version.h").write_text("#define CUDNN_MAJOR 8\n")
    assert find_cudnn(toolkit) is None


@pytest.mark.parametrize("missing", [(), ("bin",), ("include",), ("lib",), ("bin", "lib")])
def test_on_windows_three_parts_are_needed(toolkit, missing):
    """Folders as on Windows, looked at here: nothing of this was run on Windows."""
    if "include" not in missing:
        add_cudnn(toolkit, "8.9.7", lib=False)
    for part, file in (("bin", "bin/cudnn64_8.dll"), ("lib", "lib/x64/cudnn.lib")):
        if part not in missing:
            (toolkit / file).parent.mkdir(parents=True, exist_ok=True)
            (toolkit / file).write_bytes(b"")
    assert find_cudnn(toolkit, is_windows=True) == Cudnn(None if "include" in missing else "8.9.7", missing)
