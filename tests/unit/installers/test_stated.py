from __future__ import annotations

import pytest

from envkit.errors import DownloadError
from envkit.installers.indexes import PipConfig
from envkit.installers.stated import stated_hashes
from envkit.model.locked import LockedPackage
from envkit.model.progress import Silent
from tests.support.index import serve_index
from tests.support.wheels import file_hash, make_wheel


def _settle(packages, *, offline=False):
    return stated_hashes(packages, PipConfig(), offline=offline, progress=Silent())


def test_the_hash_that_the_source_states_is_taken(tmp_path):
    wheel = make_wheel(tmp_path, "torch", "1.0")
    with serve_index(tmp_path) as index:
        known = LockedPackage("numpy", "1", "numpy-1-py3-none-any.whl", "3" * 64)
        unknown = LockedPackage("torch", "1.0", wheel.name, None, None, index.url)
        assert [item.sha256 for item in _settle([known, unknown])] == ["3" * 64, file_hash(wheel)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda index: setattr(index, "with_hashes", False), "states no sha256"),
        (lambda index: index.fail("torch", 404), "does not have"),
        (lambda index: index.fail("torch", 503), "Could not get torch-1.0"),
    ],
)
def test_what_a_source_may_lack(tmp_path, change, words):
    wheel = make_wheel(tmp_path, "torch", "1.0")
    with serve_index(tmp_path) as index:
        change(index)
        with pytest.raises(DownloadError, match=words) as caught:
            _settle([LockedPackage("torch", "1.0", wheel.name, None, None, index.url)])
    assert "--wheelhouse" in caught.value.hint


def test_offline_nothing_is_asked():
    package = LockedPackage("torch", "1.0", "torch-1.0-py3-none-any.whl", None, None, "https://example.org/simple")
    with pytest.raises(DownloadError, match="Offline"):
        _settle([package], offline=True)
