"""How long ``envkit`` takes to start, and ``envkit list`` with 500 environments: paired runs, medians, ratios.

python benchmarks/startup.py [--rounds 21]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from envkit.model.environment import Environment
from envkit.operations.environments import write_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ENVIRONMENTS = 500


def seconds(command: Sequence[str | Path], env: Mapping[str, str]) -> float:
    """Wall time of a command that must succeed."""
    since = time.perf_counter()
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - since


def paired(
    one: Sequence[str | Path], other: Sequence[str | Path], env: Mapping[str, str], rounds: int
) -> tuple[float, float]:
    """Medians of two commands that are run in turn, the first one first in every second round."""
    times: tuple[list[float], list[float]] = ([], [])
    for command in (one, other):  # warm up: file cache and bytecode
        seconds(command, env)
    for number in range(rounds):
        for which in (0, 1) if number % 2 else (1, 0):
            times[which].append(seconds((one, other)[which], env))
    return statistics.median(times[0]), statistics.median(times[1])


def make_environments(home: Path) -> None:
    """As many records as a user of many years has."""
    for number in range(ENVIRONMENTS):
        prefix = home / "envs" / f"torch213_cpu_py311_{number}"
        (prefix / "bin").mkdir(parents=True)
        (prefix / "bin" / "python").touch()
        (prefix / ".envkit").mkdir()
        (prefix / ".envkit" / "lock.yaml").touch()
        write_record(
            Environment(
                name=prefix.name,
                id=f"{number:08x}",
                prefix=prefix,
                backend="venv",
                installer="pip",
                engine="uv",
                python="3.11.7",
                build_cuda=None,
                toolkit=None,
                lock_sha256="0" * 64,
                spec="torch213-cpu",
                created_at="2026-11-30T14:59:01Z",
                envkit_version="0.1.0",
            )
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=21)
    rounds = parser.parse_args().rounds
    script = Path(sys.executable).with_name("envkit")
    envkit: list[str | Path] = [script] if script.exists() else [sys.executable, "-m", "envkit"]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        make_environments(home)
        env = {**os.environ, "ENVKIT_HOME": folder}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed envkit has its bytecode
        click = [sys.executable, "-c", "import click"]
        print(f"{'what':<34}{'envkit':>9}{'other':>9}{'ratio':>8}  goal")
        for option in ("--version", "--help"):
            one, other = paired([*envkit, option], click, env, rounds)
            told = f"envkit {option} / import click"
            print(f"{told:<34}{one:>8.3f}s{other:>8.3f}s{one / other:>8.2f}  at most 1.5 times")
        scan = [sys.executable, "-c", "import os, sys; list(os.scandir(sys.argv[1]))", home / "envs"]
        one, other = paired([*envkit, "list"], scan, env, rounds)
        told = f"envkit list, {ENVIRONMENTS} / one scandir"
        print(f"{told:<34}{one:>8.3f}s{other:>8.3f}s{one / other:>8.2f}  at most 0.3 s: {one - other:.3f} s more")


if __name__ == "__main__":
    main()
