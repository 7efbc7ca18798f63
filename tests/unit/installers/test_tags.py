from __future__ import annotations

import pytest

from envkit.installers.tags import UV_PLATFORMS, best_wheel, wheel_rank
from envkit.model.spec import PLATFORMS


def test_every_platform_of_a_spec_has_a_uv_name():
    assert set(UV_PLATFORMS) == set(PLATFORMS)


@pytest.mark.parametrize(
    ("tags", "platform", "python", "best"),
    [
        (["py3-none-any", "cp39-cp39-manylinux1_x86_64"], "linux-64", "3.9", 1),
        (["cp39-cp39-manylinux2014_x86_64", "cp39-cp39-manylinux_2_28_x86_64"], "linux-64", "3.9", 1),
        (["cp39-cp39-manylinux_2_28_x86_64", "cp39-cp39-manylinux_2_34_x86_64"], "linux-64", "3.9", 0),
        (["cp38-abi3-manylinux_2_28_x86_64", "cp39-cp39-linux_x86_64"], "linux-64", "3.9", 1),
        (["cp37-cp37m-linux_x86_64", "cp37-cp37-linux_x86_64"], "linux-64", "3.7", 0),
        (["cp39-cp39-win32", "cp39-cp39-win_amd64", "py3-none-any"], "win-64", "3.9.7", 1),
        (["cp39-cp39-manylinux2014_x86_64", "cp39-cp39-manylinux2014_aarch64"], "linux-aarch64", "3.9", 1),
        (["cp310-none-macosx_11_0_arm64", "cp310-none-macosx_10_9_x86_64"], "osx-arm64", "3.10", 0),
        (["cp310-none-macosx_11_0_arm64", "cp310-none-macosx_10_9_x86_64"], "osx-64", "3.10", 1),
        (["cp310-cp310-manylinux2014_x86_64", "cp39-cp39-musllinux_1_1_x86_64"], "linux-64", "3.9", None),
    ],
)
def test_best_wheel_is_the_one_that_pip_takes(tags, platform, python, best):
    files = [f"p-1.0-{tag}.whl" for tag in tags]
    assert best_wheel(files, platform, python) == (None if best is None else files[best])


def test_best_wheel_higher_build_number_wins_and_sdists_do_not_count():
    files = ["p-1.0-py3-none-any.whl", "p-1.0-2-py3-none-any.whl", "p-1.0-1-py3-none-any.whl", "p-1.0.tar.gz"]
    assert best_wheel(files, "linux-64", "3.9") == files[1]
    assert wheel_rank("p-1.0.tar.gz", "linux-64", "3.9") is None
