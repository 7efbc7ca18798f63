"""Bytes that change after the installation: found, told with everybody they touch, and mended, on stub wheels."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.integration.conftest import tree
from tests.support.wheels import make_wheel

NAME = "torch112_cu113_py39"


def site_of(prefix: Path) -> Path:
    return next(prefix.glob("lib/python3.*/site-packages"))


def flip(path: Path) -> bytes:
    """Change one byte in place, as a failing disk or a careless editor does; the time of the file stays."""
    status = path.stat()
    data = bytearray(path.read_bytes())
    data[0] ^= 1
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    return bytes(data)


@pytest.fixture
def make(envkit, project):
    """Make an environment of the project's lock: ``make("a")`` gives its prefix."""

    def run(name: str, *options: str | Path, again: str = "create") -> Path:
        done = envkit(again, project.lock, "--name", name, "--no-verify", "--json", *options)
        assert done.code == 0, done.err
        return Path(done.json["environment"]["prefix"])

    return run


def files_of(run) -> dict:
    (layer,) = [item for item in run.json["layers"] if item["layer"] == "files"]
    return layer


def is_damaged(envkit, name: str) -> bool:
    """What level full says of an environment's files; its stub of torch computes nothing, so the rest fails."""
    return files_of(envkit("verify", name, "--level", "full", "--json"))["status"] == "fail"


def test_level_full_finds_a_changed_byte_and_names_the_environments_that_share_it(envkit, make):
    first, second, by_pip = make("a"), make("b"), make("c", "--engine", "pip")
    file = site_of(first) / "numpy" / "__init__.py"
    assert file.stat().st_nlink >= 3
    assert not is_damaged(envkit, "a")
    flip(file)

    a, b = (envkit("verify", name, "--level", "full", "--json") for name in "ab")
    for run, other in ((a, "b"), (b, "a")):
        layer = files_of(run)
        assert run.code == 6
        assert run.json["verified"] is False
        assert run.json["snapshot"] is None
        assert [item["layer"] for item in run.json["layers"]] == ["import", "device", "compute", "memory", "files"]
        assert layer["status"] == "fail"
        assert layer["facts"]["environments"] == [other]
        (changed,) = layer["facts"]["changed"]
        assert (changed["package"], changed["kind"]) == ("numpy", "changed")
        assert changed["path"].endswith("site-packages/numpy/__init__.py")
        assert changed["expected"] != changed["found"]
        assert layer["facts"]["files_checked"] > 5
        assert "layer files failed" in run.json["error"]["message"]
        assert "numpy/__init__.py" in run.json["error"]["why"]
        assert "--replace" in run.json["error"]["hint"]
    text = envkit("verify", "a", "--level", "full")
    assert "numpy/__init__.py of numpy (changed)" in text.out
    assert "in b, by hard links" in text.out
    assert not is_damaged(envkit, "c")
    shallow = envkit("verify", "a", "--json")
    assert "files" not in [item["layer"] for item in shallow.json["layers"]]
    assert (site_of(by_pip) / "numpy" / "__init__.py").stat().st_nlink == 1
    assert (site_of(second) / "numpy" / "__init__.py").samefile(file)


@pytest.mark.parametrize("where", ["index", "wheelhouse", "find-links"])
def test_restore_mends_an_environment_although_the_cache_holds_the_changed_byte(
    envkit, make, project, tmp_path, monkeypatch, where
):
    options: list[str | Path] = []
    if where != "index":
        folder = tmp_path / "house"
        folder.mkdir()
        for wheel in project.wheels:
            shutil.copy(wheel, folder)
        options = ["--offline"]
        if where == "wheelhouse":
            options += ["--wheelhouse", folder]
        else:
            monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    first, second = make("a", *options), make("b", *options)
    good = (site_of(first) / "numpy" / "__init__.py").read_bytes()
    bad = flip(site_of(first) / "numpy" / "__init__.py")
    assert (site_of(make("c", *options)) / "numpy" / "__init__.py").read_bytes() == bad  # from the cache
    others = {name: tree(prefix) for name, prefix in (("b", second), ("c", first.with_name("c")))}
    project.source.requests.clear()
    project.default.requests.clear()

    done = envkit("restore", "a", "--replace", "--no-verify", "--json", *options)

    assert done.code == 0, done.err
    assert (site_of(first) / "numpy" / "__init__.py").read_bytes() == good
    assert "numpy/__init__.py of numpy (changed)" in done.err
    for name in "bc":
        assert f"{name} holds the same bytes and stays as it is: `envkit restore {name} --replace`" in done.err
    assert "Put right in uv's cache: 1 files of numpy" in done.err
    assert not list(first.glob(".envkit-fresh*"))
    assert not is_damaged(envkit, "a")
    assert (site_of(second) / "numpy" / "__init__.py").read_bytes() == bad
    assert others == {name: tree(first.with_name(name)) for name in "bc"}
    fetched = [request for request in project.default.requests if "/files/" in request]
    assert all("numpy" in request for request in fetched)
    assert bool(fetched) is (where == "index")
    assert not [request for request in project.source.requests if "/files/" in request]
    told = files_of(envkit("verify", "b", "--level", "full", "--json"))
    assert told["facts"]["environments"] == ["c"]
    assert (site_of(make("d", *options)) / "numpy" / "__init__.py").read_bytes() == good  # the cache is right again
    assert envkit("restore", "b", "--replace", "--no-verify", *options).code == 0
    assert not is_damaged(envkit, "b")


def test_offline_without_the_wheel_the_old_environment_comes_back_and_the_way_out_is_told(envkit, make, project):
    prefix = make("a")
    flip(site_of(prefix) / "numpy" / "__init__.py")
    before = tree(prefix)

    done = envkit("restore", "a", "--replace", "--offline", "--no-verify", "--json")

    assert done.code == 5
    assert "numpy" in done.json["error"]["message"]
    assert "--wheelhouse" in done.json["error"]["hint"]
    assert "--offline" in done.json["error"]["hint"]
    assert tree(prefix) == before
    assert [item["state"] for item in envkit("list", "--json").json["environments"]] == ["complete"]
    house = project.default.folder
    assert envkit("restore", "a", "--replace", "--offline", "--no-verify", "--wheelhouse", house).code == 0
    assert not is_damaged(envkit, "a")


@pytest.mark.parametrize("engine", ["uv", "pip"])
def test_console_scripts_and_odd_names_are_no_false_alarm_and_found_when_edited(envkit, make, project, engine):
    files = {
        "odd/a b,c.txt": "x",
        "odd/ünï 中.txt": "y",
        "odd/data.py": "",
        "tool-1.0.data/scripts/old": "#!python\n1\n",
    }
    entry_points = "[console_scripts]\ntool = tool:main\n"
    make_wheel(project.default.folder, "tool", "1.0", files=files, entry_points=entry_points)
    project.write_lock(spec_sha256=None)
    prefix = make("a", "--engine", engine)
    assert not is_damaged(envkit, "a")
    assert envkit("restore", "a", "--json").json["created"] is False

    (prefix / "bin" / "tool").write_text("#!/bin/sh\n")
    (prefix / "bin" / "old").write_text("#!/bin/sh\n")
    (site_of(prefix) / "odd" / "a b,c.txt").unlink()
    (site_of(prefix) / "odd" / "notes.py").write_text("mine")
    layer = files_of(envkit("verify", "a", "--level", "full", "--json"))
    assert [(Path(item["path"]).name, item["kind"]) for item in layer["facts"]["changed"]] == [
        ("old", "changed"),
        ("tool", "changed"),
        ("a b,c.txt", "missing"),
    ]
    assert envkit("restore", "a", "--replace", "--no-verify", "--engine", engine).code == 0
    assert not is_damaged(envkit, "a")


def test_a_record_that_is_gone_and_a_package_that_is_gone(envkit, make):
    prefix = make("a")
    (site_of(prefix) / "numpy-1.21.5.dist-info" / "RECORD").unlink()
    shutil.rmtree(site_of(prefix) / "pip-22.0.dist-info")
    layer = files_of(envkit("verify", "a", "--level", "full", "--json"))
    assert [(item["package"], item["kind"]) for item in layer["facts"]["changed"]] == [("numpy", "record")]
    assert layer["facts"]["drift"] == [{"name": "pip", "locked": "22.0", "installed": None}]
    assert "pip is missing (locked 22.0)" in layer["reason"]


def test_restore_of_an_environment_with_an_obviously_changed_file_is_refused(envkit, make):
    """EK-C11: nothing is replaced unasked, and "already there" is said of what is still itself."""
    prefix = make("a")
    assert envkit("restore", "a", "--json").json["created"] is False
    file = site_of(prefix) / "numpy" / "__init__.py"
    text = file.read_text()
    file.unlink()
    gone = envkit("restore", "a", "--json")
    file.write_text(text.replace("1", "2"))
    edited = envkit("restore", "a", "--json")
    for done, what in ((gone, "missing"), (edited, "changed")):
        assert done.code == 11
        assert f"numpy/__init__.py of numpy ({what})" in done.json["error"]["message"]
        assert "--replace" in done.json["error"]["hint"]
    file.write_text(text)
    assert envkit("restore", "a", "--json").json["created"] is False


@pytest.mark.parametrize("engine", ["uv", "pip"])
def test_a_wheel_that_is_wrong_about_itself_is_no_obstacle(envkit, make, project, engine):
    """Its hash is the locked one; what its RECORD says nobody checked."""
    wheel = make_wheel(project.default.folder, "liar", "1.0", files={"liar/a.py": "abc"})
    with zipfile.ZipFile(wheel) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    content["liar/a.py"] = b"abd"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    project.write_lock(spec_sha256=None)
    make("a", "--engine", engine)
    done = envkit("restore", "a", "--replace", "--no-verify", "--engine", engine)
    assert done.code == 0, done.err
    assert "The wheels themselves say so wrongly" in done.err


@pytest.mark.parametrize("file", ["METADATA", "WHEEL", "RECORD"])
@pytest.mark.parametrize("how", ["changed", "gone", "empty"])
def test_a_cache_that_uv_cannot_install_from_is_mended(envkit, make, file, how):
    prefix = make("a")
    (cached,) = Path(os.environ["UV_CACHE_DIR"]).glob(f"archive-v*/*/numpy-1.21.5.dist-info/{file}")
    good = cached.read_bytes()
    if how == "changed":
        flip(cached)
    elif how == "gone":
        cached.unlink()
    else:
        cached.write_bytes(b"")
    done = envkit("restore", "a", "--replace", "--no-verify")
    assert done.code == 0, done.err
    assert "anew" in done.err
    assert cached.read_bytes() == good
    assert not list(prefix.glob(".envkit-fresh*"))
    make("b")
    for name in "ab":
        assert envkit("doctor", name, "--json").json["findings"] == []
