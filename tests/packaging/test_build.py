"""The sdist and the wheel hold exactly what they should, and work where this checkout is not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest
import yaml

from tests.support.wheels import file_hash, make_wheel

pytestmark = [pytest.mark.network, pytest.mark.slow, pytest.mark.xdist_group("packaging")]

ROOT = Path(__file__).parents[2]
VERSION = "0.1.0"
SDIST_TOP = {
    ".ci",
    ".gitignore",
    ".pre-commit-config.yaml",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "LICENSE",
    "PKG-INFO",
    "README.md",
    "README.zh-CN.md",
    "benchmarks",
    "docs",
    "envkit",
    "hooks",
    "lockfiles",
    "noxfile.py",
    "pyproject.toml",
    "recipe",
    "scripts",
    "tests",
}
PACKAGE_TOP = {
    "__init__.py",
    "__main__.py",
    "_data",
    "activation",
    "backends",
    "cli",
    "compat",
    "data",
    "errors.py",
    "fs.py",
    "installers",
    "model",
    "operations",
    "owner.py",
    "paths.py",
    "plugins",
    "probes",
    "process.py",
    "py.typed",
    "resources.py",
    "scratch.py",
    "settings.py",
}
DIST_INFO = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE"}
DATA_FOLDERS = {"hooks/cleanup", "hooks/cuda", "hooks/guard", "hooks/run", "hooks/venv", "hooks/window", "lockfiles"}


def source_files(*tops: str) -> set[str]:
    """Files of this checkout below some of its folders, without what git ignores."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *tops],
        cwd=ROOT, capture_output=True, check=False,
    )  # fmt: skip
    if listed.returncode == 0:
        names = set(filter(None, listed.stdout.decode().split("\0")))
        return {name for name in names if (ROOT / name).is_file()}
    found = (path for top in tops for path in ([ROOT / top] if (ROOT / top).is_file() else (ROOT / top).rglob("*")))
    return {
        path.relative_to(ROOT).as_posix()
        for path in found
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }


@pytest.fixture(scope="session")
def built(make_environment, tmp_path_factory) -> Path:
    """The folder with both, built from a copy of the checkout by ``python -m build``."""
    folder = tmp_path_factory.mktemp("build")
    copy = folder / "checkout"
    for name in source_files(*(SDIST_TOP - {"PKG-INFO"})):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", folder / "dist", copy],
        env=make_environment(folder / "home", network=True),
        check=True,
        timeout=600,
    )
    return folder / "dist"


@pytest.fixture(scope="session")
def wheel_files(built: Path) -> set[str]:
    with zipfile.ZipFile(built / f"conda_envkit-{VERSION}-py3-none-any.whl") as wheel:
        return {name for name in wheel.namelist() if not name.endswith("/")}


def test_one_sdist_and_one_wheel_are_built(built):
    assert {path.name for path in built.iterdir()} == {
        f"conda_envkit-{VERSION}-py3-none-any.whl",
        f"conda_envkit-{VERSION}.tar.gz",
    }


def test_sdist_holds_exactly_the_checkout(built):
    with tarfile.open(built / f"conda_envkit-{VERSION}.tar.gz") as sdist:
        members = {PurePosixPath(member.name) for member in sdist if member.isfile()}
    files = {str(path.relative_to(f"conda_envkit-{VERSION}")) for path in members}
    assert {name.split("/")[0] for name in files} == SDIST_TOP
    assert files == source_files(*(SDIST_TOP - {"PKG-INFO"})) | {"PKG-INFO"}


def test_wheel_holds_exactly_the_package_and_its_data(wheel_files):
    info = f"conda_envkit-{VERSION}.dist-info"
    assert {name.split("/")[0] for name in wheel_files} == {"envkit", info}
    assert {name.split("/")[1] for name in wheel_files if name.startswith("envkit/")} == PACKAGE_TOP
    expected = source_files("envkit")
    expected |= {f"envkit/_data/{name}" for name in source_files("hooks", "lockfiles")}
    expected |= {f"{info}/{name}" for name in DIST_INFO}
    assert wheel_files == expected


def test_wheel_data_is_hooks_and_lockfiles(wheel_files):
    data = {PurePosixPath(name).relative_to("envkit/_data") for name in wheel_files if name.startswith("envkit/_data/")}
    assert {str(path.parent) for path in data} == DATA_FOLDERS
    names = {str(path) for path in data}
    assert {"hooks/cuda/activate.sh", "hooks/cuda/deactivate.fish", "lockfiles/torch213-cpu.lock.yaml"} <= names


@pytest.fixture(scope="session")
def install(built: Path, make_environment, tmp_path_factory):
    """Installs one of the two into a new environment of its own; gives its ``envkit`` program."""

    def make(kind: str) -> Path:
        folder = tmp_path_factory.mktemp(f"installed from {kind}")
        (file,) = built.glob("*.whl" if kind == "wheel" else "*.tar.gz")
        environment = make_environment(folder / "home", network=True)
        subprocess.run([sys.executable, "-m", "venv", folder / "env"], env=environment, check=True, timeout=300)
        scripts = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
        subprocess.run(
            [scripts / "python", "-m", "pip", "install", "--quiet", file],
            cwd=folder, env=environment, check=True, timeout=600,
        )  # fmt: skip
        return scripts / "envkit"

    return make


def write_project(folder: Path) -> Path:
    """A spec of one stub package and its lock; a stand-in toolkit beside it."""
    wheel = make_wheel(folder / "wheels", "demo", "1.0")
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    content = {
        "schema": 1,
        "spec": "demo",
        "spec_sha256": None,
        "created_by": "a test",
        "installer": "pip",
        "python": python,
        "cuda": "11.3",
        "toolkit": "11.3",
        "platforms": {
            platform: {
                "needs": {},
                "packages": [{"name": "demo", "version": "1.0", "file": wheel.name, "sha256": file_hash(wheel)}],
                "base": [],
            }
            for platform in ("linux-64", "linux-aarch64", "osx-64", "osx-arm64", "win-64")
        },
    }
    lock = folder / "demo.lock.yaml"
    lock.write_text(yaml.safe_dump(content))
    nvcc = folder / "cuda-11.3" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    (folder / "cuda-11.3" / "include").mkdir()
    nvcc.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 11.3, V11.3.109'\n")
    nvcc.chmod(0o755)
    return lock


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_installed_elsewhere_a_lock_spec_and_a_hook_work(kind, install, tmp_path):
    program = install(kind)
    where = subprocess.run(
        [program.with_name("python"), "-c", "import envkit; print(envkit.__file__)"],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert not Path(where.stdout.strip()).is_relative_to(ROOT)

    listed = subprocess.run([program, "specs", "--json"], cwd=tmp_path, check=True, capture_output=True, text=True)
    shipped = {spec["name"]: spec for spec in json.loads(listed.stdout)["specs"]}
    assert shipped.keys() == {path.stem for path in (ROOT / "lockfiles").glob("*.yaml") if ".lock" not in path.name}
    assert shipped["torch213-cpu"]["locked"] == ["linux-64"]

    folder = tmp_path / "project"
    folder.mkdir()
    lock = write_project(folder)
    options = ["--no-verify", "--offline", "--wheelhouse", folder / "wheels", "--toolkit", folder / "cuda-11.3"]
    made = subprocess.run(
        [program, "create", lock, "--name", "demo", *options, "--json"],
        cwd=tmp_path, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    prefix = Path(json.loads(made.stdout)["environment"]["prefix"])
    assert (prefix / "etc" / "conda" / "activate.d" / "envkit-cuda.sh").is_file()

    script = '. "$1/bin/activate" && python -c "import demo; print(demo.__version__)" && echo "$CUDA_HOME"'
    activated = subprocess.run(
        ["sh", "-c", script, "sh", prefix],
        cwd=tmp_path, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert activated.stdout.splitlines() == ["1.0", str(folder / "cuda-11.3")], activated.stderr
