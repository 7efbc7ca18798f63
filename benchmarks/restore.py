"""``envkit restore --no-verify`` against uv and against pip, with the same files: paired runs, medians, ratios.

    python benchmarks/restore.py [LOCK...] [--rounds 3] [--uv-only]

All wheels of the lock are first put into one folder, and every program gets them from there, so that no network counts.
The caches of uv (on the same file system as the environments) and of envkit are warm.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import uv

from envkit.model.lock import parse_lock
from envkit.probes.host import current_platform

if TYPE_CHECKING:
    from collections.abc import Callable

    from envkit.model.lock import LockedPackage

LARGE_BYTES = 1.5e9
"""Beyond it the goal is a ratio: linking the files takes longer than starting programs."""

LOCK = Path(__file__).parents[1] / "lockfiles" / "torch213-cpu.lock.yaml"


@dataclass
class Bench:
    """Where things lie, and how the programs are called."""

    folder: Path
    lock: Path
    packages: tuple[LockedPackage, ...]
    python: str = ""
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def wheels(self) -> Path:
        return self.folder / "wheels"

    @property
    def requirements(self) -> Path:
        return self.folder / "requirements.txt"

    def run(self, *command: str | Path, compile_: bool = False) -> str:
        env = {**self.environ, "UV_COMPILE_BYTECODE": "1"} if compile_ else self.environ
        done = subprocess.run(command, env=env, cwd=self.folder, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def envkit(self, *, compile_: bool = False) -> None:
        """envkit: Python found, files hash-checked, hooks, record."""
        command = [sys.executable, "-m", "envkit", "restore", self.lock, "--prefix", self.folder / "env"]
        self.run(*command, "--wheelhouse", self.wheels, "--offline", "--no-verify", compile_=compile_)

    def uv(self) -> None:
        """The least that makes the same packages usable."""
        program = uv.find_uv_bin()
        self.run(program, "venv", "--quiet", "--python", self.python, self.folder / "env")
        command = [program, "pip", "sync", "--quiet", "--python", self.folder / "env" / "bin" / "python"]
        self.run(*command, "--require-hashes", *self._from_wheels(), self.requirements)

    def pip(self, *options: str) -> None:
        """What everybody does."""
        self.run(self.python, "-m", "venv", self.folder / "env")
        command = [self.folder / "env" / "bin" / "python", "-m", "pip", "install", "--quiet", *options]
        self.run(*command, *self._from_wheels(), "-r", self.requirements)

    def _from_wheels(self) -> list[str | Path]:
        return ["--no-index", "--find-links", self.wheels]

    def seconds(self, action: Callable[[], None]) -> float:
        since = time.perf_counter()
        action()
        spent = time.perf_counter() - since
        shutil.rmtree(self.folder / "env")
        return spent

    def paired(self, one: Callable[[], None], other: Callable[[], None], rounds: int) -> tuple[float, float]:
        """Medians of two actions that are done in turn, each first in every second round."""
        times: tuple[list[float], list[float]] = ([], [])
        for number in range(rounds):
            for which in (0, 1) if number % 2 else (1, 0):
                times[which].append(self.seconds((one, other)[which]))
        return statistics.median(times[0]), statistics.median(times[1])


def prepare(folder: Path, lock_path: Path) -> Bench:
    """Collect the wheels by pip, as the user has configured it, and warm uv's cache."""
    lock = parse_lock(lock_path.read_text(encoding="utf-8"), str(lock_path))
    packages = lock.platforms[current_platform()].packages
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environ |= {"ENVKIT_HOME": str(folder / "home"), "UV_CACHE_DIR": str(folder / "uv-cache")}
    bench = Bench(folder, lock_path, packages, environ=environ)
    plan = bench.run(sys.executable, "-m", "envkit", "restore", lock_path, "--dry-run", "--json")
    bench.python = json.loads(plan)["plan"]["python"]
    lines = [f"{item.name}=={item.version} --hash=sha256:{item.sha256}\n" for item in packages]
    bench.requirements.write_text("".join(lines))
    command = [bench.python, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", bench.wheels]
    for item in packages:
        single = folder / "single.txt"
        single.write_text(f"{item.name}=={item.version} --hash=sha256:{item.sha256}\n")
        known = subprocess.run([*command, "-r", single], env=environ, check=False, capture_output=True)
        if known.returncode != 0:  # not where the user's pip looks: from the package's own source
            bench.run(*command, "--index-url", item.source or "", "-r", single)
    bench.seconds(bench.uv)
    bench.seconds(bench.envkit)
    return bench


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("locks", nargs="*", type=Path, metavar="LOCK", default=[LOCK])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--uv-only", action="store_true", help="leave pip out, which takes minutes")
    arguments = parser.parse_args()
    for lock in arguments.locks:
        with tempfile.TemporaryDirectory(prefix="envkit-benchmark-") as folder:
            measure(prepare(Path(folder), lock.resolve()), arguments.rounds, uv_only=arguments.uv_only)


def measure(bench: Bench, rounds: int, *, uv_only: bool) -> None:
    """Measure one lock and print its rows."""
    size = sum(item.size or 0 for item in bench.packages)
    print(f"{bench.lock.name}: {len(bench.packages)} wheels of {size / 1e9:.1f} GB, {rounds} rounds")
    print(f"{'envkit restore --no-verify against':<44}{'envkit':>9}{'other':>9}{'ratio':>8}  goal")
    one, other = bench.paired(bench.envkit, bench.uv, 2 * rounds + 1)
    goal = "at most 1.15 times" if size > LARGE_BYTES else f"at most 0.5 s more: {one - other:+.2f} s"
    _tell("uv venv + uv pip sync", one, other, one / other, goal)
    if uv_only:
        return
    one, other = bench.paired(bench.envkit, bench.pip, rounds)
    _tell("venv + pip install, as they come", one, other, other / one, "at least 20 times faster")
    one, other = bench.paired(bench.envkit, lambda: bench.pip("--no-compile"), rounds)
    _tell("the same, both without bytecode", one, other, other / one, "told")
    one, other = bench.paired(lambda: bench.envkit(compile_=True), bench.pip, rounds)
    _tell("the same, both with bytecode", one, other, other / one, "told")


def _tell(what: str, one: float, other: float, ratio: float, goal: str) -> None:
    print(f"  {what:<42}{one:>8.2f}s{other:>8.2f}s{ratio:>8.2f}  {goal}", flush=True)


if __name__ == "__main__":
    main()
