"""What is said of versions of CUDA that are not here, or nowhere."""

from __future__ import annotations

import pytest

from envkit.errors import NotFoundError, UsageError
from envkit.model.progress import Silent
from envkit.operations.cuda_install import install_toolkit
from envkit.operations.toolkit_choice import InstallOptions
from envkit.operations.toolkit_versions import asked_version, not_released, released, ways_to_get
from envkit.operations.toolkits import toolkit_for


@pytest.mark.parametrize("text", ["13.2", "v13.2", "V13.2", "cuda-13.2", "cuda13.2"])
def test_what_people_write_before_a_version(text):
    assert asked_version(text) == "13.2"
    assert released(text)[0] == "13.2"


@pytest.mark.parametrize("text", ["13", "", "13.", "x13.2", "13.2rc1", "./13.2"])
def test_no_version(text):
    assert asked_version(text) is None


@pytest.mark.parametrize("asked", ["13", "v13"])
def test_a_major_version_alone_names_its_releases(asked):
    with pytest.raises(UsageError) as caught:
        released(asked)
    assert "13.0, 13.1, 13.2, 13.3" in caught.value.hint


@pytest.mark.parametrize("version", ["12.7", "99.9", "13.2.9", "9.0"])
def test_every_command_tells_what_was_never_released(version):
    told = not_released(version)
    for command in (
        lambda: toolkit_for(None, version),
        lambda: install_toolkit(version, InstallOptions(), Silent()),
        lambda: released(version),
    ):
        with pytest.raises(NotFoundError) as caught:
            command()
        assert (caught.value.message, caught.value.why) == (told.message, told.why)
        assert "install" not in caught.value.hint


@pytest.mark.parametrize(
    ("version", "way"), [("11.3", "cuda install 11.3"), ("11.1", "cuda plan 11.1"), ("99.9", "Where it lies elsewhere")]
)
def test_only_what_can_be_installed_is_promised(version, way):
    assert way in ways_to_get(version)
    assert ways_to_get(version, "its folder: --cuda DIR").endswith("give its folder: --cuda DIR.")


@pytest.mark.parametrize("what", ["toolkit.yaml", "there/toolkit"])
def test_a_record_that_is_not_there(what):
    with pytest.raises(NotFoundError, match="There is no file"):
        install_toolkit(what, InstallOptions(), Silent())
