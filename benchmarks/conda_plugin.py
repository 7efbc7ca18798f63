"""What envkit's plugin costs a conda command: with and without it, side by side. Needs a real conda.

    python benchmarks/conda_plugin.py [--rounds 41]

conda is the one of ``ENVKIT_TEST_CONDA``, or on PATH; nothing is installed into it. A folder on PYTHONPATH holds a copy
of envkit and its metadata, once with the plugin's entry point and once without, so that both search as many folders.
Processor time says more than wall time on a machine that has other work.
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
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PACKAGE = Path(__file__).parents[1] / "envkit"
GOAL_MS = 2.0
COMMANDS = {
    "conda env list": ("env", "list"),
    "conda list": ("list",),
    "conda shell.posix activate": ("shell.posix", "activate"),
}
ENTRY_POINT = "[conda]\nenvkit = envkit.plugins.conda\n"
LOADING = """
import time
import conda.cli.main_list, conda.plugins.manager
manager = conda.plugins.manager.get_plugin_manager()
since = time.process_time()
import envkit.plugins.conda
manager.register(envkit.plugins.conda)
print((time.process_time() - since) * 1000)
"""
"""Loading the plugin, in a process that has imported what a conda command imports anyway."""


@dataclass(frozen=True)
class Bench:
    """A conda with its variables, with and without the plugin, and an environment to list."""

    conda: str
    python: str
    prefix: Path
    variables: tuple[dict[str, str], dict[str, str]]

    def spent(self, arguments: tuple[str, ...], *, plugin: bool) -> tuple[float, float]:
        """Wall time and processor time of a command, milliseconds."""
        before, since = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        command = [self.conda, *arguments, *([str(self.prefix)] if "activate" in arguments else [])]
        subprocess.run(command, env=self.variables[plugin], check=True, stdout=subprocess.DEVNULL)
        wall, after = time.perf_counter() - since, resource.getrusage(resource.RUSAGE_CHILDREN)
        processor = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        return wall * 1000, processor * 1000

    def loading(self) -> float:
        """Processor time of loading the plugin in a conda process, milliseconds."""
        command = [self.python, "-c", LOADING]
        done = subprocess.run(command, env=self.variables[0], check=True, capture_output=True, text=True)
        return float(done.stdout)


Times = tuple[list[tuple[float, float]], list[tuple[float, float]]]
"""Wall and processor times without the plugin, and with it."""


def paired(measure: Callable[..., tuple[float, float]], rounds: int) -> Times:
    """Measure with and without the plugin in turn, each first in every second round; the first round warms up."""
    times: Times = ([], [])
    for number in range(rounds + 1):
        for plugin in (False, True) if number % 2 else (True, False):
            spent = measure(plugin=plugin)
            if number:
                times[plugin].append(spent)
    return times


def prepare(folder: Path, conda: str) -> Bench:
    """Make the two folders for PYTHONPATH, a home and an environment."""
    foreign = ("CONDA", "_CONDA", "_CE_", "ENVKIT_", "_ENVKIT", "PYTHON")
    environ = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    environ |= {"HOME": str(folder / "home"), "CONDA_ENVS_DIRS": str(folder / "envs")}
    variables = []
    for name, entry_points in (("without", ""), ("with", ENTRY_POINT)):
        path = folder / name
        shutil.copytree(PACKAGE, path / "envkit", ignore=shutil.ignore_patterns("__pycache__"))
        info = path / "conda_envkit-0.0.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: conda-envkit\nVersion: 0.0.0\n")
        (info / "entry_points.txt").write_text(entry_points)
        variables.append(environ | {"PYTHONPATH": str(path)})
    prefix = folder / "envs" / "demo"
    (prefix / "conda-meta").mkdir(parents=True)
    (prefix / "conda-meta" / "history").touch()
    (folder / "home").mkdir()
    told = subprocess.run([conda, "info", "--json"], env=environ, check=True, capture_output=True, text=True).stdout
    python = str(Path(json.loads(told)["root_prefix"]) / "bin" / "python")
    plugins = subprocess.run([conda, "plugins", "list"], env=variables[1], check=True, capture_output=True, text=True)
    if "envkit" not in plugins.stdout:
        sys.exit(f"conda does not load the plugin:\n{plugins.stdout}{plugins.stderr}")
    return Bench(conda, python, prefix, (variables[0], variables[1]))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=41)
    rounds = parser.parse_args().rounds
    conda = os.environ.get("ENVKIT_TEST_CONDA") or shutil.which("conda")
    if conda is None:
        sys.exit("no conda here (ENVKIT_TEST_CONDA, PATH)")
    with tempfile.TemporaryDirectory(prefix="envkit-benchmark-") as folder:
        bench = prepare(Path(folder), conda)
        title = f"milliseconds, medians of {rounds}"
        print(f"{title:<30}{'without':>9}{'with':>9}{'more':>7}{'processor':>11}  goal")
        for name, arguments in COMMANDS.items():
            _tell(name, paired(partial(bench.spent, arguments), rounds))
        alone = statistics.median(bench.loading() for _ in range(rounds))
        print(f"  {'loading the plugin':<28}{'':>25}{alone:>11.1f}  under {GOAL_MS:.0f}")


def _tell(name: str, times: Times) -> None:
    """Medians of the wall times, and of what was more, pair by pair: wall and processor time."""
    walls = [statistics.median(wall for wall, _ in found) for found in times]
    more = [
        statistics.median(with_[kind] - without[kind] for without, with_ in zip(*times, strict=True)) for kind in (0, 1)
    ]
    print(
        f"  {name:<28}{walls[0]:>9.1f}{walls[1]:>9.1f}{more[0]:>7.1f}{more[1]:>11.1f}  under {GOAL_MS:.0f}", flush=True
    )


if __name__ == "__main__":
    main()
