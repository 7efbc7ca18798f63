"""Kill envkit at many moments, and see whether everything comes right: ``python tests/robustness/campaign.py --help``.

After each kill ``list`` must tell the truth, the old environment or the new one must be had, the next command must
succeed, and nothing outside the prefix, envkit's data folder and the caches may have changed. Whatever else is a loss.
"""

# ruff: noqa: T201 - a script that prints

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support.kills import KEEP, OPERATIONS, Killer, Moment, draw
from tests.support.world import KINDS, NEW, OLD, Done, Place, World, differences, entries, make_world, remove

SEED = 20261201
SHARES = {"create": 0.5, "replace": 0.25, "remove": 0.25}
"""How the moments of a campaign over all operations are shared out."""
_ROW = "{:10} {:>8} {:>10} {:>10} {:>7} {:>8} {:>9}"


@dataclass
class Outcome:
    """What became of one moment.

    Attributes:
        moment: as it was in the end, after redraws.
        listed: what ``list`` said right after the kill, and the version that worked.
        cleaned: whether the next command had something to put right.
        losses: what was wrong.
        temporary: entries left in TMPDIR, which a killed program cannot take along.
    """

    moment: Moment
    listed: str = ""
    cleaned: bool = False
    losses: list[str] = field(default_factory=list)
    temporary: int = 0


class Campaign:
    """Moments in one world, with neighbours that are compared before and after."""

    def __init__(self, world: World) -> None:
        self.world, self.killer = world, Killer(world)
        self._make_neighbours()
        of_conda = () if world.kind == "venv" else (world.envs, world.envs.parent)
        self._folders = (world.home, world.project, world.elsewhere, world.data / "envs", *of_conda)
        self._places = [world.place("home"), world.place("prefix")]
        self._before = self._sentinel()

    def _make_neighbours(self) -> None:
        world = self.world
        (world.home / ".bashrc").write_text("# mine\n")
        (world.home / "thesis").mkdir()
        (world.home / "thesis" / "chapter.tex").write_text("mine")
        (world.project / "train.py").write_text("print(1)\n")
        for name in ("demo2", ".demo", "demo.bak", "dem"):
            (world.elsewhere / name).mkdir()
            (world.elsewhere / name / "data").write_text(name)
        world.hidden.add(world.elsewhere / ".demo")
        (world.elsewhere / "link").symlink_to(world.elsewhere / "demo2")
        for place in (world.place("home", "neighbour"), world.place("prefix", "next door")):
            done = world.envkit(*world.create(world.tiny, place, "--no-verify"))
            assert done.code == 0, done.told

    def _sentinel(self) -> dict[str, tuple[int, int, str]]:
        own = [path for place in self._places for path in _own(place)]
        own.append(self.world.home / ".conda" / "environments.txt")  # looked at line by line
        return entries(*self._folders, but=own)

    def run(self, moment: Moment) -> Outcome:
        """Kill once, and judge."""
        remove(self.world.temporary)
        self.world.temporary.mkdir()
        outcome = Outcome(self.killer.kill(moment))
        try:
            self._judge(outcome)
        except AssertionError as error:
            outcome.losses.append(str(error))
        outcome.temporary = len(list(self.world.temporary.iterdir()))
        return outcome

    def _judge(self, outcome: Outcome) -> None:
        world, moment = self.world, outcome.moment
        place = world.place(moment.place)
        self._no_process_is_left(outcome)
        state = world.listed(place)
        version = world.version_of(place.prefix)
        outcome.listed = f"{state}{f' {version}' if version else ''}"
        outcome.cleaned = state == "incomplete" or bool(place.ours()) or bool(world.strays(place))
        outcome.losses += _lies(state, version, moment, place)
        used = world.envkit("run", place.env, "--", "python", "-B", "-c", "import marker; print(marker.__version__)")
        if moment.operation == "replace" and state == "incomplete" and used.code == 0:  # it was put back to be used
            state, version = world.listed(place), world.version_of(place.prefix)
            outcome.losses += [] if (state, version) == ("complete", OLD) else [f"put back as {state} {version}"]
            outcome.losses += _lies(state, version, moment, place)
        elif used.code != (0 if state == "complete" else 125):
            outcome.losses.append(f"run ended with {used.code} while list said {state}: {used.told}")
        self._go_on(outcome, state, version)
        strays = [*world.strays(place), *place.ours()]
        if strays:
            outcome.losses.append(f"left behind: {', '.join(strays)}")
        if world.kind != "venv":
            outcome.losses += self._lies_of_conda(place)
        changed = differences(self._before, self._sentinel(), times_of=map(str, self._folders))
        if changed:
            outcome.losses.append(f"changed outside: {', '.join(changed)}")

    def _lies_of_conda(self, place: Place) -> list[str]:
        """What is not true in conda's own list."""
        expected = {
            str(self.world.place("home", "neighbour").prefix),
            str(self.world.place("prefix", "next door").prefix),
        }
        expected |= {str(place.prefix)} if self.world.listed(place) == "complete" else set()
        lines = self.world.conda_list()
        return [] if sorted(lines) == sorted(expected) else [f"conda's list is {lines}, not {sorted(expected)}"]

    def _no_process_is_left(self, outcome: Outcome) -> None:
        end = time.monotonic() + 1
        while (left := self.world.processes()) and time.monotonic() < end:
            time.sleep(0.02)
        if left:
            outcome.losses.append(f"still running: {left[0]}")

    def _go_on(self, outcome: Outcome, state: str, version: str | None) -> None:
        """The next command succeeds, and what it says is so."""
        world, moment = self.world, outcome.moment
        place = world.place(moment.place)
        if moment.then == "again":
            done = world.envkit(*self.killer.command(moment))
            _succeeds(done, (0, 9) if moment.operation == "remove" and state == "absent" else (0,))
            expected = {"create": OLD, "replace": NEW, "remove": None}[moment.operation]
        elif moment.operation == "create":
            done = world.envkit("remove", place.env, "--yes", "--json")
            _succeeds(done, (9,) if state == "absent" else (0,))
            expected = None
        else:  # the old one comes back, or is made again; where the new one stands already, it is not touched
            stands = state == "complete" and version == NEW
            done = world.envkit(*world.create(world.old, place, "--no-verify", "--json"))
            _succeeds(done, (11,) if stands else (0,))
            expected = NEW if stands else OLD
            was_there = moment.operation == "replace" or state == "complete"
            if expected == OLD and was_there and not (place.prefix / KEEP).exists():
                outcome.losses.append(f"the user's {KEEP} is gone")
            if expected == OLD and was_there and done.json["created"]:
                outcome.losses.append("the old environment was made again, not put back")
        if expected is None:
            gone = not place.prefix.exists() or (moment.folder and not any(place.prefix.iterdir()))
            outcome.losses += [] if gone else [f"{place.prefix} is still there"]
            outcome.losses += [] if world.listed(place) == "absent" else ["list still shows it"]
            return
        found = world.version_of(place.prefix)
        if found != expected or world.listed(place) != "complete":
            outcome.losses.append(f"after the next command it is {world.listed(place)} {found}, not {expected}")


def _own(place: Place) -> list[Path]:
    return [place.prefix, *(place.prefix.parent / name for name in place.ours())]


def _succeeds(done: Done, codes: tuple[int, ...]) -> None:
    assert done.code in codes, f"the next command ended with {done.code}: {done.told}"
    assert "Traceback" not in done.err, done.err


def _lies(state: str, version: str | None, moment: Moment, place: Place) -> list[str]:
    """What is not true of the state that ``list`` gives."""
    lies = []
    if state == "complete" and version is None:
        lies.append("list says complete, but it does not work")
    if state == "broken":
        lies.append("list says broken")
    if state == "absent" and place.prefix.exists() and any(place.prefix.iterdir()):
        lies.append(f"list says nothing, but something is at {place.prefix}")
    if moment.operation == "replace" and state == "absent":
        lies.append("list does not know the environment that was to be replaced")
    if version == OLD and moment.operation != "create" and state == "complete" and not (place.prefix / KEEP).exists():
        lies.append(f"the old environment is there without {KEEP}")
    return lies


def main() -> int:
    """Run the campaign; 1 when something was lost."""
    parser = argparse.ArgumentParser(description="Kill envkit at many moments.")
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--operation", choices=[*OPERATIONS, "all"], default="all")
    parser.add_argument("--kind", choices=KINDS, default="venv")
    parser.add_argument("--keep", action="store_true", help="keep the scratch folder")
    parser.add_argument("--verbose", "-v", action="store_true")
    options = parser.parse_args()
    shares = SHARES if options.operation == "all" else {options.operation: 1.0}
    root = Path(tempfile.mkdtemp(prefix="envkit-campaign-")).resolve()
    lost = 0
    try:
        with make_world(root, kind=options.kind) as world:
            campaign = Campaign(world)
            rows = []
            for operation, share in shares.items():
                moments = draw(random.Random(f"{options.seed} {operation}"), operation, round(options.moments * share))  # noqa: S311
                campaign.killer.redraws = 0
                outcomes = [_told(campaign.run(moment), verbose=options.verbose) for moment in moments]
                losses = sum(bool(outcome.losses) for outcome in outcomes)
                cleaned = sum(outcome.cleaned for outcome in outcomes)
                left = sum(outcome.temporary for outcome in outcomes)
                rows.append(
                    (operation, len(outcomes), len(outcomes) - losses, cleaned, losses, campaign.killer.redraws, left)
                )
                lost += losses
    finally:
        if options.keep:
            print(f"kept: {root}")
        else:
            shutil.rmtree(root, ignore_errors=True)
    print(_ROW.format("operation", "moments", "recoveries", "cleaned up", "losses", "redraws", "in TMPDIR"))
    for row in rows:
        print(_ROW.format(*row))
    print(f"Each run was killed in the act (SIGKILL, not done); seed {options.seed}.")
    return 1 if lost else 0


def _told(outcome: Outcome, *, verbose: bool) -> Outcome:
    if verbose or outcome.losses:
        print(f"{outcome.moment}: {outcome.listed}{'; cleaned up' if outcome.cleaned else ''}")
        for loss in outcome.losses:
            print(f"      LOSS {loss}")
        sys.stdout.flush()
    return outcome


if __name__ == "__main__":
    sys.exit(main())
