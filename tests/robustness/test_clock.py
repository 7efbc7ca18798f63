"""A clock that was set back, or forward: nothing is refused for it, and nothing is taken for something else."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys

import pytest

from tests.support.world import NEW, OLD

BACK, FORWARD = "-400d", "+400d"


@pytest.fixture(params=[BACK, FORWARD], ids=["back", "forward"])
def other_time(request, world):
    """Runs envkit at another time."""
    faketime = shutil.which("faketime")
    if faketime is None:
        pytest.skip("needs the program faketime")
    probe = world.run([faketime, "-f", request.param, sys.executable, "-c", "import time; print(int(time.time()))"])
    if probe.code != 0 or abs(int(probe.out) - _now(world)) < 300 * 86400:
        pytest.skip(f"faketime does not work here: {probe.told}")

    def run(*arguments):
        return world.run([faketime, "-f", request.param, *world.argv(*arguments)])

    return run


def _now(world) -> int:
    return int(world.run([sys.executable, "-c", "import time; print(int(time.time()))"]).out)


def _snapshots(done) -> list[str]:
    assert done.code == 0, done.told
    return [item["id"] for item in done.json["snapshots"]]


def test_an_environment_made_at_the_right_time_is_used_at_a_wrong_one(world, other_time):
    place = world.place("home")
    assert world.envkit(*world.create(world.old, place)).code == 0
    (place.prefix / "keep.txt").write_text("mine")

    for words, code in (
        (["list", "--json"], 0),
        (["info", place.env, "--json"], 0),
        (["verify", place.env, "--json"], 0),
        (["run", place.env, "--", "true"], 0),
        (["restore", place.env, "--json"], 0),
        (["snapshot", "list", place.env, "--json"], 0),
        (["snapshot", "show", place.env, "--json"], 0),
        (world.create(world.old, place, "--json"), 0),
        (world.create(world.new, place, "--json"), 11),
    ):
        done = other_time(*words)
        assert done.code == code, f"{words}: {done.told}"
        assert "Traceback" not in done.err
    assert (place.prefix / "keep.txt").exists()
    assert other_time(*world.create(world.old, place, "--json")).json["created"] is False
    assert world.listed(place) == "complete"
    assert world.version_of(place.prefix) == OLD
    removed = other_time("remove", place.env, "--yes", "--json")
    assert removed.code == 0, removed.told
    again = other_time("restore", place.env, "--json")
    assert again.code == 0, again.told
    assert again.json["created"] is True
    assert world.version_of(place.prefix) == OLD
    assert world.strays(place) == []


def test_an_environment_made_at_a_wrong_time_is_used_at_the_right_one(world, other_time):
    place = world.place("prefix")
    made = other_time(*world.create(world.old, place, "--json"))
    assert made.code == 0, made.told
    assert made.json["snapshot"]

    assert world.listed(place) == "complete"
    for words in (
        ["verify", place.env, "--json"],
        ["restore", place.env, "--json"],
        world.create(world.old, place, "--json"),
        world.create(world.new, place, "--replace", "--json"),
    ):
        done = world.envkit(*words)
        assert done.code == 0, f"{words}: {done.told}"
    assert world.version_of(place.prefix) == NEW
    assert world.envkit("remove", place.env, "--yes").code == 0
    assert world.strays() == []


def test_snapshots_keep_their_order(world, other_time):
    """Newest first by what the clock said; none is lost or overwritten, and each can be shown and restored."""
    place = world.place("home")
    first = world.envkit(*world.create(world.old, place, "--json")).json["snapshot"]
    second = other_time("verify", place.env, "--json").json["snapshot"]
    third = world.envkit("verify", place.env, "--json").json["snapshot"]

    assert len({first, second, third}) == 3
    here, there = (_snapshots(run("snapshot", "list", place.env, "--json")) for run in (world.envkit, other_time))
    assert here == there == sorted(here, reverse=True)
    assert {os.path.basename(path) for path in (first, second, third)} == set(here)
    for snapshot in here:
        for run in (world.envkit, other_time):
            done = run("snapshot", "show", f"{place.env}@{snapshot}", "--json")
            assert done.code == 0, done.told
    kept = json.loads((place.prefix / ".envkit" / "snapshot" / "manifest.json").read_text())
    assert kept["id"] in here
    assert world.envkit("remove", place.env, "--yes").code == 0
    done = other_time("restore", f"{place.env}@{os.path.basename(second)}", "--json")
    assert done.code == 0, done.told
    assert world.version_of(place.prefix) == OLD


def test_a_creation_that_was_killed_at_another_time_is_cleaned_up(world, other_time):
    """The journal's times lie in the future, or long ago."""
    place = world.place("home")
    assert world.envkit(*world.create(world.old, place, "--no-verify")).code == 0
    (place.prefix / "keep.txt").write_text("mine")
    world.index.hang("marker-2.0-py3-none-any.whl")
    process = world.start(*world.create(world.new, place, "--no-verify", "--replace"))
    while "GET /files/marker-2.0-py3-none-any.whl" not in world.index.requests:
        assert process.poll() is None
    busy = other_time(*world.create(world.old, place, "--no-verify", "--lock-timeout", "1", "--json"))
    process.kill()
    process.communicate(timeout=30)
    world.index.heal()

    assert busy.code == 8, busy.told
    assert world.listed(place) == "incomplete"
    done = other_time(*world.create(world.old, place, "--no-verify", "--json"))
    assert done.code == 0, done.told
    assert done.json["created"] is False
    assert (place.prefix / "keep.txt").exists()
    assert world.strays(place) == []


@pytest.mark.parametrize("year", ["1970", "2019", "2099"])
@pytest.mark.parametrize("host", ["here", "elsewhere"])
def test_a_journal_from_another_year(world, year, host):
    """Its process is dead here; of another host nobody can tell, whatever the clocks say."""
    place = world.place("home")
    started = f"{year}-06-01T12:00:00Z"
    place.prefix.mkdir(parents=True)
    (place.prefix / "half").write_text("half")
    (place.prefix / ".envkit").mkdir()
    (place.prefix / ".envkit" / "creating").write_text("0123abcd")
    content = {
        "schema": 1,
        "operation": "create",
        "host": platform.node() if host == "here" else "node17",
        "pid": 2**22 - 1,
        "process_started": 1,
        "started_at": started,
        "token": "0123abcd",
    }
    (place.prefix.parent / ".demo.envkit-journal.json").write_text(json.dumps(content))

    assert world.listed(place) == "incomplete"
    done = world.envkit(*world.create(world.old, place, "--no-verify", "--json"))
    if host == "here":
        assert done.code == 0, done.told
        assert world.version_of(place.prefix) == OLD
    else:
        assert done.code == 8, done.told
        assert (place.prefix / "half").exists()


def test_files_that_come_from_the_future(world):
    """A tree whose times lie ahead, as on a server whose clock is wrong."""
    place = world.place("home")
    assert world.envkit(*world.create(world.old, place, "--no-verify")).code == 0
    future = _now(world) + 400 * 86400
    for top, folders, files in os.walk(world.data):
        for name in (*folders, *files):
            if not os.path.islink(os.path.join(top, name)):
                os.utime(os.path.join(top, name), (future, future))

    assert world.listed(place) == "complete"
    for words in (
        ["verify", place.env, "--json"],
        world.create(world.old, place, "--json"),
        world.create(world.new, place, "--replace", "--no-verify", "--json"),
        ["remove", place.env, "--yes", "--json"],
    ):
        done = world.envkit(*words)
        assert done.code == 0, f"{words}: {done.told}"
    assert world.strays() == []
