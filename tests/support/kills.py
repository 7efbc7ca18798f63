"""Killing envkit in the act, at moments that are drawn from a seed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.world import PYTHON, Place, World, remove

if TYPE_CHECKING:
    from random import Random

DIE_AT = Path(__file__).with_name("die_at.py")
OPERATIONS = ("create", "replace", "remove")
SIGHTS = {"create": ("journal", "record"), "replace": ("journal", "aside", "record"), "remove": ("journal", "aside")}
"""What can be seen beside or in the prefix while an operation goes on."""
REDRAWS = 8
KEEP = "keep.txt"


@dataclass(frozen=True)
class Moment:
    """When and how one run is killed.

    Attributes:
        number: 1, 2, ...
        operation: what is killed.
        place: "home" or "prefix".
        kind: "time" (share of an undisturbed run), "files" (share of the files that are there, or gone), "sight" (as
            soon as something of ``SIGHTS`` is seen), "step" (right before a change of a file that envkit itself makes).
        share: 0 to 1; where in the run.
        whole: whether all its processes are killed, not envkit's alone.
        engine: "uv" or "pip".
        verify: whether a verification belongs to the run.
        cold: whether uv's cache is empty.
        folder: whether an empty folder is at the place of a new environment.
        twice: at which change of a file the next command is killed too, while it puts things right; 0 for not.
        then: the command that comes next: "again", "other".
    """

    number: int
    operation: str
    place: str
    kind: str
    share: float
    whole: bool
    engine: str
    verify: bool
    cold: bool
    folder: bool
    twice: int
    then: str

    def __str__(self) -> str:
        marks = [self.engine, *(name for name in ("verify", "cold", "folder", "whole") if getattr(self, name))]
        words = f"{self.number:3} {self.operation} in {self.place}, {self.kind} {self.share:.3f}"
        twice = f", then killed at change {self.twice}" if self.twice else ""
        return f"{words} ({' '.join(marks)}){twice}, then {self.then}"

    @property
    def like(self) -> tuple[object, ...]:
        """What runs have in common that last equally long."""
        return self.operation, self.engine, self.verify, self.cold


def draw(random: Random, operation: str, count: int, *, plain: bool = False) -> list[Moment]:
    """Moments spread over an operation; the same for the same seed.

    Args:
        random: decides.
        operation: of ``OPERATIONS``.
        count: how many.
        plain: whether all are of the quickest kind, which needs one measurement: by uv, from a warm cache, unverified.
    """
    moments = []
    for number in range(count):
        kind = ("time", "step", "files", "step", "time", "sight", "step")[number % 7]
        makes = operation != "remove" and not plain
        moments.append(
            Moment(
                number=number + 1,
                operation=operation,
                place="prefix" if random.random() < 1 / 3 else "home",
                kind=kind,
                share=(number + random.random()) / count if kind == "time" else random.random(),
                whole=random.random() < 0.5,
                engine="pip" if makes and random.random() < 0.15 else "uv",
                verify=makes and random.random() < 0.3,
                cold=makes and random.random() < 0.25,
                folder=operation == "create" and random.random() < 0.3,
                twice=random.randint(4, 16 if operation == "remove" else 30) if random.random() < 0.25 else 0,
                then="again" if random.random() < 0.5 else "other",
            )
        )
    return moments


class Killer:
    """Prepares a world for each moment, starts the command, and kills it in the act."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.redraws = 0
        self._prepared: dict[str, Path] = {}
        self._lasts: dict[tuple[object, ...], float] = {}
        self._steps: dict[tuple[object, ...], list[str]] = {}

    def command(self, moment: Moment) -> list[str]:
        """What is killed."""
        place = self.world.place(moment.place)
        if moment.operation == "remove":
            return ["remove", place.env, "--yes", "--json"]
        options = ["--json", "--engine", moment.engine, *([] if moment.verify else ["--no-verify"])]
        if moment.operation == "create":
            return self.world.create(self.world.old, place, *options)
        return self.world.create(self.world.new, place, "--replace", *options)

    def prepare(self, moment: Moment) -> None:
        """Put things as they are before it: nothing there, or the old environment with a file of the user's."""
        world, place = self.world, self.world.place(moment.place)
        for kind in ("home", "prefix"):
            self.clear(world.place(kind))
        if moment.cold:
            for name in ("uv", "rattler"):
                remove(world.cache / name)
        if moment.operation == "create":
            if moment.folder:
                place.prefix.mkdir(mode=0o700)
            return
        prepared = self._prepared.get(moment.place)
        if prepared is None:
            done = world.envkit(*world.create(world.old, place, "--no-verify"))
            assert done.code == 0, done.told
            (place.prefix / KEEP).write_text("mine")
            prepared = self._prepared[moment.place] = world.root / f"prepared-{moment.place}"
        else:
            place.prefix.parent.mkdir(exist_ok=True)
        if prepared.exists():
            _copy(prepared, place.prefix)
        else:
            _copy(place.prefix, prepared)
        self._make_known(place)

    def _make_known(self, place: Place) -> None:
        """Write the prefix into envkit's list and conda's, as its creation does."""
        if self.world.kind != "venv":
            self.world.write_conda_list([*self.world.conda_list(), str(place.prefix)])
        known = self.world.data / "prefixes.txt"
        text = known.read_text() if known.exists() else ""
        if place.prefix.parent != self.world.data / "envs" and f"{place.prefix}\n" not in text:
            known.write_text(f"{text}{place.prefix}\n")

    def clear(self, place: Place) -> None:
        """Nothing of the environment under test is left."""
        remove(place.prefix)
        for name in place.ours():
            remove(place.prefix.parent / name)
        for name in self.world.strays():
            remove(self.world.root / name)
        for folder in (self.world.data / "snapshots").glob(f"{place.prefix.name}-*"):
            remove(folder)
        if self.world.kind != "venv":
            self.world.write_conda_list([line for line in self.world.conda_list() if line != str(place.prefix)])
        known = self.world.data / "prefixes.txt"
        if known.is_file():
            lines = [line for line in known.read_text().splitlines() if line != str(place.prefix)]
            known.write_text("".join(f"{line}\n" for line in lines))

    def kill(self, moment: Moment) -> Moment:
        """Kill the command of ``moment`` in the act; when it was done before, again, earlier, in the end by step."""
        for count in range(REDRAWS):
            self._measure(moment)
            self.prepare(moment)
            if self._killed(moment):
                if moment.twice:  # while it puts things right, unless there is little to put right
                    done = self.world.run(self._dying(moment.twice, self.command(moment)))
                    assert done.code in {-signal.SIGKILL, 0, 9}, done.told
                return moment
            self.redraws += 1
            earlier = "step" if count >= REDRAWS // 2 or moment.kind == "step" else "time"
            moment = replace(moment, share=moment.share * 0.7, kind=earlier)
        message = f"was never killed in the act: {moment}"
        raise AssertionError(message)

    def _killed(self, moment: Moment) -> bool:
        place, arguments = self.world.place(moment.place), self.command(moment)
        if moment.kind == "step":
            return self._killed_at_step(moment, arguments)
        process = self.world.start(*arguments)
        hit = self._wait(moment, place, process)
        members = family(process.pid) if moment.whole else [process.pid]
        for pid in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        out, _ = process.communicate(timeout=60)
        return hit and process.returncode == -signal.SIGKILL and not out.strip()

    def _killed_at_step(self, moment: Moment, arguments: list[str]) -> bool:
        """envkit kills itself: no signal from outside comes as exactly."""
        steps = self._steps[moment.like]
        telling = [number for number, step in enumerate(steps, 1) if step.split(" ", 1)[1].startswith(("/", "["))]
        number = telling[int(moment.share * len(telling))]
        done = self.world.run(self._dying(number, arguments))
        return done.code == -signal.SIGKILL and not done.out.strip()

    def _dying(self, number: int, arguments: list[str]) -> list[str]:
        log = self.world.root / "steps.log"
        return [sys.executable, str(DIE_AT), str(number), str(self.world.root), str(log), *arguments]

    def _measure(self, moment: Moment) -> None:
        """How long the act lasts when nobody disturbs it, and the changes that envkit makes in it."""
        if moment.like in (self._steps if moment.kind == "step" else self._lasts):
            return
        self.prepare(moment)
        if moment.kind == "step":
            done = self.world.run(self._dying(0, self.command(moment)))
            assert done.code == 0, done.told
            self._steps[moment.like] = (self.world.root / "steps.log").read_text().splitlines()
            return
        process = self.world.start(*self.command(moment))
        _until(lambda: _has_begun(moment, self.world.place(moment.place)), process)
        begun = time.monotonic()
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, out + err
        self._lasts[moment.like] = time.monotonic() - begun

    def _wait(self, moment: Moment, place: Place, process: subprocess.Popen[str]) -> bool:
        """Wait for the moment; false when the command ended before."""
        if moment.kind == "time":
            if not _until(lambda: _has_begun(moment, place), process):
                return False
            time.sleep(moment.share * self._lasts[moment.like])
            return process.poll() is None
        if moment.kind == "files":
            goal = int(moment.share * self.world.files)
            if moment.operation == "remove":
                left = self.world.files - goal
                return _until(lambda: _has_begun(moment, place) and _files_aside(place) <= left, process)
            return _until(lambda: _has_begun(moment, place) and _files_in(place.prefix) >= goal, process)
        sights = SIGHTS[moment.operation]
        sight = sights[int(moment.share * len(sights))]
        return _until(lambda: _is_seen(sight, place), process)


def _copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)


def _until(condition, process: subprocess.Popen[str]) -> bool:
    """Wait for ``condition`` as long as the process runs."""
    while not condition():
        if process.poll() is not None:
            return False
        time.sleep(0.0005)
    return True


def _has_begun(moment: Moment, place: Place) -> bool:
    return _is_seen("journal", place)


def _is_seen(sight: str, place: Place) -> bool:
    if sight == "record":  # of the new one, where there was an old one
        record = place.prefix / ".envkit" / "environment.json"
        return record.exists() and not (place.prefix / KEEP).exists()
    words = {"journal": ("journal",), "aside": ("envkit-old", "envkit-gone")}[sight]
    own = [name for name in place.ours() if not name.startswith("..")]  # those are files that are still being written
    return any(word in name for name in own for word in words)


def _files_in(prefix: Path, *, of_aside: bool = False) -> int:
    if not of_aside and (prefix / KEEP).exists():  # still the old environment
        return 0
    try:
        return len(os.listdir(prefix / "lib" / f"python{PYTHON}" / "site-packages" / "filler"))
    except OSError:
        return 0


def _files_aside(place: Place) -> int:
    """Files that are left in the folder that is being deleted."""
    for name in place.ours():
        if "envkit-gone" in name:
            return _files_in(place.prefix.parent / name, of_aside=True)
    return sys.maxsize


def family(pid: int) -> list[int]:
    """A process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(entry.name))
    found = [pid]
    for member in found:
        found += children.get(member, [])
    return found
