"""Several envkits at once: one environment or none, documented exits, and nobody is told what is not so."""

from __future__ import annotations

import json
import random
import re
import signal
import time

import pytest

from tests.support.world import NEW, OLD

DOCUMENTED = {0, 8, 9, 11}
HELD = "marker-1.0-py3-none-any.whl"
"""The file whose download a test holds up."""


@pytest.fixture
def held(world):
    """A creation that is under way, and stays so until the index heals: (process, place)."""
    world.index.hang(HELD)
    place = world.place("home")
    process = world.start(*world.create(world.old, place, "--no-verify", "--json"))
    _wait_for(lambda: (place.prefix / "pyvenv.cfg").exists() and f"GET /files/{HELD}" in world.index.requests)
    yield process, place
    world.index.heal()
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)


def _wait_for(condition, timeout_s: float = 60.0) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def _ends(processes):
    """Exit status, stdout and stderr of each."""
    said = [process.communicate(timeout=240) for process in processes]
    ended = [(process.returncode, out, err) for process, (out, err) in zip(processes, said, strict=True)]
    for code, out, err in ended:
        assert "Traceback" not in err, err
        assert json.loads(out)["ok"] is (code == 0)
    return ended


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["home", "prefix"])
def test_eight_creates_of_one_environment_make_it_once(world, kind):
    place = world.place(kind)
    ended = _ends([world.start(*world.create(world.old, place, "--no-verify", "--json")) for _ in range(8)])

    assert [code for code, _, _ in ended] == [0] * 8, ended
    assert sorted(json.loads(out)["created"] for _, out, _ in ended) == [False] * 7 + [True]
    assert len({json.loads(out)["environment"]["id"] for _, out, _ in ended}) == 1
    assert world.listed(place) == "complete"
    assert world.version_of(place.prefix) == OLD
    assert world.strays(place) == []
    assert list(world.temporary.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_mixed_creates_and_removes_leave_one_environment_or_none(world, seed):
    drawn = random.Random(seed)  # noqa: S311 - the same order each time
    place = world.place("prefix" if seed % 2 else "home")
    if seed >= 2:
        assert world.envkit(*world.create(world.old, place, "--no-verify")).code == 0
    commands = [
        *(world.create(world.old, place, "--no-verify", "--json") for _ in range(2)),
        *(world.create(world.new, place, "--no-verify", "--json") for _ in range(2)),
        *(world.create(world.new, place, "--no-verify", "--replace", "--json") for _ in range(2)),
        *(["remove", place.env, "--yes", "--json"] for _ in range(2)),
    ]
    drawn.shuffle(commands)
    processes = []
    for command in commands:
        processes.append(world.start(*command))
        time.sleep(drawn.random() * 0.3)
    ended = _ends(processes)

    assert {code for code, _, _ in ended} <= DOCUMENTED, ended
    assert 0 in {code for code, _, _ in ended}
    state = world.listed(place)
    assert state in {"complete", "absent"}
    if state == "complete":
        assert world.version_of(place.prefix) in {OLD, NEW}
    else:
        assert not place.prefix.exists()
    assert world.strays(place) == []
    assert place.ours() == []
    again = world.envkit(*world.create(world.new, place, "--no-verify", "--replace", "--json"))
    assert again.code == 0, again.told
    assert world.version_of(place.prefix) == NEW


@pytest.mark.slow
@pytest.mark.parametrize("replace", [False, True], ids=["create", "replace"])
def test_whoever_looks_meanwhile_is_told_the_truth(world, replace):
    place = world.place("home")
    if replace:
        assert world.envkit(*world.create(world.new, place, "--no-verify")).code == 0
    options = ["--json", "--engine", "pip", *(["--replace"] if replace else [])]
    process = world.start(*world.create(world.old, place, *options))
    seen = []
    while process.poll() is None:
        for command, codes in (
            (["list", "--json"], {0}),
            (["info", place.env, "--json"], {0, 9}),
            (["run", place.env, "--", "python", "-B", "-c", "import torch, marker, filler"], {0, 125}),
        ):
            done = world.run(world.argv(*command))  # started anew: a state is old soon after it was seen
            assert done.code in codes, f"{command}: {done.told}"
            assert "Traceback" not in done.err
            if command[0] == "list":
                states = [item["state"] for item in done.json["environments"]]
                seen += states
                assert set(states) <= {"complete", "incomplete"}
                assert states != ["complete"] or world.version_of(place.prefix) in {OLD, NEW, None}
    ended = _ends([process])

    assert ended[0][0] == 0, ended
    assert "incomplete" in seen
    assert world.listed(place) == "complete"
    assert world.version_of(place.prefix) == OLD


def test_nothing_calls_an_environment_ready_that_is_being_made(world, held):
    _, place = held

    assert world.listed(place) == "incomplete"
    assert world.envkit("info", place.env, "--json").json["environment"]["state"] == "incomplete"
    text = world.envkit("list").out
    assert "incomplete" in text
    run = world.envkit("run", place.env, "--", "true")
    assert run.code == 125
    assert "incomplete" in run.err
    verified = world.envkit("verify", place.env, "--json")
    assert verified.code == 8
    assert "is being made" in verified.json["error"]["message"]
    assert "Traceback" not in verified.err


def test_a_create_that_waits_says_for_whom_and_then_takes_what_is_there(world, held):
    """EK-C13 (a): one wins, the other waits; never two installers in one prefix."""
    process, place = held
    second = world.start(*world.create(world.old, place, "--no-verify", "--json"))
    time.sleep(3)
    assert second.poll() is None
    world.index.heal()
    process.send_signal(signal.SIGKILL)  # the first one dies, so that the second has to make it
    process.communicate(timeout=60)
    (code, out, err), *_ = _ends([second])

    assert code == 0, err
    assert re.search(rf"Waiting for `envkit create` \(process {process.pid} on .+, since .+\)", err)
    assert json.loads(out)["created"] is True
    assert world.version_of(place.prefix) == OLD
    assert world.strays(place) == []


def test_the_second_of_two_creates_finds_what_the_first_has_made(world, held):
    """EK-C13 (a)."""
    process, place = held
    second = world.start(*world.create(world.old, place, "--no-verify", "--json"))
    time.sleep(2)
    world.index.heal()
    # the held answer ends without a file: uv asks again, and gets it
    world.index._stop.set()
    ended = _ends([process, second])

    assert [code for code, _, _ in ended] == [0, 0], ended
    assert [json.loads(out)["created"] for _, out, _ in ended] == [True, False]
    assert f"process {process.pid}" in ended[1][2]


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["create"], id="create"),
        pytest.param(["create", "--replace"], id="replace"),
        pytest.param(["restore"], id="restore"),
        pytest.param(["remove", "demo", "--yes"], id="remove"),
    ],
)
def test_waiting_has_a_limit(world, held, words):
    """EK-C13: waiting prints what is waited for, and has a limit."""
    process, place = held
    command = words
    if words[0] in {"create", "restore"}:
        made = world.create(world.old, place, *words[1:])
        command = [words[0], *made[1:], "--no-verify"]
    start = time.monotonic()
    done = world.envkit(*command, "--lock-timeout", "2", "--json")

    assert done.code == 8, done.told
    assert time.monotonic() - start < 20
    assert done.json["error"]["type"] == "Busy"
    assert f"process {process.pid}" in done.json["error"]["message"]
    assert "Waiting for" in done.err
    assert process.poll() is None
    assert world.listed(place) == "incomplete"


@pytest.mark.parametrize("words", [["verify", "demo"], ["remove", "demo", "--yes"]], ids=["verify", "remove"])
def test_a_verification_that_goes_on_is_waited_for_no_longer_than_told(world, words):
    place = world.place("home")
    assert world.envkit(*world.create(world.old, place, "--no-verify")).code == 0
    stub = json.loads(world.variables["STUB_TORCH"]) | {"at": {"import": "hang"}}
    process = world.start("verify", "demo", env={"STUB_TORCH": json.dumps(stub)})
    _wait_for(lambda: any(str(place.prefix) in line for line in world.processes()))
    done = world.envkit(*words, "--lock-timeout", "1.5", "--json")
    running = process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)

    assert running
    assert done.code == 8, done.told
    assert f"`envkit verify` (process {process.pid}" in done.json["error"]["message"]
    assert world.version_of(place.prefix) == OLD
    assert world.envkit(*words, "--json").code == 0


def test_a_limit_of_nothing_is_no_wait(world, held):
    _, place = held
    start = time.monotonic()
    done = world.envkit(*world.create(world.old, place, "--no-verify", "--lock-timeout", "0", "--json"))
    assert done.code == 8, done.told
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("engine", ["uv", "pip"])
def test_two_creates_share_one_cache(world, engine):
    """EK-C13 (b): other environments, one cache; uv and pip lock theirs themselves."""
    places = [world.place("home", name) for name in ("one", "two", "three")]
    ended = _ends(
        [world.start(*world.create(world.old, place, "--no-verify", "--json", "--engine", engine)) for place in places]
    )

    assert [code for code, _, _ in ended] == [0, 0, 0], ended
    for place in places:
        assert world.version_of(place.prefix) == OLD
    assert world.strays(*places) == []


def test_removes_at_once_remove_once(world):
    place = world.place("prefix")
    assert world.envkit(*world.create(world.old, place, "--no-verify")).code == 0
    ended = _ends([world.start("remove", place.env, "--yes", "--json") for _ in range(4)])

    assert sorted(code for code, _, _ in ended) == [0, 9, 9, 9], ended
    assert not place.prefix.exists()
    assert world.strays() == []
