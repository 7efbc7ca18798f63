"""The unpacked pip in envkit's cache."""

from __future__ import annotations

import zipfile

import pytest

from envkit.installers.own_pip import unpacked_pip
from envkit.paths import cache_dir
from tests.support.wheels import make_wheel

CODE = "print('pip itself')\n"


@pytest.fixture
def wheel(tmp_path):
    return make_wheel(tmp_path / "embed", "pip", "26.0", files={"pip/__main__.py": CODE, "pip/_internal/x.py": ""})


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_it_is_unpacked_once_and_without_what_pip_knows_a_package_by(wheel):
    pip = unpacked_pip(wheel)
    assert pip == cache_dir() / "pip" / wheel.stem / "pip"
    assert files(cache_dir() / "pip") == [
        f"{wheel.stem}/pip/{name}" for name in ("__init__.py", "__main__.py", "_internal/x.py")
    ]
    (pip / "__pycache__").mkdir()
    assert unpacked_pip(wheel) == pip
    assert (pip / "__pycache__").is_dir()


@pytest.mark.parametrize("damage", ["emptied", "gone"])
def test_a_damaged_one_is_unpacked_again(wheel, damage):
    file = unpacked_pip(wheel) / "__main__.py"
    file.write_text("") if damage == "emptied" else file.unlink()
    assert (unpacked_pip(wheel) / "__main__.py").read_text() == CODE


def test_where_the_cache_cannot_be_written_pip_runs_from_its_wheel(wheel):
    cache_dir().parent.mkdir(exist_ok=True)
    cache_dir().write_text("a file where the cache should be")
    assert unpacked_pip(wheel) == wheel / "pip"


def test_one_that_breaks_off_leaves_nothing(wheel, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "extractall", full)
    assert unpacked_pip(wheel) == wheel / "pip"
    assert files(cache_dir() / "pip") == []
    assert list((cache_dir() / "pip").iterdir()) == []


def test_one_that_another_envkit_has_unpacked_meanwhile_stays(wheel, monkeypatch):
    unpack = zipfile.ZipFile.extractall
    marks = []

    def slow(archive, *arguments):
        unpack(archive, *arguments)
        monkeypatch.setattr(zipfile.ZipFile, "extractall", unpack)
        marks.append(unpacked_pip(wheel) / "in use")
        marks[0].touch()

    monkeypatch.setattr(zipfile.ZipFile, "extractall", slow)
    unpacked_pip(wheel)
    assert marks[0].exists()
