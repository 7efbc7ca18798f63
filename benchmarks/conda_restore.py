"""``envkit restore --no-verify`` of 60 conda packages against bare py-rattler and conda: medians and ratios.

    python benchmarks/conda_restore.py [--rounds 7] [--folder FOLDER]

The packages lie in a local channel; the caches are warm and on the file system of the prefixes; all run in turn.
"Bare py-rattler" is a program that calls ``rattler.install`` with the same records and does nothing else
(``bare_rattler.py``). conda makes the same environment from an explicit list, offline, when there is one
(``ENVKIT_TEST_CONDA``, or on PATH); it also compiles the modules of noarch packages, which the others leave to Python.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the benchmark makes its packages as the tests make theirs
from benchmarks.conda_packages import PYTHON, make_channel  # noqa: E402 - found by the line above

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.channel import Channel

GOALS = {"rattler": 1.15, "conda": 1 / 5}
"""How long envkit may take, as a multiple of the other's time."""

TOLD = {"rattler": "bare py-rattler", "conda": "conda create --file"}


@dataclass
class Bench:
    """Where things lie, and how the programs are called."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)
    conda: str | None = None

    @property
    def prefix(self) -> Path:
        return self.folder / "prefix"

    def run(self, *command: str | Path) -> None:
        done = subprocess.run(command, env=self.environ, cwd=self.folder, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")

    def envkit(self) -> None:
        """envkit: hashes known, installed, hooks and guard written, recorded."""
        lock = self.folder / "bench.lock.yaml"
        self.run(sys.executable, "-m", "envkit", "restore", lock, "--prefix", self.prefix, "--no-verify")

    def rattler(self) -> None:
        """The least that makes the same packages usable."""
        self.run(sys.executable, ROOT / "benchmarks" / "bare_rattler.py", self.folder / "records.json", self.prefix)

    def conda_create(self) -> None:
        """What a user of conda types."""
        command = [str(self.conda), "create", "--yes", "--quiet", "--offline", "--prefix", self.prefix]
        self.run(*command, "--file", self.folder / "explicit.txt")

    def seconds(self, action: Callable[[], None]) -> tuple[float, float]:
        """Wall time, and processor time of all processes."""
        before, since = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        action()
        wall, after = time.perf_counter() - since, resource.getrusage(resource.RUSAGE_CHILDREN)
        shutil.rmtree(self.prefix)
        return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def interleaved(self, actions: dict[str, Callable[[], None]], rounds: int) -> dict[str, list[tuple[float, float]]]:
        """Times of actions that are done in turn, each first in some rounds; one round before that warms the caches."""
        names = list(actions)
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
        for number in range(rounds + 1):
            start = number % len(names)
            for name in names[start:] + names[:start]:
                spent = self.seconds(actions[name])
                if number:
                    times[name].append(spent)
        return times


def prepare(folder: Path) -> Bench:
    """Make the channel, the lock, the records and the explicit list."""
    channel = make_channel(folder / "channel", cache=folder / "packages")
    records = [{**record, "channel": channel.url} for record in channel.locked()]
    with_urls = [record | {"url": f"{channel.url}/{record['subdir']}/{record['file']}"} for record in records]
    (folder / "records.json").write_text(json.dumps(with_urls))
    lines = [f"{record['url']}#{record['md5']}\n" for record in with_urls]
    (folder / "explicit.txt").write_text("".join(["@EXPLICIT\n", *lines]))
    _write_lock(folder / "bench.lock.yaml", records)
    home = folder / "home"
    home.mkdir(exist_ok=True)
    conda = os.environ.get("ENVKIT_TEST_CONDA") or shutil.which("conda")
    foreign = ("CONDA", "_CONDA", "ENVKIT_", "_ENVKIT", "RATTLER_", "PYTHONDONTWRITEBYTECODE")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(foreign)} | {
        "HOME": str(home),
        "ENVKIT_HOME": str(home / "envkit"),
        "RATTLER_CACHE_DIR": str(folder / "rattler-cache"),
        "CONDA_PKGS_DIRS": str(folder / "conda-cache"),
        "CONDA_ENVS_DIRS": str(folder / "conda-envs"),
    }
    return Bench(folder, environ, conda)


def _write_lock(path: Path, records: list[dict[str, object]]) -> None:
    content = {
        "schema": 1,
        "spec": "bench",
        "spec_sha256": None,
        "created_by": "a benchmark",
        "installer": "conda",
        "python": PYTHON,
        "cuda": "cpu",
        "toolkit": "none",
        "platforms": {"linux-64": {"needs": {}, "packages": records, "base": []}},
    }
    path.write_text(json.dumps(content, indent=1))


def measure(bench: Bench, channel: Channel, rounds: int) -> None:
    """Measure and print."""
    actions = {"envkit": bench.envkit, "rattler": bench.rattler}
    if bench.conda is not None:
        actions["conda"] = bench.conda_create
    bench.seconds(bench.rattler)
    size = sum(record["size"] for record in channel.locked())
    print(f"{len(channel.locked())} packages of {size / 1e6:.0f} MB, {rounds} rounds, caches warm")
    times = bench.interleaved(actions, rounds)
    walls = {name: [wall for wall, _ in found] for name, found in times.items()}
    middle = {name: [statistics.median(kind) for kind in zip(*found, strict=True)] for name, found in times.items()}
    print(f"  {'':<10}{'wall':>8}{'processor':>12}")
    for name, (wall, processor) in middle.items():
        print(f"  {name:<10}{wall:>7.2f}s{processor:>11.2f}s  (wall {min(walls[name]):.2f} to {max(walls[name]):.2f})")
    for name in list(actions)[1:]:
        ratios = [ours / others for ours, others in zip(middle["envkit"], middle[name], strict=True)]
        print(f"  envkit restore --no-verify / {TOLD[name]:<20}{ratios[0]:>5.2f}  processor {ratios[1]:.2f}", end="")
        print(f"  goal: at most {GOALS[name]:.2f}")
    if bench.conda is None:
        print("  no conda here (ENVKIT_TEST_CONDA, PATH)")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="where the channel is made, or kept from another run")
    arguments = parser.parse_args()
    if arguments.folder is not None:
        arguments.folder.mkdir(parents=True, exist_ok=True)
        _run(arguments.folder.resolve(), arguments.rounds)
        return
    with tempfile.TemporaryDirectory(prefix="envkit-benchmark-") as folder:
        _run(Path(folder), arguments.rounds)


def _run(folder: Path, rounds: int) -> None:
    measure(prepare(folder), make_channel(folder / "channel", cache=folder / "packages"), rounds)


if __name__ == "__main__":
    main()
