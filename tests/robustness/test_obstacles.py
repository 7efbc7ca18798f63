"""A folder where envkit wants a file, a file where it wants a folder: documented exits, nothing lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.world import NEW, OLD, differences, entries, remove

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTED = {0, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 125}
OF_ENVKIT = {
    "data-file": (".", "file"),
    "envs-file": ("envs", "file"),
    "locks-file": ("locks", "file"),
    "snapshots-file": ("snapshots", "file"),
    "snapshots-of-demo-file": ("snapshots/demo-*", "file"),
    "logs-file": ("logs", "file"),
    "cache-file": ("cache", "file"),
    "hashes-folder": ("cache/hashes.json", "folder"),
    "prefixes-folder": ("prefixes.txt", "folder"),
    "prefixes-lock-folder": ("locks/prefixes.lock", "folder"),
    "trusted-folder": ("trusted-sources.json", "folder"),
    "lock-folder": ("locks/demo-*.lock", "folder"),
    "holder-folder": ("locks/demo-*.json", "folder"),
    "journal-folder": ("envs/.demo.envkit-journal.json", "folder"),
}
"""By name: a place in ENVKIT_HOME, and what is put there."""
OF_THE_PREFIX = {
    "prefix-file": (".", "file"),
    "envkit-file": (".envkit", "file"),
    "record-folder": (".envkit/environment.json", "folder"),
    "own-lock-folder": (".envkit/lock.yaml", "folder"),
    "snapshot-file": (".envkit/snapshot", "file"),
    "requirements-folder": ("requirements-lock.txt", "folder"),
    "check-folder": ("check_env.py", "folder"),
    "configuration-folder": ("pyvenv.cfg", "folder"),
    "programs-file": ("bin", "file"),
    "python-folder": ("bin/python", "folder"),
    "activate-folder": ("bin/activate", "folder"),
    "hooks-file": ("etc/conda/activate.d", "file"),
    "packages-file": ("lib/python*/site-packages", "file"),
    "record-loop": (".envkit/environment.json", "loop"),
    "folder-loop": (".envkit", "loop"),
}
"""By name: a place in an environment, and what is put there instead of what it holds."""


def _put(folder: Path, pattern: str, what: str) -> Path:
    """Put an obstacle at a place; a pattern stands for the one that exists."""
    found = list(folder.glob(pattern)) if "*" in pattern else []
    path = found[0] if found else folder / pattern
    remove(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if what == "folder":
        path.mkdir()
        (path / "in the way").write_text("mine")
    elif what == "loop":
        path.symlink_to(path)
    else:
        path.write_text("in the way")
    return path


def _looks(place) -> list[list[str]]:
    """Commands that only look."""
    return [
        ["list", "--json"],
        ["info", place.env, "--json"],
        ["run", place.env, "--", "true"],
        ["verify", place.env, "--json"],
        ["snapshot", "list", place.env, "--json"],
        ["snapshot", "take", place.env, "--json"],
        ["hooks", "show", place.env, "--json"],
    ]


def _tell(world, commands) -> tuple[list[str], dict[str, int]]:
    """What is wrong with how the commands end, and their exit statuses."""
    wrong, codes = [], {}
    for command in commands:
        done = world.envkit(*command)
        words = " ".join(command[:2])
        codes[words] = done.code
        if done.code not in DOCUMENTED or "Traceback" in done.err:
            wrong.append(f"{words}: exit {done.code}: {done.told}")
        if "--json" in command and done.out:
            told = json.loads(done.out)
            if told["ok"] is not (done.code == 0) or (done.code and not told["error"]["message"]):
                wrong.append(f"{words}: {done.out}")
    return wrong, codes


@pytest.mark.parametrize(("pattern", "what"), OF_ENVKIT.values(), ids=OF_ENVKIT)
def test_an_obstacle_in_envkits_folder(world, pattern, what):
    place = world.place("prefix" if "prefixes" in pattern or pattern == "locks" else "home")
    other = world.place("prefix", "other")
    for made in (place, other):
        assert world.envkit(*world.create(world.old, made, "--no-verify")).code == 0
    assert world.envkit("remove", place.env, "--yes").code == 0
    if pattern == ".":
        remove(world.data)
    obstacle = _put(world.data, pattern, what) if pattern != "." else world.data
    if pattern == ".":
        obstacle.write_text("in the way")
    before = entries(other.prefix, world.home, world.project)
    seen = entries(obstacle) or obstacle.read_bytes()

    wrong, codes = _tell(world, [world.create(world.old, place, "--no-verify", "--json"), *_looks(place)])
    assert not wrong, "\n".join(wrong)
    assert codes[f"create {world.old}"] in {0, 8, 12}
    if codes[f"create {world.old}"] == 0:
        wrong, codes = _tell(world, [["remove", place.env, "--yes", "--json"]])
        assert not wrong, "\n".join(wrong)
    assert (entries(obstacle) or obstacle.read_bytes()) == seen, "what was in the way is gone"
    assert differences(before, entries(other.prefix, world.home, world.project)) == []

    remove(obstacle)
    again = world.envkit(*world.create(world.old, place, "--no-verify", "--json"))
    assert again.code == 0, again.told
    assert world.version_of(place.prefix) == OLD
    assert world.strays(place) == []


@pytest.mark.parametrize(("pattern", "what"), OF_THE_PREFIX.values(), ids=OF_THE_PREFIX)
def test_an_obstacle_in_an_environment(world, pattern, what):
    place, other = world.place("home"), world.place("home", "other")
    for made in (place, other):
        assert world.envkit(*world.create(world.old, made, "--no-verify")).code == 0
    if pattern == ".":
        remove(place.prefix)
        place.prefix.write_text("in the way")
    else:
        _put(place.prefix, pattern, what)
    before = entries(other.prefix, world.home, world.project)

    wrong, codes = _tell(world, [*_looks(place), world.create(world.old, place, "--no-verify", "--json")])
    assert not wrong, "\n".join(wrong)
    assert codes["list --json"] == 0
    replaced = world.envkit(*world.create(world.new, place, "--no-verify", "--replace", "--json"))
    assert "Traceback" not in replaced.err
    if replaced.code == 0:
        assert world.version_of(place.prefix) == NEW
    else:  # what is there is not taken for an environment
        assert replaced.code in {11, 12}, replaced.told
        assert replaced.json["error"]["hint"]
    removed = world.envkit("remove", place.env, "--yes", "--json")
    assert removed.code in {0, 9}, removed.told
    assert removed.code == 0 or replaced.code != 0
    assert differences(before, entries(other.prefix, world.home, world.project)) == []
    assert world.strays() == []


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_private_lock_that_cannot_be_written(world, what):
    """The parent of the prefix is a file, or a part of its path is."""
    obstacle = _put(world.elsewhere, "way", "file")
    prefix = obstacle / "env" if what == "file" else obstacle / "deep" / "env"
    done = world.envkit("create", world.old, "--prefix", prefix, "--no-verify", "--json")

    assert done.code in {11, 12}, done.told
    assert str(obstacle) in done.json["error"]["message"]
    assert obstacle.read_text() == "in the way"
    assert world.strays() == []
