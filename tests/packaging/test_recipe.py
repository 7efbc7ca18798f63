"""The conda recipe builds two packages, and they work: made by rattler-build, put into a prefix by py-rattler.

What they need comes from a channel on this disk: a real Python, and packages of what the tests themselves run with.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from packaging.requirements import Requirement

from envkit.installers.condarc import read_conda_settings
from envkit.installers.rattler.calls import install, solve
from envkit.model.progress import Silent
from tests.support.channel import Channel
from tests.support.conda_archive import read_package
from tests.support.conda_pythons import python_package
from tests.support.installed import MINOR, add_installed

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "recipe" / "recipe.yaml"
VERSION = "0.1.0"
NAMES = ("envkit", "conda-envkit")
PLUGIN = ("envkit/plugins/conda.py", "envkit/plugins/conda_work/")
DIST_INFO = {"INSTALLER", "METADATA", "RECORD", "REQUESTED", "WHEEL", "entry_points.txt", "licenses/LICENSE"}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("packaging"),
    pytest.mark.skipif(sys.platform != "linux", reason="Python is packaged from this machine's, for linux-64"),
]


def dependencies() -> dict[str, Requirement]:
    """What pyproject.toml asks for, by name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {item.name: item for item in map(Requirement, project["dependencies"])}


@pytest.fixture(scope="module")
def forge(shared_folder, tmp_path_factory) -> Channel:
    channel = Channel(tmp_path_factory.mktemp("channels") / "forge")
    python_package(channel, MINOR, cache=shared_folder / "conda-packages")
    add_installed(channel, ["hatchling", "pip", "tomli", *dependencies()])
    # a stand-in with what the plugin's own module imports; tests/conda has the real one
    marker = "def hookimpl(function):\n    return function\n"
    conda = {"site-packages/conda/__init__.py": "", "site-packages/conda/plugins/__init__.py": marker}
    channel.add("conda", "26.7.1", noarch="python", depends=["python"], files=conda)
    return channel.index()


@pytest.fixture(scope="module")
def built(forge, make_environment, tmp_path_factory) -> Channel:
    """A channel with the two packages, built from a copy of the checkout."""
    folder = tmp_path_factory.mktemp("recipe")
    for name in ("envkit", "hooks", "lockfiles", "recipe"):
        shutil.copytree(ROOT / name, folder / "checkout" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, folder / "checkout")
    program = Path(__file__).parents[1] / "support" / "build_recipe.py"
    recipe = folder / "checkout" / "recipe" / "recipe.yaml"
    done = subprocess.run(
        [sys.executable, program, recipe, forge.url, MINOR, folder / "built"],
        env=make_environment(folder / "home"), capture_output=True, encoding="utf-8", timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    channel = Channel(folder / "envkit-channel")
    for line in done.stdout.splitlines():
        if line.endswith(".conda"):
            channel.put(Path(line), "noarch")
    return channel.index()


@dataclass(frozen=True)
class Package:
    """A package's content."""

    index: dict[str, Any]
    files: set[str]
    entry_points: str


@pytest.fixture(scope="module")
def packages(built: Channel) -> dict[str, Package]:
    made = {}
    for path in (built.folder / "noarch").glob("*.conda"):
        files, info = read_package(path)
        index = json.loads(info["info/index.json"])
        (entry_points,) = (data for name, data in files.items() if name.endswith(".dist-info/entry_points.txt"))
        made[index["name"]] = Package(index, set(files), entry_points.decode())
    return made


def in_site_packages(prefix: str, names: set[str]) -> set[str]:
    return {
        name.removeprefix(f"site-packages/{prefix}") for name in names if name.startswith(f"site-packages/{prefix}")
    }


def test_two_packages_of_one_version_are_built(packages):
    assert set(packages) == set(NAMES)
    for package in packages.values():
        assert package.index["version"] == VERSION
        assert (package.index["subdir"], package.index["noarch"]) == ("noarch", "python")


def test_the_plugin_brings_python_and_conda_alone(packages):
    assert packages["conda-envkit"].index["depends"] == ["python >=3.10", "conda >=26.7"]


def test_envkit_needs_what_pyproject_says(packages):
    stated = {name: ",".join(sorted(str(item.specifier).split(","))) for name, item in dependencies().items()}
    of_recipe = dict(line.split(" ") for line in packages["envkit"].index["depends"])
    ordered = {name: ",".join(sorted(version.split(","))) for name, version in of_recipe.items()}
    assert ordered == stated | {"python": ">=3.10"}


def test_each_package_holds_exactly_its_files(packages):
    source = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "envkit").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    data = {
        f"envkit/_data/{path.relative_to(ROOT).as_posix()}"
        for name in ("hooks", "lockfiles")
        for path in (ROOT / name).rglob("*")
        if path.is_file()
    }
    plugin = {name for name in source if name.startswith(PLUGIN)}
    assert len(plugin) > 5
    expected = {"envkit": (source | data) - plugin, "conda-envkit": plugin}
    infos = {
        "envkit": f"conda_envkit-{VERSION}.dist-info/",
        "conda-envkit": f"conda_envkit_plugin-{VERSION}.dist-info/",
    }
    for name, files in expected.items():
        info = infos[name]
        assert packages[name].files == {f"site-packages/{file}" for file in files | {info + part for part in DIST_INFO}}
    assert not packages["envkit"].files & packages["conda-envkit"].files


def test_only_the_plugin_registers_with_conda(packages):
    assert packages["envkit"].entry_points == (
        "[console_scripts]\nenvkit = envkit.cli.main:main\n\n"
        "[virtualenv.activate]\nenvkit = envkit.plugins.virtualenv:CudaActivator\n"
    )
    assert packages["conda-envkit"].entry_points == "[conda]\nenvkit = envkit.plugins.conda\n"


@pytest.fixture(scope="module")
def prefix_with(forge, built, make_environment, tmp_path_factory) -> Callable[..., Path]:
    """Installs packages and what they need into a new prefix, by py-rattler."""

    def make(*specs: str) -> Path:
        prefix = tmp_path_factory.mktemp("prefix") / "with all"
        settings = read_conda_settings({"HOME": str(prefix.parent)})
        common = {
            "settings": settings,
            "platform": "linux-64",
            "offline": False,
            "timeout_s": 300.0,
            "progress": Silent(),
        }
        records = solve([built.url, forge.url], specs, virtual_packages=[("__glibc", "2.36", "0")], **common)
        install(records, prefix, **common)
        return prefix

    return make


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, encoding="utf-8", timeout=300, check=False)


def test_the_command_runs_from_its_prefix(prefix_with, tmp_path):
    prefix = prefix_with("envkit")
    envkit = prefix / "bin" / "envkit"
    assert run(envkit, "--version", cwd=tmp_path).stdout == f"envkit {VERSION}\n"
    done = run(envkit, "specs", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shipped = {path.stem for path in (ROOT / "lockfiles").glob("*.yaml") if ".lock" not in path.name}
    assert {spec["name"] for spec in json.loads(done.stdout)["specs"]} == shipped
    where = run(prefix / "bin" / "python", "-c", "import envkit; print(envkit.__file__)", cwd=tmp_path)
    assert Path(where.stdout.strip()).is_relative_to(prefix)
    assert not list((prefix / "conda-meta").glob("conda-*"))


SHOW_PLUGIN = """
import envkit.plugins.conda as plugin, envkit, sys
print(plugin.__file__, getattr(envkit, '__version__', None))
from envkit.plugins.conda_work import command, diagnosis, lock_file, lock_text, record, rules
foreign = {'click', 'yaml', 'rich', 'packaging', 'filelock', 'platformdirs', 'rattler', 'virtualenv'}
print(sorted(foreign & {name.split('.')[0] for name in sys.modules}))
"""


def test_the_plugin_alone_can_be_imported(prefix_with, tmp_path):
    prefix = prefix_with("conda-envkit")
    python = prefix / "bin" / "python"
    installed = {re.sub(r"-[^-]+-[^-]+$", "", path.stem) for path in (prefix / "conda-meta").glob("*.json")}
    assert installed == {"conda-envkit", "conda", "python"}
    done = run(python, "-c", SHOW_PLUGIN, cwd=tmp_path)
    place = prefix / "lib" / f"python{MINOR}" / "site-packages" / "envkit" / "plugins" / "conda.py"
    assert done.stdout.splitlines() == [f"{place} None", "[]"], done.stderr


def test_both_can_be_in_one_prefix(prefix_with, tmp_path):
    prefix = prefix_with("envkit", "conda-envkit")
    done = run(prefix / "bin" / "python", "-c", SHOW_PLUGIN, cwd=tmp_path)
    place = prefix / "lib" / f"python{MINOR}" / "site-packages" / "envkit" / "plugins" / "conda.py"
    assert done.stdout.splitlines() == [f"{place} {VERSION}", "[]"], done.stderr
    assert run(prefix / "bin" / "envkit", "--version", cwd=tmp_path).stdout == f"envkit {VERSION}\n"


def test_the_recipe_says_no_version():
    assert VERSION not in RECIPE.read_text(encoding="utf-8")
    assert yaml.safe_load(RECIPE.read_text(encoding="utf-8"))["schema_version"] == 1
