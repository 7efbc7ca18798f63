"""How long ``envkit preflight``, ``gpu --from`` and lists take as whole processes, where no nvidia-smi is found.

python benchmarks/preflight.py [--rounds 11]

Printed beside ``python -c "import click"``: goals are 0.5 s for preflight and 0.3 s for gpu, on a quiet machine; on
another one the ratios tell more.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from startup import paired

BANNER = """\
+---------------------------------------------------------------------------------------+
| NVIDIA-SMI 535.104.05             Driver Version: 535.104.05   CUDA Version: 12.2     |
+---------------------------------------------------------------------------------------+
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    rounds = parser.parse_args().rounds
    script = Path(sys.executable).with_name("envkit")
    envkit: list[str | Path] = [script] if script.exists() else [sys.executable, "-m", "envkit"]
    click = [sys.executable, "-c", "import click"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "smi.txt"
        file.write_text(BANNER, encoding="utf-8")
        env = {**os.environ, "ENVKIT_HOME": folder, "PATH": f"{folder}{os.pathsep}{os.defpath}"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed envkit has its bytecode
        print(f"{'what':<36}{'envkit':>9}{'click':>9}{'ratio':>8}  goal")
        for words, goal in (
            (["preflight"], "under 0.5 s"),
            (["preflight", "torch213-cpu"], "under 0.5 s"),
            (["preflight", "torch112-cu113"], "under 0.5 s"),
            (["preflight", "torch213-cu126"], "under 0.5 s"),
            (["gpu", "--from", str(file)], "under 0.3 s"),
            (["specs", "--fits"], "none"),
            (["matrix"], "none"),
        ):
            one, other = paired([*envkit, *words], click, env, rounds)
            told = f"envkit {' '.join(words[:2])}"
            print(f"{told:<36}{one:>8.3f}s{other:>8.3f}s{one / other:>8.2f}  {goal}")


if __name__ == "__main__":
    main()
