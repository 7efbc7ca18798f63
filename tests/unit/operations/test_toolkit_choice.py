from __future__ import annotations

import pytest

from envkit.errors import EnvkitError
from envkit.model.progress import Silent
from envkit.operations import toolkit_choice
from envkit.operations.toolkit_choice import InstallOptions, choose
from tests.support.stub_toolkit import stub_wheels


@pytest.fixture(autouse=True)
def _on_linux(monkeypatch):
    monkeypatch.setattr(toolkit_choice, "current_platform", lambda: "linux-64")


@pytest.mark.parametrize(
    ("what", "options", "code", "told"),
    [
        ("10.2", InstallOptions(), 9, "knows no CUDA 10.2"),
        ("13.0.0", InstallOptions(source="pypi"), 9, "link.stub"),
        ("12.4", InstallOptions(source="pypi"), 9, "from pypi"),
        ("13.5", InstallOptions(source="conda"), 9, "from conda"),
        ("99.9", InstallOptions(), 9, "newest that envkit knows is 13.5"),
        ("latest", InstallOptions(), 2, "no version"),
        ("13", InstallOptions(), 2, "no version"),
        ("./none.yaml", InstallOptions(), 9, "no file"),
        ("13.2", InstallOptions(libraries=("cuda",)), 2, "cublas"),
        ("11.8", InstallOptions(libraries=("cupti",)), 2, "cublas"),
        ("13.2", InstallOptions(libraries=("",)), 2, "names no library"),
        ("13.2", InstallOptions(libraries=("cublas,",)), 2, "names no library"),
    ],
)
def test_what_cannot_be_chosen_is_told(what, options, code, told):
    with pytest.raises(EnvkitError) as caught:
        choose(what, options, Silent())
    assert caught.value.exit_code == code
    assert told in f"{caught.value.message} {caught.value.why} {caught.value.hint}"


def test_a_plan_is_offered_only_for_what_nvidia_has_released():
    for what, is_offered in (("10.2", True), ("99.9", False)):
        with pytest.raises(EnvkitError) as caught:
            choose(what, InstallOptions(), Silent())
        assert (f"cuda plan {what}" in caught.value.hint) is is_offered


def test_wheels_come_first_and_a_release_means_its_newest_update():
    chosen = choose("13.2", InstallOptions(libraries=("cublas,curand", "cufft")), Silent())
    assert (chosen.version, chosen.source) == ("13.2.2", "pypi")
    assert chosen.libraries == ("cublas", "cufft", "curand")
    everything = choose("13.2", InstallOptions(libraries=("libraries",)), Silent())
    assert {item.name for item in chosen.packages} < {item.name for item in everything.packages}


def test_there_are_no_toolkits_for_macos(monkeypatch):
    monkeypatch.setattr(toolkit_choice, "current_platform", lambda: "osx-arm64")
    with pytest.raises(EnvkitError) as caught:
        choose("13.2", InstallOptions(), Silent())
    assert caught.value.exit_code == 3


def test_conda_channels_are_refused_on_windows(monkeypatch):
    monkeypatch.setattr(toolkit_choice, "current_platform", lambda: "win-64")
    with pytest.raises(EnvkitError) as caught:
        choose("11.8", InstallOptions(), Silent())
    assert caught.value.exit_code == 3
    assert "envkit cuda plan 11.8" in caught.value.hint
    assert choose("13.2", InstallOptions(), Silent()).source == "pypi"


def test_a_record_is_taken_as_it_is_for_its_own_system_alone(tmp_path, monkeypatch):
    made = stub_wheels(tmp_path)
    chosen = choose(str(made.record), InstallOptions(), Silent())
    assert chosen.version == "13.2.2"
    assert [item.file for item in chosen.packages] == [wheel.name for wheel in made.wheels]
    monkeypatch.setattr(toolkit_choice, "current_platform", lambda: "win-64")
    with pytest.raises(EnvkitError) as caught:
        choose(str(made.record), InstallOptions(), Silent())
    assert caught.value.exit_code == 3
