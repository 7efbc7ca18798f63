"""What an activation costs: a hook against sourcing an empty file, in each shell that is installed.

Run it from a checkout: ``python benchmarks/activation.py``. The goal is that of bash: at most 1 ms more than an empty
file, with an ordinary PATH of 12 entries; 40 and 75 show how it grows. Each number is the best of several runs of one
shell process that sources the files many times, so that the shell's own start does not count; processor time, since a
hook waits for nothing and other programs run beside it. The hook is the whole one: CUDA_HOME, CUDA_PATH, PATH,
LD_LIBRARY_PATH and the host compiler, in a conda prefix.
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import tempfile
from pathlib import Path

from envkit.activation import install_hooks, quote_csh, quote_fish, quote_posix
from envkit.model.host_compiler import HostCompiler
from envkit.model.toolkit import Toolkit

TIMES = 100
ROUNDS = 5
ENTRIES = (12, 40, 75)  # of PATH
SHELLS = {
    "bash": ["bash", "--norc", "--noprofile"],
    "dash": ["dash"],
    "zsh": ["zsh", "-f"],
    "fish": ["fish", "--no-config"],
    "tcsh": ["tcsh", "-f"],
}


def path_of(entries: int) -> str:
    return ":".join(["/usr/bin", *(f"/home/somebody/software/package-{at:02}/bin" for at in range(entries - 1))])


def seconds(argv: list[str], script: Path, text: str, entries: int) -> float:
    script.write_text(text)
    env = {"PATH": path_of(entries), "HOME": str(script.parent)}
    env |= {"CONDA_PREFIX": "/home/somebody/envs/a", "CONDA_SHLVL": "1"}
    best = float("inf")
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([*argv, script], env=env, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
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


def install(folder: Path) -> None:
    for name in ("bin", "lib64"):
        (folder / "cuda-11.3" / name).mkdir(parents=True)
    for name in ("gcc-10", "g++-10"):
        program = folder / "cuda-11.3" / "bin" / name
        program.touch()
        program.chmod(0o755)
    toolkit = Toolkit("11.3", "11.3", folder / "cuda-11.3", "benchmark", has_nvcc=True)
    host = HostCompiler("gcc-10", "g++-10", folder / "cuda-11.3" / "bin")
    install_hooks(folder, slot="CONDA", toolkit=toolkit, library_path=True, host_compiler=host)


def measure(shell: str, command: list[str], folder: Path, entries: int) -> tuple[float, float, float]:
    """Milliseconds: an empty file; activate and deactivate together; a deactivate that has nothing to do."""
    extension = {"fish": "fish", "tcsh": "csh"}.get(shell, "sh")
    on, off = (folder / "etc/conda" / f"{way}.d" / f"envkit-cuda.{extension}" for way in ("activate", "deactivate"))
    empty, script = folder / "empty", folder / "script"
    start, nothing, pair, again = (
        seconds(command, script, text, entries)
        for text in ("", loop(shell, [empty, empty]), loop(shell, [on, off]), loop(shell, [off, off]))
    )
    empty_ms = (nothing - start) / TIMES / 2 * 1000
    idle_ms = (again - start) / TIMES / 2 * 1000
    return empty_ms, (pair - start) / TIMES * 1000, idle_ms


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        install(folder)
        (folder / "empty").write_text("")
        print(
            "shell  PATH entries  empty file  activate + deactivate  one hook more than empty  times empty  idle hook"
        )
        for shell, argv in SHELLS.items():
            program = shutil.which(shell)
            if program is None:
                print(f"{shell}: not installed")
                continue
            for entries in ENTRIES:
                empty, pair, idle = measure(shell, [program, *argv[1:]], folder, entries)
                more, times = pair / 2 - empty, pair / 2 / empty
                figures = f"{empty:7.3f} ms  {pair:18.3f} ms  {more:21.3f} ms  {times:11.1f}  {idle:6.3f} ms"
                print(f"{shell:5}  {entries:12}  {figures}")


if __name__ == "__main__":
    main()
