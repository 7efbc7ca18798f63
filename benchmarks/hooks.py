"""What an activation costs: our hook against sourcing an empty file, in each shell that is installed.

Run it from a checkout: ``python benchmarks/hooks.py``. Each number is the best of several runs of one shell process
that sources the file many times, so that the shell's own start does not count.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from envkit.activation import install_hooks, quote_csh, quote_fish, quote_posix
from envkit.model.toolkit import Toolkit

TIMES = 100
ROUNDS = 5
ORDINARY, LONG = 12, 40  # entries of PATH
SHELLS = {
    "bash": ["bash", "--norc", "--noprofile"],
    "dash": ["dash"],
    "zsh": ["zsh", "-f"],
    "fish": ["fish", "--no-config"],
    "tcsh": ["tcsh", "-f"],
}


def seconds(argv: list[str], script: Path, text: str, entries: int) -> float:
    script.write_text(text)
    path = ":".join(
        ["/usr/bin", *(f"/home/somebody/software/package-{number:02}/bin" for number in range(entries - 1))]
    )
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.perf_counter()
        env = {"PATH": path, "HOME": str(script.parent), "CONDA_PREFIX": "/home/somebody/envs/a", "CONDA_SHLVL": "1"}
        subprocess.run([*argv, script], env=env, check=True)
        best = min(best, time.perf_counter() - start)
    return best


def loop(shell: str, files: list[Path]) -> str:
    if shell == "fish":
        body = "\n".join(f"source {quote_fish(str(file))}" for file in files)
        return f"set -l i 0\nwhile test $i -lt {TIMES}\n{body}\nset i (math $i + 1)\nend\n"
    if shell == "tcsh":
        body = "\n".join(f"source {quote_csh(str(file))}" for file in files)
        return f"set i = 0\nwhile ($i < {TIMES})\n{body}\n@ i++\nend\n"
    body = "\n".join(f". {quote_posix(str(file))}" for file in files)
    return f'i=0\nwhile [ "$i" -lt {TIMES} ]; do\n{body}\ni=$((i + 1))\ndone\n'


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "cuda-11.3" / "bin").mkdir(parents=True)
        toolkit = Toolkit("11.3", "11.3", folder / "cuda-11.3", "benchmark", has_nvcc=True)
        install_hooks(folder, slot="CONDA", toolkit=toolkit)
        empty = folder / "empty"
        empty.write_text("")
        print("shell  PATH entries  empty file ms  activate+deactivate ms  one hook more than an empty file ms")
        for shell, argv in SHELLS.items():
            program = shutil.which(shell)
            if program is None:
                print(f"{shell}: not installed")
                continue
            extension = {"fish": "fish", "tcsh": "csh"}.get(shell, "sh")
            pair = [
                folder / "etc" / "conda" / f"{d}.d" / f"envkit-cuda.{extension}" for d in ("activate", "deactivate")
            ]
            for entries in (ORDINARY, LONG):
                command, script = [program, *argv[1:]], folder / "script"
                start_s = seconds(command, script, "", entries)
                empty_ms = (seconds(command, script, loop(shell, [empty, empty]), entries) - start_s) / TIMES * 1000
                pair_ms = (seconds(command, script, loop(shell, pair), entries) - start_s) / TIMES * 1000
                more_ms = (pair_ms - empty_ms) / 2
                print(f"{shell:5}  {entries:12}  {empty_ms / 2:13.3f}  {pair_ms:22.3f}  {more_ms:35.3f}")


if __name__ == "__main__":
    main()
