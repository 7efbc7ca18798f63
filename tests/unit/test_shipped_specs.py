"""The specs that ship are what the tables say: one for each build, right for every platform that they name."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from packaging.requirements import Requirement

from envkit import resources
from envkit.compat.releases import build_cuda, newest_of, release_of, releases
from envkit.compat.tables import MAY_REFUSE, build_label, plain_wheel_build, version_key
from envkit.model.spec import parse_spec
from envkit.operations.spec_index import shipped_hosts, spec_named

PLATFORMS = ("linux-64", "linux-aarch64", "win-64")
SPECS = {
    path.stem: parse_spec(path.read_text(encoding="utf-8"), path.name)
    for path in sorted(resources.lockfiles_dir().glob("*.yaml"))
    if not path.name.endswith(".lock.yaml")
}
BY_HAND = {"torch213-cpu"}
PIP = sorted(name for name, spec in SPECS.items() if spec.installer == "pip" and name not in BY_HAND)
CONDA = sorted(name for name, spec in SPECS.items() if spec.installer == "conda")
NEW = [release for release in releases() if version_key(release.torch) >= (1, 10)]


def pins(spec):
    """The packages of a spec by name: version without a label, or the specifier."""
    if spec.installer == "conda":
        found = [re.match(r"([a-z-]+)(.*)", text).groups() for text in spec.packages]
        return {name: rest.removeprefix("=") for name, rest in found}
    requirements = [Requirement(text) for text in spec.packages]
    return {item.name: str(item.specifier).removeprefix("==").partition("+")[0] for item in requirements}


def test_they_are_what_the_script_writes():
    path = Path(__file__).parents[2] / "scripts" / "make_specs.py"
    module_spec = importlib.util.spec_from_file_location("make_specs", path)
    module = importlib.util.module_from_spec(module_spec)
    module_spec.loader.exec_module(module)
    written = module.specs()
    assert set(module.BY_HAND) == BY_HAND
    assert written.keys() | BY_HAND == SPECS.keys()
    for name, text in written.items():
        assert (resources.lockfiles_dir() / f"{name}.yaml").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("release", NEW, ids=lambda release: release.torch)
def test_there_is_one_for_each_build_of_a_release(release):
    for platform in PLATFORMS:
        for build in release.builds(platform):
            name = spec_named(release.torch, build.cuda)
            is_there = name is not None and platform in SPECS[name].platforms
            assert is_there == (build.known in MAY_REFUSE) or name in BY_HAND
    for entry in release.row["conda"]["entries"]:
        assert spec_named(release.torch, entry["spec"].partition("=")[2], "conda") is not None


@pytest.mark.parametrize("name", PIP)
def test_pip_spec_says_what_the_tables_say(name):
    spec, found = SPECS[name], pins(SPECS[name])
    release, label = release_of(spec.torch_version), build_label(spec.cuda)
    assert spec.name == name
    assert spec.environment_name == (f"torch{release.minor.replace('.', '')}_{label}_py{spec.python.replace('.', '')}")
    assert spec.toolkit == spec.cuda
    trio = {"torch": release.torch, "torchvision": release.torchvision}
    if release.pair_known in MAY_REFUSE:
        trio["torchaudio"] = release.torchaudio
    assert {key: found.get(key) for key in trio} == trio
    assert found.keys() == {*trio, "numpy", "pip", "setuptools"}
    assert found["numpy"] == ("<2" if any(release.numpy_bound(platform) for platform in spec.platforms) else "")
    assert found["setuptools"] == release.bounds("pip").get("setuptools", "")
    for platform in spec.platforms:
        assert release.build(label, platform).known in MAY_REFUSE
        assert spec.python in release.pythons(platform)
        source = spec.on(platform).source_of("torch")
        if plain_wheel_build(release.torch, platform) == label:
            assert source is None
        else:
            assert source.url == f"https://download.pytorch.org/whl/{label}"
            assert set(trio) <= set(source.packages)
            is_linux_cuda = spec.cuda is not None and platform.startswith("linux")
            assert ("triton" in source.packages) or not (is_linux_cuda and "triton" in release.row)


@pytest.mark.parametrize("name", CONDA)
def test_conda_spec_says_what_the_tables_say(name):
    spec, found = SPECS[name], pins(SPECS[name])
    release = release_of(spec.torch_version)
    conda = release.row["conda"]
    entry = next(item for item in conda["entries"] if item["spec"] == f"{conda['cuda_package']}={spec.cuda}")
    assert entry["status"] in MAY_REFUSE
    assert found[conda["cuda_package"]] == spec.cuda
    assert spec.channels[: len(entry["channels"])] == tuple(entry["channels"])
    assert spec.channels[-1] == "conda-forge"
    pair = conda.get("pair", {"torchvision": release.torchvision, "torchaudio": release.torchaudio})
    assert (found["torchvision"], found["torchaudio"]) == (pair["torchvision"], pair["torchaudio"])
    assert found["mkl"] == "<2024.1"
    assert spec.environment_name is not None
    for platform in spec.platforms:
        assert spec.python in release.pythons(platform)


@pytest.mark.parametrize(
    ("torch", "cuda", "installer", "name"),
    [
        ("1.12.1", "11.3", "pip", "torch112-cu113"),
        ("1.12", "11.3", "pip", "torch112-cu113"),
        ("1.12.1+cu113", "11.3", "pip", "torch112-cu113"),
        ("1.12.0", "11.3", "pip", "torch1.12.0-cu113"),
        ("1.12.1", "11.3", "conda", "torch112-cu113-conda"),
        ("2.1", "12.1", "pip", "torch21-cu121"),
        ("2.11.0", None, "pip", "torch211-cpu"),
        ("2.6.0", "12.4", "pip", "torch26-cu124"),
        ("2.10", "12.8", "pip", "torch210-cu128"),
        ("2.1.0", None, "pip", "torch2.1.0-cpu"),
        ("1.12.1", "12.1", "pip", None),
        ("1.9.0", "11.1", "pip", None),
        ("2.14", "12.6", "pip", None),
        ("2.13.0", "13.0", "conda", None),
        ("9.9", None, "pip", None),
    ],
)
def test_spec_named(torch, cuda, installer, name):
    assert spec_named(torch, cuda, installer) == name


def test_no_two_builds_share_a_name_and_every_spec_is_found_by_what_it_gives():
    for name, spec in SPECS.items():
        assert spec_named(spec.torch_version, spec.cuda, spec.installer) == name
        assert build_cuda(build_label(spec.cuda)) == spec.cuda
        release = release_of(spec.torch_version)
        assert name.startswith("torch" + release.minor.replace(".", "") + "-") == (newest_of(release.minor) == release)


def test_shipped_hosts_are_those_of_all_sources():
    hosts = {urlsplit(source.url).hostname for spec in SPECS.values() for source in spec.sources}
    assert shipped_hosts() == hosts == {"download.pytorch.org"}
