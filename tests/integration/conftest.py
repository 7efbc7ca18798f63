"""Fixtures of the integration tests: specs, locks and stub wheels that a real uv installs."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from envkit.model.spec import parse_spec
from tests.support.conda_pythons import pythons
from tests.support.conda_torch import Channels, stub_channels
from tests.support.index import Index, serve_index
from tests.support.wheels import file_hash, make_wheel


@dataclass
class Project:
    """A folder with a spec, its lock, and the wheels that the lock names."""

    folder: Path
    source: Index
    default: Index

    @property
    def spec(self) -> Path:
        return self.folder / "demo.yaml"

    @property
    def lock(self) -> Path:
        return self.folder / "demo.lock.yaml"

    @property
    def wheels(self) -> list[Path]:
        return [*self.source.folder.iterdir(), *self.default.folder.iterdir()]

    def write_spec(self, **changes: Any) -> None:
        """The spec as YAML; JSON is YAML. A change to None removes the key."""
        content = {
            "schema": 1,
            "name": "demo",
            "python": "3.9",
            "installer": "pip",
            "cuda": "11.3",
            "packages": ["torch==1.12.1+cu113", "numpy==1.21.5", "pip==22.0"],
            "sources": [{"url": self.source.url, "packages": ["torch"]}],
            "toolkit": "none",
            "platforms": ["linux-64"],
        } | changes
        self.spec.write_text(json.dumps({key: value for key, value in content.items() if value is not None}, indent=1))

    def write_lock(self, *, spec_sha256: str | None, **changes: Any) -> None:
        """A lock of the wheels, written by hand."""
        packages = []
        for wheel in self.wheels:
            name, version = wheel.name.split("-")[:2]
            entry = {"name": name.replace("_", "-"), "version": version, "file": wheel.name, "sha256": file_hash(wheel)}
            if wheel.parent == self.source.folder:
                entry["source"] = self.source.url
            packages.append(entry)
        content = {
            "schema": 1,
            "spec": "demo",
            "spec_sha256": spec_sha256,
            "created_by": "a test",
            "installer": "pip",
            "python": "3.9",
            "cuda": "11.3",
            "toolkit": "none",
            "platforms": {"linux-64": {"needs": {}, "packages": packages, "base": []}},
        } | changes
        self.lock.write_text(json.dumps(content, indent=1))

    def lock_content(self) -> dict[str, Any]:
        return json.loads(self.lock.read_text())

    def change_package(self, name: str, **changes: Any) -> None:
        """Change the entry of a package in the lock."""
        content = self.lock_content()
        for entry in content["platforms"]["linux-64"]["packages"]:
            if entry["name"] == name:
                entry.update(changes)
        self.lock.write_text(json.dumps(content, indent=1))


@pytest.fixture
def project(tmp_path, monkeypatch, shared_pip):
    """A spec with its lock; torch (a stub) lies on its own index, numpy and pip (stubs) on the default one."""
    folder = tmp_path / "project"
    folder.mkdir()
    source, default = tmp_path / "source-wheels", tmp_path / "default-wheels"
    make_wheel(source, "torch", "1.12.1+cu113", tags="cp39-cp39-linux_x86_64", requires=["numpy"])
    make_wheel(default, "numpy", "1.21.5", tags="cp39-cp39-manylinux_2_17_x86_64.manylinux2014_x86_64")
    make_wheel(default, "pip", "22.0")
    with serve_index(source) as source_index, serve_index(default) as default_index:
        monkeypatch.setenv("UV_DEFAULT_INDEX", default_index.url)
        # uv keeps what an address served; the next test's index may get the same port
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / ".uv-cache"))
        monkeypatch.setenv("PIP_INDEX_URL", default_index.url)
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
            monkeypatch.delenv(name, raising=False)
        made = Project(folder, source_index, default_index)
        made.write_spec()
        made.write_lock(spec_sha256=parse_spec(made.spec.read_text(), "demo.yaml").sha256)
        yield made


@pytest.fixture(scope="session")
def conda_channels(shared_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Channels:
    """conda-forge, pytorch and nvidia for Python 3.11 and, where it is here, 3.10. Not to be changed by a test."""
    minors = [minor for minor in ("3.11", "3.10") if minor in pythons()]
    return stub_channels(tmp_path_factory.mktemp("channels"), cache=shared_folder / "conda-packages", minors=minors)


@dataclass(frozen=True)
class CondaHome:
    """What conda would read and write of the test's user."""

    home: Path

    @property
    def envs(self) -> Path:
        """Where conda puts environments when its own folder is not writable."""
        return self.home / ".conda" / "envs"

    @property
    def environments_txt(self) -> Path:
        return self.home / ".conda" / "environments.txt"

    def condarc(self, **settings: Any) -> Path:
        """Write ``~/.condarc``; JSON is YAML."""
        path = self.home / ".condarc"
        path.write_text(json.dumps(settings, indent=1))
        return path


@pytest.fixture
def conda_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CondaHome:
    """A user without conda: no ``.condarc``, no variables of conda, a package cache of the test's own."""
    monkeypatch.setenv("RATTLER_CACHE_DIR", str(tmp_path / ".rattler-cache"))
    return CondaHome(Path(os.environ["HOME"]))


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every file below a folder with its bytes, for before-and-after comparisons; locks, cache and logs aside."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in sorted(folder.rglob("*"))
        if not {"locks", "cache", "logs"}.intersection(path.relative_to(folder).parts)
    }


def start(envkit, *arguments) -> subprocess.Popen[str]:
    """Start a command without waiting for it."""
    return subprocess.Popen(
        envkit.argv(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=envkit.variables()
    )
