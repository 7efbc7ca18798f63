"""conda environments where the disk is full, where conda's own files are odd, and where they were damaged."""

from __future__ import annotations

import os
import shutil

import pytest

from tests.support.mounts import small_disk
from tests.support.world import OLD, PYTHON, entries, make_world


@pytest.fixture
def world(tmp_path, shared_folder):
    root = tmp_path / "world"
    root.mkdir()
    with make_world(root, files=20, kind="conda", packages=shared_folder / "conda-packages") as made:
        yield made


@pytest.mark.parametrize("what", ["prefix", "cache", "home"])
def test_a_full_disk_is_told_by_its_place_and_nothing_is_left(world, what):
    place = world.place("home" if what == "home" else "prefix")
    folder = {"prefix": world.elsewhere, "cache": world.cache / "rattler", "home": world.home}[what]
    folder.mkdir(exist_ok=True)
    configuration = (world.home / ".condarc").read_text()
    with small_disk(folder, "24m") as disk:
        if disk is None:
            pytest.skip("needs root and unshare to mount a file system")
        if what == "home":
            (disk.seen / ".condarc").write_text(configuration)
        before = entries(disk.seen, world.project)
        done = world.run([*disk.enter, *world.argv(*world.create(world.old, place, "--no-verify", "--json"))])
        assert done.code == 12, done.told
        error = done.json["error"]
        assert "full" in error["message"]
        assert str(folder) in f"{error['message']} {error['why']} {error['hint']}"
        assert "Traceback" not in done.err
        assert not (disk.seen / place.prefix.name).exists()
        left = entries(disk.seen, world.project)
        assert what == "cache" or [path for path in left if path not in before] == []
    assert world.listed(place) == "absent"
    assert place.ours() == []
    done = world.envkit(*world.create(world.old, place, "--no-verify"))
    assert done.code == 0, done.told


def test_an_environment_on_another_disk_than_the_cache_has_copies(world):
    place = world.place("prefix")
    with small_disk(world.elsewhere, "300m") as disk:
        if disk is None:
            pytest.skip("needs root and unshare to mount a file system")
        for command in (world.create(world.old, place, "--no-verify"), ["doctor", place.env]):
            done = world.run([*disk.enter, *world.argv(*command)])
            assert done.code == 0, done.told
        seen = disk.seen / place.prefix.name
        assert (seen / "lib" / f"python{PYTHON}" / "site-packages" / "marker" / "__init__.py").stat().st_nlink == 1
        done = world.run([*disk.enter, *world.argv("remove", place.env, "--yes")])
        assert done.code == 0, done.told
        assert not seen.exists()


@pytest.mark.parametrize("what", ["folder", "garbage", "pipe", "no last line end", "read-only", "conda is a file"])
def test_a_list_of_conda_that_is_none_hinders_nobody(world, what):
    listed, place = world.home / ".conda" / "environments.txt", world.place("prefix")
    content = {"garbage": b"\xff\xfe\0\n/x/y\n", "no last line end": b"/x/y", "read-only": b"/x/y\n"}.get(what)
    if content is not None:
        listed.write_bytes(content)
    elif what == "folder":
        listed.mkdir()
    elif what == "pipe":
        os.mkfifo(listed)
    else:
        shutil.rmtree(listed.parent)
        listed.parent.write_text("mine")
    if what == "read-only":
        listed.chmod(0o444)
    done = world.envkit(*world.create(world.tiny, place, "--no-verify"), timeout_s=60)
    assert done.code == 0, done.told
    if what in {"garbage", "no last line end"}:
        end = b"" if content.endswith(b"\n") else b"\n"
        assert listed.read_bytes() == content + end + os.fsencode(place.prefix) + b"\n"
    for command in (("list",), ("doctor", place.env), ("remove", place.env, "--yes")):
        done = world.envkit(*command, timeout_s=60)
        assert done.code == 0, done.told
    if content is not None:
        assert listed.read_bytes().strip() == content.strip()
        assert what != "read-only" or listed.stat().st_mode & 0o777 == 0o444


def test_conda_s_folder_is_a_file_and_no_place_is_given(world):
    shutil.rmtree(world.home / ".conda")
    (world.home / ".conda").write_text("mine")
    done = world.envkit(*world.create(world.tiny, world.place("home"), "--no-verify", "--json"))
    assert done.code in {11, 12}, done.told
    assert str(world.home / ".conda") in str(done.json["error"])
    assert (world.home / ".conda").read_text() == "mine"


@pytest.mark.parametrize("bad", ["a$b", 'a"b', "a`b", "a\\b", "x" * 250])
def test_a_place_that_packages_cannot_work_in_is_refused_before_anything_is_got(world, bad):
    prefix = world.elsewhere / bad
    done = world.envkit("create", str(world.tiny), "--prefix", str(prefix), "--no-verify", "--json")
    assert done.code == 2, done.told
    assert "--prefix" in done.json["error"]["hint"]
    assert list(world.elsewhere.iterdir()) == []
    assert not (world.cache / "rattler").exists()


def test_links_lead_to_the_environment_and_names_to_the_first_folder(world):
    """A linked folder of environments, several of them, and a prefix behind a link."""
    (world.root / "disk").mkdir()
    (world.root / "linked").symlink_to(world.root / "disk")
    folders = {"CONDA_ENVS_PATH": f"{world.root / 'linked'}{os.pathsep}{world.root / 'second'}"}
    done = world.envkit(*world.create(world.tiny, world.place("home"), "--no-verify", "--json"), env=folders)
    assert done.code == 0, done.told
    prefix = world.root / "disk" / "demo"
    assert world.version_of(prefix) == OLD
    assert world.envkit("run", "demo", "--", "true", env=folders).code == 0
    (world.elsewhere / "link").symlink_to(prefix)
    again = world.envkit("create", str(world.tiny), "--prefix", str(world.elsewhere / "link"), "--no-verify", "--json")
    assert again.code == 0, again.told
    assert again.json["created"] is False
    assert world.envkit("remove", str(world.elsewhere / "link"), "--yes").code == 0
    assert not prefix.exists()
    assert world.conda_list() == []


@pytest.mark.parametrize(
    "damage", ["no conda-meta", "garbage", "pipe", "no history", "history is a pipe", "no python", "no lock", "lock"]
)
def test_a_damaged_environment_is_told_of_and_can_be_made_again_or_removed(world, damage):
    place = world.place("home")
    assert world.envkit(*world.create(world.old, place, "--no-verify")).code == 0
    meta, lock = place.prefix / "conda-meta", place.prefix / ".envkit" / "lock.yaml"
    record = next(meta.glob("marker-*.json"))
    if damage == "no conda-meta":
        shutil.rmtree(meta)
    elif damage == "no python":
        for path in (place.prefix / "bin").glob("python*"):
            path.unlink()
    else:
        {"garbage": record, "pipe": record, "no history": meta / "history", "history is a pipe": meta / "history"}.get(
            damage, lock
        ).unlink()
    if damage in {"pipe", "history is a pipe"}:
        os.mkfifo(record if damage == "pipe" else meta / "history")
    elif damage in {"garbage", "lock"}:
        (record if damage == "garbage" else lock).write_bytes(b'{"name": \xff\0')
    for command, codes in (("list", {0}), ("info", {0, 4, 6}), ("doctor", {6}), ("verify", {4, 6}), ("run", {0, 125})):
        words = ("--", "true") if command == "run" else ()
        done = world.envkit(command, *([] if command == "list" else [place.env]), *words, timeout_s=60)
        assert done.code in codes, (command, done.code, done.told)
        assert "Traceback" not in done.err, done.err
        assert command == "run" or "demo" in done.out + done.err
    done = world.envkit("add", place.env, "marker", timeout_s=60)
    assert done.code in {4, 6}, done.told
    assert "envkit restore" in done.err
    if "lock" not in damage:
        done = world.envkit("restore", place.env, "--replace", "--no-verify", timeout_s=120)
        assert done.code == 0, done.told
        assert world.version_of(place.prefix) == OLD
        assert world.conda_list() == [str(place.prefix)]
    done = world.envkit("remove", place.env, "--yes", timeout_s=60)
    assert done.code == 0, done.told
    assert not place.prefix.exists()
    assert world.conda_list() == []
