"""Specs that ship, by name, where PyTorch's index is in reach: loopback indexes with stub wheels stand in for it."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from packaging.requirements import Requirement

from envkit import paths, resources
from envkit.cli.main import cli
from envkit.errors import DownloadError, UnfitMachineError
from envkit.model.progress import Silent
from envkit.model.spec import parse_spec
from envkit.operations.lock import lock_spec
from envkit.operations.locks import lock_for_spec
from envkit.operations.options import CreateOptions
from envkit.operations.specs import find_spec
from envkit.probes.host import current_platform
from tests.support.index import serve_index
from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from pathlib import Path

REAL = resources.lockfiles_dir()
TAGS = {
    "linux-64": "{0}-{0}-manylinux_2_28_x86_64",
    "linux-aarch64": "{0}-{0}-manylinux_2_28_aarch64",
    "win-64": "{0}-{0}-win_amd64",
}


class Shipped:
    """A folder of specs in the place of the shipped ones: their copies, with the stand-ins' addresses."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.wheels, self.stack = folder, folder.parent / "wheels", stack
        self.default = stack.enter_context(serve_index(self.wheels / "default"))
        self.sources = {}

    def add(self, name: str) -> Path:
        text = (REAL / f"{name}.yaml").read_text(encoding="utf-8")
        spec = parse_spec(text, name)
        for source in spec.sources:
            label = source.url.rpartition("/")[2]
            assert source.url == f"https://download.pytorch.org/whl/{label}"
            self.sources[label] = self.stack.enter_context(serve_index(self.wheels / label))
            text = text.replace(source.url, self.sources[label].url)
        for platform in spec.platforms:
            for text_of_one in spec.packages:
                self._wheel(spec.on(platform), platform, Requirement(text_of_one))
        path = self.folder / f"{name}.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    def _wheel(self, spec, platform, item) -> None:
        """As the real ones: PyPI's wheels have no label, those of the index have one."""
        source = spec.source_of(item.name)
        label = None if source is None else source.url.rpartition("/")[2]
        version = next((pin.version.partition("+")[0] for pin in item.specifier if pin.operator == "=="), "1.0")
        tags = TAGS[platform].format(f"cp{spec.python.replace('.', '')}") if item.name.startswith("torch") else None
        make_wheel(
            self.wheels / (label or "default"),
            item.name,
            version if label is None else f"{version}+{label}",
            tags=tags or "py3-none-any",
        )


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    folder = tmp_path / "lockfiles"
    folder.mkdir()
    with ExitStack() as stack:
        made = Shipped(folder, stack)
        monkeypatch.setattr(resources, "lockfiles_dir", lambda: folder)
        monkeypatch.setenv("PIP_INDEX_URL", made.default.url)
        monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / ".uv-cache"))
        yield made


@pytest.mark.parametrize("name", ["torch112-cu113", "torch21-cu121", "torch26-cu124", "torch211-cpu"])
def test_every_platform_of_a_spec_resolves_from_where_it_says(shipped, name):
    spec = parse_spec((REAL / f"{name}.yaml").read_text(encoding="utf-8"), name)
    lock = lock_spec(shipped.add(name)).lock
    label = name.rpartition("-")[2]
    assert sorted(lock.platforms) == sorted(spec.platforms)
    for platform in spec.platforms:
        source = spec.on(platform).source_of("torch")
        for project in ("torch", "torchvision", "torchaudio"):
            package = lock.package(platform, project)
            assert package.source == (None if source is None else shipped.sources[label].url)
            assert package.version.partition("+")[2] == ("" if source is None else label)
        assert lock.package(platform, "numpy").source is None


@pytest.mark.parametrize("name", ["torch112-cu113", "torch21-cu121", "torch26-cu124"])
def test_a_locked_spec_is_planned_without_any_index(name):
    if current_platform() != "linux-64":
        pytest.skip("the locks are for linux-64")
    lock = lock_for_spec(find_spec(name), CreateOptions(offline=True), Silent())
    assert lock.spec == name
    assert lock.package("linux-64", "torchvision") is not None


def test_create_by_name_resolves_for_this_platform_alone_and_keeps_the_lock(shipped):
    if sys.version_info[:2] != (3, 11) or current_platform() not in TAGS:
        pytest.skip("needs Python 3.11 on a platform of the spec")
    path = shipped.add("torch211-cpu")
    done = CliRunner().invoke(cli, ["create", "torch211-cpu", "--backend", "venv", "--no-verify", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["environment"]["name"] == "torch211_cpu_py311"
    assert len(list(paths.locks_dir().glob("torch211-cpu-*.lock.yaml"))) == 1
    assert list(lock_for_spec(find_spec("torch211-cpu"), CreateOptions(offline=True), Silent()).platforms) == [
        current_platform()
    ]
    assert not path.with_name("torch211-cpu.lock.yaml").exists()


def test_what_the_shipped_lock_leaves_out_is_resolved_here(shipped):
    path = shipped.add("torch211-cpu")
    other = "win-64" if current_platform() != "win-64" else "linux-64"
    lock_spec(path, platforms=[other])
    before = path.with_name("torch211-cpu.lock.yaml").read_bytes()
    with pytest.raises(DownloadError, match="no lock that is current and for this platform"):
        lock_for_spec(find_spec("torch211-cpu"), CreateOptions(offline=True), Silent())
    lock = lock_for_spec(find_spec("torch211-cpu"), CreateOptions(), Silent())
    assert list(lock.platforms) == [current_platform()]
    assert path.with_name("torch211-cpu.lock.yaml").read_bytes() == before


def test_a_shipped_spec_for_other_platforms_says_so(monkeypatch):
    monkeypatch.setattr("envkit.operations.locks.current_platform", lambda: "osx-arm64")
    with pytest.raises(UnfitMachineError, match="not for this platform, osx-arm64"):
        lock_for_spec(find_spec("torch112-cu113"), CreateOptions(), Silent())
