from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml

from envkit.errors import InvalidFileError, NotFoundError, StorageError, UsageError
from envkit.installers.indexes import PipConfig
from envkit.model.lock import parse_lock
from envkit.operations.lock import LockChange, lock_path_of, lock_spec
from tests.support.index import serve_index
from tests.support.wheels import make_wheel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.index import Index


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    folder = tmp_path / "index"
    make_wheel(folder, "torch", "1.11.0", requires=["numpy"], tags="cp39-cp39-manylinux1_x86_64")
    make_wheel(folder, "torch", "1.11.0", requires=["numpy"], tags="cp39-cp39-win_amd64")
    make_wheel(folder, "numpy", "1.21.0")
    with serve_index(folder) as served:
        yield served


@pytest.fixture
def config(index: Index) -> PipConfig:
    return PipConfig(index_url=index.url)


def write_spec(folder: Path, **changes: object) -> Path:
    content = {
        "schema": 1,
        "name": "small",
        "python": "3.9",
        "installer": "pip",
        "cuda": "10.2",
        "packages": ["torch==1.11.0", "numpy<2"],
        "platforms": ["linux-64"],
        **changes,
    }
    path = folder / "small.yaml"
    path.write_text(
        yaml.safe_dump({key: value for key, value in content.items() if value is not None}), encoding="utf-8"
    )
    return path


def test_lock_spec_writes_what_it_gives_beside_the_spec(tmp_path, config):
    spec = write_spec(tmp_path)
    result = lock_spec(spec, config=config)
    assert result.path == tmp_path / "small.lock.yaml" == lock_path_of(spec)
    assert parse_lock(result.path.read_text(encoding="utf-8"), str(result.path)) == result.lock
    assert result.lock.created_by.startswith("envkit 0.1.0, uv ")
    assert result.lock.platforms["linux-64"].needs["driver"]["minimum"] == "440.33"
    assert result.changes == (
        LockChange("linux-64", "numpy", None, "1.21.0"),
        LockChange("linux-64", "torch", None, "1.11.0"),
    )
    assert result.to_json()["changes"][0] == {
        "platform": "linux-64",
        "name": "numpy",
        "before": None,
        "after": "1.21.0",
    }
    assert "127.0.0.1" not in result.path.read_text(encoding="utf-8")


def test_lock_spec_again_changes_not_a_byte_and_keeps_pins_until_upgrade(tmp_path, index, config):
    spec = write_spec(tmp_path)
    path = lock_spec(spec, config=config).path
    old = path.read_text(encoding="utf-8").replace("envkit 0.1.0", "envkit 0.0.9")
    path.write_text(old, encoding="utf-8")
    make_wheel(index.folder, "numpy", "1.22.0")
    assert lock_spec(spec, config=config).changes == ()
    assert path.read_text(encoding="utf-8") == old
    result = lock_spec(spec, config=config, upgrade_packages=("numpy",))
    assert result.changes == (LockChange("linux-64", "numpy", "1.21.0", "1.22.0"),)
    make_wheel(index.folder, "numpy", "1.23.0")
    assert lock_spec(spec, config=config, upgrade=True).changes[0].after == "1.23.0"


def test_lock_spec_changed_spec_and_changed_file_are_told(tmp_path, index, config):
    spec = write_spec(tmp_path)
    lock_spec(spec, config=config)
    make_wheel(index.folder, "numpy", "1.21.0", tags="cp39-cp39-manylinux1_x86_64")
    write_spec(tmp_path, summary="another")
    result = lock_spec(spec, config=config)
    assert result.changes == (
        LockChange(
            "linux-64", "numpy", "numpy-1.21.0-py3-none-any.whl", "numpy-1.21.0-cp39-cp39-manylinux1_x86_64.whl"
        ),
    )


def test_lock_spec_one_platform_keeps_the_others_of_the_same_spec(tmp_path, index, config):
    spec = write_spec(tmp_path, cuda="cpu", packages=["numpy"], platforms=["linux-64", "win-64"])
    lock_spec(spec, config=config)
    make_wheel(index.folder, "numpy", "1.22.0")
    result = lock_spec(spec, platforms=["win-64"], upgrade=True, config=config)
    versions = {name: platform.packages[0].version for name, platform in result.lock.platforms.items()}
    assert versions == {"linux-64": "1.21.0", "win-64": "1.22.0"}
    write_spec(tmp_path, cuda="cpu", packages=["numpy<9"], platforms=["linux-64", "win-64"])
    result = lock_spec(spec, platforms=["osx-arm64"], config=config)
    assert set(result.lock.platforms) == {"osx-arm64"}
    assert LockChange("linux-64", "numpy", "1.21.0", None) in result.changes


def test_lock_spec_output_elsewhere(tmp_path, config):
    result = lock_spec(write_spec(tmp_path), output=tmp_path / "other.yaml", config=config)
    assert result.path == tmp_path / "other.yaml"
    assert not (tmp_path / "small.lock.yaml").exists()


def test_lock_spec_refuses_a_plain_torch_that_is_another_build(tmp_path, config):
    with pytest.raises(InvalidFileError, match="built for cu102 on linux-64, the spec says cu113") as caught:
        lock_spec(write_spec(tmp_path, cuda="11.3"), config=config)
    assert "https://download.pytorch.org/whl/cu113" in (caught.value.hint or "")
    with pytest.raises(InvalidFileError, match="built for cpu on win-64"):
        lock_spec(write_spec(tmp_path), platforms=["win-64"], config=config)
    assert not (tmp_path / "small.lock.yaml").exists()


@pytest.mark.parametrize(
    ("changes", "options", "kind", "match"),
    [
        ({}, {"platforms": ["linux-32"]}, UsageError, "Unknown platform 'linux-32'"),
        ({"packages": ["numpy>=3"]}, {}, InvalidFileError, "cannot be had together"),
    ],
    ids=["platform", "unsatisfiable"],
)
def test_lock_spec_refuses_and_leaves_the_old_lock(tmp_path, config, changes, options, kind, match):
    lock = tmp_path / "small.lock.yaml"
    path = lock_spec(write_spec(tmp_path), config=config).path
    before = path.read_bytes()
    with pytest.raises(kind, match=match):
        lock_spec(write_spec(tmp_path, **changes), config=config, **options)
    assert lock.read_bytes() == before
    assert sorted(entry.name for entry in tmp_path.iterdir() if entry.is_file()) == ["small.lock.yaml", "small.yaml"]


def test_lock_spec_absent_or_no_text(tmp_path, config):
    with pytest.raises(NotFoundError):
        lock_spec(tmp_path / "absent.yaml", config=config)
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidFileError, match="not UTF-8"):
        lock_spec(tmp_path / "bytes.yaml", config=config)


def test_lock_spec_place_that_cannot_be_written(tmp_path, config):
    with pytest.raises(StorageError):
        lock_spec(write_spec(tmp_path), output=tmp_path / "absent" / "x.yaml", config=config)


def test_lock_spec_refuses_a_build_of_the_source_that_cuda_does_not_say(tmp_path, config):
    make_wheel(tmp_path / "pytorch", "torch", "1.11.0+cu113", tags="cp39-cp39-linux_x86_64")
    with serve_index(tmp_path / "pytorch") as served:
        source = {"url": served.url, "packages": ["torch"]}
        assert lock_spec(write_spec(tmp_path, cuda="11.3", sources=[source]), config=config).lock.cuda == "11.3"
        with pytest.raises(InvalidFileError, match="is built for cu113 on linux-64, the spec says cu102"):
            lock_spec(write_spec(tmp_path, sources=[source]), config=config)
        only_windows = write_spec(tmp_path, sources=[source | {"platforms": ["win-64"]}])
        torch = lock_spec(only_windows, config=config).lock.package("linux-64", "torch")
        assert (torch.version, torch.source) == ("1.11.0", None)
