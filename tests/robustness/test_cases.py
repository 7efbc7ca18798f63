"""Cases of public reports, written out: EK-C11, EK-C12, EK-C20, EK-C24. EK-C13 is in test_parallel.py."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time

import pytest

from envkit.cli.main import COMMANDS
from tests.support.kills import DIE_AT, family
from tests.support.wheels import make_wheel
from tests.support.world import NEW, OLD, PYTHON, STUB_TORCH, TORCH, differences, entries

MARKER = "marker-1.0-py3-none-any.whl"
BIG = "big-1.0-py3-none-any.whl"


def _wait_for(condition, timeout_s: float = 60.0) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def _programs(world, *arguments) -> tuple[int, list[str]]:
    """Exit status of a command, and the programs that it started."""
    log = world.root / "steps.log"
    done = world.run([sys.executable, str(DIE_AT), "0", str(world.root), str(log), *map(str, arguments)])
    started = [line for line in log.read_text().splitlines() if line.startswith("subprocess.Popen")]
    return done.code, started


@pytest.mark.parametrize("kind", ["home", "prefix"])
def test_c11_an_environment_is_never_replaced_by_accident(world, kind):
    """EK-C11."""
    place = world.place(kind)
    assert world.envkit(*world.create(world.old, place, "--no-verify")).code == 0
    keep = place.prefix / "keep.txt"
    keep.write_text("mine")
    before = entries(world.data / "envs", world.elsewhere)

    plain = world.envkit(*world.create(world.new, place, "--no-verify", "--json"))
    dry = world.envkit(*world.create(world.new, place, "--no-verify", "--dry-run"))
    dry_yes = world.envkit(*world.create(world.new, place, "--no-verify", "--dry-run", "--yes"))
    _, started = _programs(world, *world.create(world.new, place, "--no-verify", "--dry-run", "--replace"))
    same = world.envkit(*world.create(world.old, place, "--no-verify", "--json"))

    assert plain.code == dry.code == dry_yes.code == 11
    assert str(place.prefix) in plain.json["error"]["message"]
    assert "--replace" in plain.json["error"]["hint"]
    assert not [line for line in started if "/uv'" in line or "pip" in line], started
    assert same.code == 0
    assert same.json["created"] is False
    assert differences(before, entries(world.data / "envs", world.elsewhere)) == []

    replaced = world.envkit(*world.create(world.new, place, "--no-verify", "--replace", "--json"))
    assert replaced.code == 0, replaced.told
    assert not keep.exists()
    assert world.version_of(place.prefix) == NEW


@pytest.mark.parametrize("content", ["thesis.tex", "pyvenv.cfg", "bin/python", "conda-meta/history"])
def test_c11_a_directory_that_is_no_environment_is_refused_with_replace_too(world, content):
    """EK-C11: the last of its musts."""
    place = world.place("prefix")
    (place.prefix / content).parent.mkdir(parents=True)
    (place.prefix / content).write_text("mine")
    before = entries(world.elsewhere)

    for options in ([], ["--replace"], ["--replace", "--yes"], ["--replace", "--force"]):
        done = world.envkit(*world.create(world.old, place, "--no-verify", "--json", *options))
        assert done.code == 11, done.told
        assert str(place.prefix) in done.json["error"]["message"]
    assert differences(before, entries(world.elsewhere)) == []


@pytest.fixture
def half_made(world):
    """A creation whose installer is in the middle: (process, place)."""
    world.index.hang(MARKER)
    place = world.place("home")
    process = world.start(*world.create(world.old, place, "--no-verify", "--json"))
    _wait_for(lambda: (place.prefix / "pyvenv.cfg").exists() and f"GET /files/{MARKER}" in world.index.requests)
    yield process, place
    world.index.heal()
    if process.poll() is None:
        process.kill()
    process.communicate(timeout=60)


def test_c12_sigint_stops_the_installer_too(world, half_made):
    """EK-C12: SIGINT, to envkit alone as `kill -INT` does; a terminal sends it to the group."""
    process, place = half_made
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)

    assert process.returncode == 130
    _wait_for(lambda: not world.processes(), 2)
    assert not place.prefix.exists()
    assert world.listed(place) == "absent"
    assert world.strays() == []
    world.index.heal()
    again = world.envkit(*world.create(world.old, place, "--no-verify", "--json"))
    assert again.code == 0, again.told
    assert world.version_of(place.prefix) == OLD


def test_c12_sigint_from_a_terminal(world, half_made):
    """EK-C12: Ctrl-C goes to the whole foreground group."""
    process, place = half_made
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=30)

    assert process.returncode == 130
    _wait_for(lambda: not world.processes(), 2)
    assert not place.prefix.exists()
    assert world.strays() == []


def _kill_all(process) -> None:
    for pid in family(process.pid):
        os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=30)


def test_c12_sigkill_of_the_whole_group(world, half_made):
    """EK-C12: never shown as ready; create again succeeds, and lock files that are left do not block it."""
    process, place = half_made
    _kill_all(process)
    world.index.heal()

    assert world.listed(place) == "incomplete"
    assert "incomplete" in world.envkit("list").out
    info = world.envkit("info", place.env)
    assert info.code == 0
    assert "incomplete" in info.out
    assert "activate" not in info.out
    for words in (["run", place.env, "--", "true"], ["shell", place.env]):
        done = world.envkit(*words)
        assert done.code in {6, 125}, done.told
        assert "incomplete" in done.err
    assert list((world.data / "locks").glob("*.lock")), "the killed process leaves its lock file"
    start = time.monotonic()
    again = world.envkit(*world.create(world.old, place, "--no-verify", "--json"))
    assert again.code == 0, again.told
    assert "Waiting" not in again.err
    assert time.monotonic() - start < 30
    assert world.listed(place) == "complete"
    assert world.version_of(place.prefix) == OLD
    assert world.strays(place) == []


@pytest.mark.skipif("doctor" not in COMMANDS, reason="this envkit has no command doctor yet")
def test_c12_doctor_names_the_environment_that_is_incomplete(world, half_made):
    """EK-C12: doctor too shows it as incomplete."""
    process, place = half_made
    _kill_all(process)

    for words in (["doctor", place.env, "--json"], ["doctor", "--json"]):
        done = world.envkit(*words)
        found = [item for item in done.json["findings"] if place.prefix.name in json.dumps(item)]
        assert found, done.out
        assert any("incomplete" in f"{item['id']} {item['message']} {item['why']}" for item in found)
        assert done.code == (6 if any(item["severity"] == "error" for item in done.json["findings"]) else 0)
    world.index.heal()
    assert world.envkit(*world.create(world.old, place, "--no-verify")).code == 0


@pytest.fixture
def big(world):
    """A lock with a wheel of 400 kB, which does not fit into one answer's buffer: (lock, its size)."""
    data = random.Random(1).randbytes(400_000)  # noqa: S311 - the same bytes each time
    wheel = make_wheel(world.index.folder, "big", "1.0", files={"big/data.bin": data})
    return world.write_lock("big", {"marker": NEW}), wheel.stat().st_size


def _nothing_is_left(world, place, before, house) -> None:
    """After a download that failed: the environment that was there is unchanged, or none is."""
    if before is None:
        assert world.listed(place) in {"absent", "incomplete"}
    else:
        assert world.listed(place) == "complete"
        assert differences(before, entries(place.prefix)) == []
        assert world.version_of(place.prefix) == OLD
    assert list(house.iterdir()) == []
    assert world.strays(place) == []


def _restore(world, lock, place, house, engine, *options):
    words = world.create(lock, place, "--no-verify", "--json", "--engine", engine, "--wheelhouse", str(house), *options)
    return world.envkit("restore", *words[1:])


@pytest.fixture(params=[False, True], ids=["new", "replace"])
def target(request, world):
    """Where it is restored to: (place, what is there, options); a good environment of that name, or none."""
    place = world.place("home")
    if not request.param:
        return place, None, ()
    assert world.envkit(*world.create(world.old, place, "--no-verify")).code == 0
    return place, entries(place.prefix), ("--replace",)


@pytest.fixture
def house(world):
    """An empty wheelhouse."""
    folder = world.root / "house"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("ranges", [True, False], ids=["resumable", "not-resumable"])
@pytest.mark.parametrize("engine", ["uv", "pip"])
def test_c20_an_answer_that_is_cut_once_is_asked_for_again(world, big, house, engine, ranges):
    """EK-C20 (a)."""
    lock, size = big
    place = world.place("home")
    world.index.with_ranges = ranges
    world.index.cut(BIG, size // 2, times=1)
    done = _restore(world, lock, place, house, engine)

    assert done.code == 0, done.told
    assert len([line for line in world.index.requests if BIG in line]) >= 2
    assert world.version_of(place.prefix) == NEW


def _sizes(size: int) -> list[str]:
    """Ways to write a size."""
    shown = [str(size), f"{size:,}", f"{size / 1e3:.0f} kB", f"{size / 1e3:.1f} kB", f"{size / 1e6:.1f} MB"]
    return [*shown, f"{size / 1e6:.2f} MB", f"{size / 1024:.0f} KiB", f"{size / 1024:.1f} KiB", f"{size // 1000} kB"]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["uv", "pip"])
def test_c20_an_answer_that_is_always_cut_is_an_incomplete_download(world, big, house, target, engine):
    """EK-C20 (b)."""
    lock, size = big
    place, before, options = target
    world.index.cut(BIG, size // 2)
    done = _restore(world, lock, place, house, engine, *options)

    assert done.code == 5, done.told
    error = done.json["error"]
    told = f"{error['message']} {error['why']}"
    assert error["type"] == "Download", told
    assert "incomplete" in error["message"].lower(), told
    assert BIG in told
    assert "hash" not in told.lower()
    assert any(word in told for word in _sizes(size)), told
    assert any(word in told for word in _sizes(size // 2)), told
    _nothing_is_left(world, place, before, house)
    world.index.heal()
    again = _restore(world, lock, place, house, engine, *options)
    assert again.code == 0, again.told
    assert world.version_of(place.prefix) == NEW


@pytest.mark.parametrize("content", ["wheel", "page", "empty"])
@pytest.mark.parametrize("engine", ["uv", "pip"])
def test_c20_a_whole_file_with_other_content_is_a_hash_mismatch(world, big, house, target, engine, content):
    """EK-C20 (c): another wheel, the page of a proxy that asks for a password, or next to nothing."""
    lock, _ = big
    place, before, options = target
    other = make_wheel(world.root / "other", "big", "1.0", files={"big/data.bin": "other"})
    served = {"wheel": other.read_bytes(), "page": b"<html><body>Please log in</body></html>" * 50, "empty": b"\n"}
    world.index.replace(BIG, served[content])
    done = _restore(world, lock, place, house, engine, *options)

    assert done.code == 5, done.told
    error = done.json["error"]
    told = f"{error['message']} {error['why']}"
    locked = json.loads(lock.read_text())["platforms"]["linux-64"]["packages"]
    expected = next(item["sha256"] for item in locked if item["name"] == "big")
    got = hashlib.sha256(served[content]).hexdigest()
    assert error["type"] == "Download", told
    assert "hash mismatch" in told.lower(), told
    assert expected in told, told
    assert got in told, told
    assert world.index.url in told, told
    assert len([line for line in world.index.requests if BIG in line]) <= 10
    _nothing_is_left(world, place, before, house)
    world.index.heal()
    again = _restore(world, lock, place, house, engine, *options)
    assert again.code == 0, again.told


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="about a machine without a GPU and its driver")
@pytest.mark.parametrize("engine", ["uv", "pip"])
def test_c24_a_gpu_environment_made_where_no_gpu_is(world, engine):
    """EK-C24, with a virtual environment: the part about conda waits for that backend."""
    version = TORCH.replace("+cpu", "+cu113")
    stub = {f"torch/{path.name}": path.read_bytes() for path in (STUB_TORCH / "torch").glob("*.py")}
    make_wheel(world.index.folder, "torch", version, files=stub)
    needs = {"driver": {"minimum": "450.80.02", "toolkit": "465.19.01", "known": "confirmed"}}
    lock = world.write_lock("gpu", {"torch": version, "marker": OLD}, without={"filler"}, cuda="11.3", needs=needs)
    behaviour = {"STUB_TORCH": json.dumps({"version": version, "cuda": "11.3"}), "CUDA_VISIBLE_DEVICES": "0"}
    plain, stated = world.place("home", "plain"), world.place("home", "stated")

    for place, options in ((plain, ()), (stated, ("--cuda", "11.3"))):
        words = world.create(lock, place, "--json", "--engine", engine, *options)
        done = world.envkit(*words, env=behaviour)
        assert done.code == 0, done.told
        assert done.json["environment"]["build_cuda"] == "11.3"
        assert done.json["environment"]["verified_at"] is None
        assert done.json["verify"]["verified"] is False
        assert done.json["snapshot"] is None
        site = place.prefix / "lib" / f"python{PYTHON}" / "site-packages"
        assert [path.name for path in site.glob("torch-*.dist-info")] == [f"torch-{version}.dist-info"]
        if place is plain:  # told what is missing, and how to state the target
            assert "No NVIDIA driver" in done.err
            assert "--cuda" in done.err
        else:
            assert "No NVIDIA driver" not in done.err
    text = world.envkit(*world.create(lock, world.place("home", "third"), "--engine", engine), env=behaviour)
    assert text.code == 0
    assert "created, not verified" in text.out
    assert "not verified" in world.envkit("list").out
    verify = world.envkit("verify", "plain", "--json", env=behaviour)
    assert verify.code == 10
    assert verify.json["error"]["type"] == "NotVerifiable"
    assert verify.json["snapshot"] is None
    assert [layer["status"] for layer in verify.json["layers"]][:2] == ["pass", "skip"]
    assert world.envkit("snapshot", "list", "plain", "--json").json["snapshots"] == []
