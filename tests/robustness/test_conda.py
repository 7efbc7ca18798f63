"""conda environments under rough treatment: killed, all at once, by a crowd, on a full disk, damaged."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.robustness.campaign import SEED, Campaign
from tests.support.kills import DIE_AT, draw, family
from tests.support.world import NEW, OLD, PYTHON, make_world, remove

COUNTS = {
    "conda": {"create": 5, "replace": 4, "remove": 2},
    "pip-in-conda": {"create": 3, "replace": 2},
}

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")


@pytest.fixture
def world(request, tmp_path, shared_folder):
    """As the world of virtual environments; its kind is the parameter, by default that of the installer conda."""
    root = tmp_path / "world"
    root.mkdir()
    kind = getattr(request, "param", "conda")
    with make_world(root, files=300, kind=kind, packages=shared_folder / "conda-packages") as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("world", list(COUNTS), indirect=True)
def test_nothing_is_lost_by_kill_9(world):
    """While py-rattler works, and right before a change of a file by envkit; the campaign's questions after each."""
    campaign = Campaign(world)
    lost = []
    for operation, count in COUNTS[world.kind].items():
        for moment in draw(random.Random(f"{SEED} {world.kind}"), operation, count, plain=True):  # noqa: S311
            outcome = campaign.run(moment)
            lost += [f"{outcome.moment}: {outcome.listed}: {loss}" for loss in outcome.losses]
    assert not lost, "\n".join(lost)


def worker_of(process: subprocess.Popen[str]) -> int:
    """The process that py-rattler works in, as soon as it is there."""
    end = time.monotonic() + 60
    while time.monotonic() < end and process.poll() is None:
        for pid in family(process.pid)[1:]:
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if any(word.endswith(b"rattler/worker.py") for word in words):
                return pid
        time.sleep(0.005)
    message = f"there was none: {process.communicate()}"
    raise AssertionError(message)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("replace", [False, True], ids=["create", "replace"])
def test_a_worker_that_is_killed_alone_is_told_and_nothing_is_lost(world, share, replace):
    """As by the system, when memory is short."""
    place = world.place("home")
    if replace:
        assert world.envkit(*world.create(world.old, place, "--no-verify")).code == 0
    began = time.monotonic()
    assert world.envkit(*world.create(world.new, world.place("prefix", "a"), "--no-verify")).code == 0
    lasts = (time.monotonic() - began) / 2
    remove(world.cache / "rattler")
    process = world.start(*world.create(world.new, place, "--no-verify", *(["--replace"] if replace else [])))
    worker = worker_of(process)
    time.sleep(share * lasts)
    try:
        os.kill(worker, signal.SIGKILL)
    except ProcessLookupError:
        process.communicate(timeout=120)
        pytest.skip("it was done before")
    _, err = process.communicate(timeout=120)
    if process.returncode == 0:
        pytest.skip("it was done before")
    assert process.returncode == 5, err
    assert "py-rattler was killed" in err
    assert "Traceback" not in err
    assert world.version_of(place.prefix) == (OLD if replace else None)
    assert (world.listed(place), place.ours()) == ("complete" if replace else "absent", [])
    assert (str(place.prefix) in world.conda_list()) == replace
    again = world.envkit(*world.create(world.new, place, "--no-verify", *(["--replace"] if replace else [])))
    assert again.code == 0, again.told
    assert world.version_of(place.prefix) == NEW


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("times", [1, 2])
def test_stopped_while_py_rattler_works_it_clears_up(world, number, times):
    place = world.place("home")
    process = world.start(*world.create(world.new, place, "--no-verify"))
    worker_of(process)
    time.sleep(random.Random(f"{number} {times}").random() * 0.6)  # noqa: S311
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.02)
    _, err = process.communicate(timeout=120)
    assert process.returncode in {130, 128 + number}, err
    assert "Traceback" not in err
    assert not world.processes()
    if times == 1:
        assert not place.prefix.exists()
        assert place.ours() == []
    assert world.envkit(*world.create(world.new, place, "--no-verify")).code == 0
    assert world.version_of(place.prefix) == NEW
    assert world.conda_list() == [str(place.prefix)]


def test_eight_creates_of_one_environment_make_it_once(world):
    place = world.place("home")
    crowd = [world.start(*world.create(world.old, place, "--no-verify", "--json")) for _ in range(8)]
    ended = [(one.communicate(timeout=300), one.returncode) for one in crowd]
    assert [code for _, code in ended] == [0] * 8, ended
    assert sum('"created": true' in out for (out, _), _ in ended) == 1
    assert world.version_of(place.prefix) == OLD
    assert world.conda_list() == [str(place.prefix)]
    assert place.ours() == []


def test_two_environments_at_once_from_an_empty_cache_and_one_that_goes(world):
    going = world.place("home", "going")
    assert world.envkit(*world.create(world.tiny, going, "--no-verify")).code == 0
    remove(world.cache / "rattler")
    places = [world.place("home", "a"), world.place("home", "b"), world.place("prefix", "c d")]
    wanted = zip((world.old, world.new, world.old), places, strict=True)
    crowd = [world.start(*world.create(lock, at, "--no-verify")) for lock, at in wanted]
    crowd.append(world.start("remove", going.env, "--yes"))
    ended = [(one.communicate(timeout=300), one.returncode) for one in crowd]
    assert [code for _, code in ended] == [0] * 4, ended
    assert [world.version_of(at.prefix) for at in places] == [OLD, NEW, OLD]
    assert sorted(world.conda_list()) == sorted(str(at.prefix) for at in places)


def test_creates_and_removes_at_once_leave_it_or_not(world):
    place = world.place("home")
    crowd = []
    for number in range(6):
        command = ["remove", place.env, "--yes"] if number % 2 else world.create(world.old, place, "--no-verify")
        crowd.append(world.start(*command))
        time.sleep(0.3)
    ended = [(one.communicate(timeout=300), one.returncode) for one in crowd]
    assert all(code in {0, 8, 9} for _, code in ended), ended
    state = world.listed(place)
    assert state in {"complete", "absent"}
    assert (world.version_of(place.prefix) == OLD) == (state == "complete")
    assert world.conda_list() == ([str(place.prefix)] if state == "complete" else [])
    assert place.ours() == []


def test_an_addition_that_is_killed_before_any_change_of_a_file_is_undone(world):
    assert world.channel is not None
    site = f"lib/python{PYTHON}/site-packages"
    files = {f"{site}/extra/f{n}.py": "" for n in range(100)} | {"share/extra/x": "x"}
    world.channel.add("extra", "1.0", files=files)
    world.channel.index()
    place, prepared, log = world.place("home"), world.root / "prepared", world.root / "steps.log"
    assert world.envkit(*world.create(world.tiny, place, "--no-verify")).code == 0
    subprocess.run(["cp", "-a", place.prefix, prepared], check=True)

    def add(number: int) -> int:
        command = [sys.executable, str(DIE_AT), str(number), str(world.root), str(log), "add", "demo", "extra"]
        return world.run(command).code

    assert add(0) == 0
    count = len(log.read_text().splitlines())
    for share in (0.15, 0.4, 0.6, 0.75, 0.9, 0.98):
        remove(place.prefix)
        subprocess.run(["cp", "-a", prepared, place.prefix], check=True)
        assert add(int(share * count)) == -signal.SIGKILL
        used = world.envkit("run", "demo", "--", "python", "-c", "import marker")
        assert used.code == 0, (share, used.told)
        assert world.listed(place) == "complete"
        there = (place.prefix / "conda-meta" / "extra-1.0-0.json").exists()
        left = [name for name in ("share/extra", f"{site}/extra") if (place.prefix / name).exists()]
        assert left == (["share/extra", f"{site}/extra"] if there else []), share
        doctor = world.envkit("doctor", "demo")
        assert doctor.code == 0, (share, doctor.told)
        assert add(0) == 0
        assert (place.prefix / "share" / "extra" / "x").read_text() == "x"
        assert place.ours() == []
        assert world.conda_list() == [str(place.prefix)]
