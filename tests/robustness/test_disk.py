"""Full, read-only and odd disks: exit 12 and a clear message, nothing left behind, nothing lost."""

from __future__ import annotations

import errno
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.mounts import small_disk
from tests.support.world import NEW, OLD, differences, entries

SHARES = [0.0, 0.01, 0.04, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 0.95]
"""What is free, as a share of what the environment needs."""


@pytest.fixture
def disk(request, world, tmp_path):
    """A small disk in place of envkit's data folder (``home``) or of the folder beside it (``prefix``)."""
    kind = request.param
    with small_disk(world.data if kind == "home" else world.elsewhere) as made:
        if made is None:
            pytest.skip("needs root and unshare to mount a file system")
        yield made, world.place(kind)


def _on(disk, world, *arguments, json=True):
    """Run envkit where the disk is mounted."""
    return world.run([*disk.enter, *world.argv(*arguments), *(["--json"] if json else [])])


def _seen(disk, path: Path) -> Path:
    return disk.seen / path.relative_to(disk.folder)


def _works(disk, world, prefix: Path) -> str | None:
    code = "import torch, numpy, marker, filler; print(marker.__version__)"
    done = world.run([*disk.enter, str(prefix / "bin" / "python"), "-B", "-c", code])
    return done.out.strip() if done.code == 0 else None


def _states(disk, world) -> dict[str, str]:
    done = _on(disk, world, "list")
    assert done.code == 0, done.told
    return {item["name"]: item["state"] for item in done.json["environments"]}


def _need(disk, world, place) -> int:
    """Bytes that the environment takes; it is removed again."""
    before = disk.used()
    assert _on(disk, world, *world.create(world.old, place, "--no-verify")).code == 0
    need = disk.used() - before
    assert _on(disk, world, "remove", place.env, "--yes").code == 0
    return need


def _is_told_full(done, *, why: str = "full") -> None:
    assert done.code == 12, done.told
    error = done.json["error"]
    assert error["type"] == "Storage"
    told = f"{error['message']} {error['why']}".lower()
    assert why in told or "no space" in told
    assert error["hint"]
    assert "Traceback" not in done.err


@pytest.mark.slow
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("disk", ["home", "prefix"], indirect=True)
def test_a_create_on_a_full_disk_leaves_nothing_and_works_once_there_is_room(disk, world, share):
    disk, place = disk
    other = world.place("home" if place.prefix.parent != world.elsewhere else "prefix", "other")
    assert _on(disk, world, *world.create(world.tiny, other, "--no-verify")).code == 0
    need = _need(disk, world, place)
    before = entries(_seen(disk, other.prefix))
    disk.leave_free(int(need * share))

    done = _on(disk, world, *world.create(world.old, place, "--no-verify"))

    _is_told_full(done)
    assert _states(disk, world) == {"other": "complete"}
    assert not _seen(disk, place.prefix).exists()
    assert differences(before, entries(_seen(disk, other.prefix))) == []
    assert [name for name in os.listdir(_seen(disk, place.prefix.parent)) if name.startswith(".")] == []
    assert list(world.temporary.iterdir()) == []
    disk.free()
    again = _on(disk, world, *world.create(world.old, place, "--no-verify"))
    assert again.code == 0, again.told
    assert _works(disk, world, place.prefix) == OLD


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("disk", ["home", "prefix"], indirect=True)
def test_a_replacement_on_a_full_disk_keeps_the_old_one(disk, world, share):
    disk, place = disk
    need = _need(disk, world, place)
    assert _on(disk, world, *world.create(world.old, place, "--no-verify")).code == 0
    (_seen(disk, place.prefix) / "keep.txt").write_text("mine")
    before = entries(_seen(disk, place.prefix))
    disk.leave_free(int(need * share))

    done = _on(disk, world, *world.create(world.new, place, "--no-verify", "--replace"))

    _is_told_full(done)
    assert _states(disk, world) == {place.prefix.name: "complete"}
    assert differences(before, entries(_seen(disk, place.prefix))) == []
    assert _works(disk, world, place.prefix) == OLD
    disk.free()
    again = _on(disk, world, *world.create(world.new, place, "--no-verify", "--replace"))
    assert again.code == 0, again.told
    assert _works(disk, world, place.prefix) == NEW


@pytest.mark.parametrize("disk", ["home", "prefix"], indirect=True)
def test_a_full_disk_can_be_freed_by_removing_an_environment(disk, world):
    disk, place = disk
    assert _on(disk, world, *world.create(world.old, place, "--no-verify")).code == 0
    disk.leave_free(0)

    assert _states(disk, world) == {place.prefix.name: "complete"}
    assert _on(disk, world, "info", place.env).code == 0
    assert _on(disk, world, "run", place.env, "--", "true", json=False).code == 0
    done = _on(disk, world, "remove", place.env, "--yes")
    assert done.code == 0, done.told
    assert _states(disk, world) == {}
    assert not _seen(disk, place.prefix).exists()
    assert [name for name in os.listdir(_seen(disk, place.prefix.parent)) if name.startswith(".")] == []


@pytest.mark.parametrize("disk", ["home", "prefix"], indirect=True)
def test_a_verification_on_a_full_disk_still_tells_its_verdict(disk, world):
    disk, place = disk
    assert _on(disk, world, *world.create(world.old, place, "--no-verify")).code == 0
    disk.leave_free(0)

    done = _on(disk, world, "verify", place.env)

    assert done.code in {0, 12}, done.told
    assert "Traceback" not in done.err
    assert [layer["status"] for layer in done.json["layers"]] == ["pass"] * 4, done.told
    assert _states(disk, world) == {place.prefix.name: "complete"}


@pytest.mark.parametrize("disk", ["home", "prefix"], indirect=True)
def test_a_read_only_disk(disk, world):
    disk, place = disk
    assert _on(disk, world, *world.create(world.old, place, "--no-verify")).code == 0
    before = entries(disk.seen)
    disk.remount("ro")

    assert _states(disk, world) == {place.prefix.name: "complete"}
    assert _on(disk, world, "info", place.env).code == 0
    assert _on(disk, world, "run", place.env, "--", "true", json=False).code == 0
    another = world.place("home" if place.prefix.parent != world.elsewhere else "prefix", "another")
    for command in (
        world.create(world.old, another, "--no-verify"),
        world.create(world.new, place, "--no-verify", "--replace"),
        ["remove", place.env, "--yes"],
    ):
        done = _on(disk, world, *command)
        _is_told_full(done, why="read-only")
    verified = _on(disk, world, "verify", place.env)
    assert verified.code in {0, 12}, verified.told
    if place.prefix.parent == world.elsewhere:  # otherwise there is no room for the lock
        assert [layer["status"] for layer in verified.json["layers"]] == ["pass"] * 4, verified.told
    assert differences(before, entries(disk.seen)) == []
    assert _works(disk, world, place.prefix) == OLD
    disk.remount("rw")
    assert _on(disk, world, "remove", place.env, "--yes").code == 0


@pytest.fixture(scope="session")
def full_library(tmp_path_factory):
    """The library of ``tests/support/full.c``, built."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs Linux and a C compiler")
    library = tmp_path_factory.mktemp("full") / "full.so"
    source = Path(__file__).parents[1] / "support" / "full.c"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.fixture
def full_from(world, full_library):
    """Variables under which a folder is full after so many bytes."""

    def variables(folder: Path, after: int, number: int) -> dict[str, str]:
        counter = world.root / "counter"
        counter.write_bytes(bytes(8))
        return {
            "LD_PRELOAD": str(full_library),
            "FULL_UNDER": str(folder),
            "FULL_AFTER": str(after),
            "FULL_ERRNO": str(number),
            "FULL_COUNTER": str(counter),
        }

    return variables


def _written(world) -> int:
    return int.from_bytes((world.root / "counter").read_bytes(), "little")


@pytest.mark.slow
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT], ids=["ENOSPC", "EDQUOT"])
@pytest.mark.parametrize("kind", ["home", "prefix"])
@pytest.mark.parametrize("engine", ["uv", "pip"])
def test_no_room_or_no_quota_at_any_time_of_a_create(world, full_from, kind, number, engine):
    place = world.place(kind)
    folder = world.data if kind == "home" else world.elsewhere
    command = world.create(world.old, place, "--no-verify", "--json", "--engine", engine)
    if engine == "pip":  # which envkit unpacks into its cache, the first time
        assert world.envkit(*command).code == 0
        assert world.envkit("remove", place.env, "--yes").code == 0
    assert world.envkit(*command, env=full_from(folder, 1 << 60, number)).code == 0
    need = _written(world)
    assert need > 50_000, "the library does not see what is written"
    assert world.envkit("remove", place.env, "--yes").code == 0
    kept = entries(world.home, world.project)
    wrong = []
    for share in SHARES:
        done = world.envkit(*command, env=full_from(folder, int(need * share), number))
        if done.code != 12 or done.json["error"]["type"] != "Storage" or "Traceback" in done.err:
            wrong.append(f"{share}: exit {done.code}: {done.told}")
        if (state := world.listed(place)) != "absent" or place.prefix.exists() or world.strays(place):
            wrong.append(f"{share}: {state}, left: {world.strays(place)}")

    assert not wrong, "\n".join(wrong)
    assert differences(kept, entries(world.home, world.project)) == []
    assert world.envkit(*command).code == 0
    assert world.version_of(place.prefix) == OLD


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["home", "prefix"])
def test_no_quota_at_any_time_of_a_replacement(world, full_from, kind):
    place = world.place(kind)
    folder = world.data if kind == "home" else world.elsewhere
    assert world.envkit(*world.create(world.old, place, "--no-verify")).code == 0
    (place.prefix / "keep.txt").write_text("mine")
    before = entries(place.prefix)
    wrong = []
    for after in (0, 100, 500, 1000, 3000, 6000, 30_000, 80_000, 120_000, 200_000):
        command = world.create(world.new, place, "--no-verify", "--replace", "--json")
        done = world.envkit(*command, env=full_from(folder, after, errno.EDQUOT))
        if done.code != 12 or "Traceback" in done.err:
            wrong.append(f"{after}: exit {done.code}: {done.told}")
        changed = differences(before, entries(place.prefix))
        if changed or world.listed(place) != "complete" or world.strays():
            wrong.append(f"{after}: {world.listed(place)}, changed: {changed[:5]}, left: {world.strays()}")

    assert not wrong, "\n".join(wrong)
    assert world.version_of(place.prefix) == OLD


@pytest.mark.parametrize("after", [0, 300, 600, 2000, 5000, 9000, 12_000, 16_000])
def test_a_snapshot_that_finds_no_room_is_told_and_leaves_nothing(world, full_from, after):
    place = world.place("home")
    assert world.envkit(*world.create(world.old, place, "--no-verify")).code == 0
    done = world.envkit("verify", place.env, "--json", env=full_from(world.data / "snapshots", after, errno.ENOSPC))

    assert "Traceback" not in done.err
    assert [layer["status"] for layer in done.json["layers"]] == ["pass"] * 4
    assert done.json["verified"] is True
    taken = world.envkit("snapshot", "list", place.env, "--json").json["snapshots"]
    if taken:
        assert done.code == 0, done.told
    else:
        _is_told_full(done)
    assert world.strays(place) == []
    assert world.envkit("verify", place.env, "--json").json["snapshot"]


def test_replacing_an_environment_on_a_mount_point_says_the_way_that_works(world):
    place = world.place("prefix")
    place.prefix.mkdir(parents=True)
    with small_disk(place.prefix) as disk:
        if disk is None:
            pytest.skip("needs root and unshare to mount a file system")
        assert _on(disk, world, *world.create(world.old, place, "--no-verify")).code == 0
        refused = _on(disk, world, *world.create(world.new, place, "--no-verify", "--replace"))
        assert refused.code == 12, refused.told
        remove = re.search(r"`envkit ([^`]+)`", refused.json["error"]["hint"])[1]
        assert _works(disk, world, place.prefix) == OLD
        assert _on(disk, world, *shlex.split(remove), "--yes").code == 0
        done = _on(disk, world, *world.create(world.new, place, "--no-verify"))
        assert done.code == 0, done.told
        assert _works(disk, world, place.prefix) == NEW
