"""A venv with a stub of torch in it, and a stub of nvidia-smi to be put first on PATH."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "data"
PYENV = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))  # read before a test gets its own home


@dataclass(frozen=True)
class StubEnvironment:
    """A venv; ``packages`` are what is recorded in it, as a lock would say it."""

    prefix: Path
    site: Path
    packages: dict[str, str]

    @property
    def python(self) -> Path:
        return self.prefix / "bin" / "python"

    def record(self, name: str, version: str, suffix: str = ".dist-info") -> None:
        (self.site / f"{name}-{version}{suffix}").mkdir()

    def environ(self, path: Path | None = None, **config: object) -> dict[str, str | None]:
        """Variables for the child: how the stub behaves, and a folder first on PATH."""
        environ: dict[str, str | None] = {
            "STUB_TORCH": json.dumps(config),
            "CUDA_VISIBLE_DEVICES": None,
            "NVIDIA_VISIBLE_DEVICES": None,
            "PYTORCH_NO_CUDA_MEMORY_CACHING": None,
        }
        return environ if path is None else {**environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}"}


def _make_stub_environment(python: Path, version: str, prefix: Path) -> StubEnvironment:
    """What ``venv`` makes, without starting it for each test."""
    site = prefix / "lib" / f"python{version}" / "site-packages"
    shutil.copytree(DATA / "stub_torch", site)
    (prefix / "bin").mkdir()
    (prefix / "bin" / "python").symlink_to(python)
    (prefix / "pyvenv.cfg").write_text(f"home = {python.parent}\ninclude-system-site-packages = false\n")
    packages = {"torch": "1.11.0", "torchvision": "0.12.0", "torchaudio": "0.11.0", "numpy": "1.26.4"}
    environment = StubEnvironment(prefix, site, packages)
    for name, pinned in packages.items():
        environment.record(name, pinned)
    return environment


@pytest.fixture
def stub_environment(tmp_path: Path) -> StubEnvironment:
    """A venv of this Python with stubs of torch, torchvision, torchaudio and numpy, and their dist-info folders."""
    if os.name != "posix":
        pytest.skip("the stub of a venv is made of symbolic links")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return _make_stub_environment(Path(sys._base_executable).resolve(), version, tmp_path / "stub env")


@pytest.fixture
def stub_environment_37(python37: str, tmp_path: Path) -> StubEnvironment:
    """The same under Python 3.7."""
    return _make_stub_environment(Path(python37).resolve(), "3.7", tmp_path / "stub env 37")


@pytest.fixture
def python37() -> str:
    """A Python 3.7, the oldest that environments have."""
    candidates = [shutil.which("python3.7"), *map(str, sorted(PYENV.glob("versions/3.7.*/bin/python")))]
    for candidate in filter(None, candidates):
        asked = subprocess.run(
            [candidate, "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, check=False
        )
        if asked.stdout.strip() == b"(3, 7)":
            return candidate
    pytest.skip("no Python 3.7 on this machine")


@pytest.fixture
def fake_smi(tmp_path: Path):
    """Make an nvidia-smi; gives the folder to put first on PATH.

    ``query`` answers a query with compute_cap, ``retry`` one without (by default the same), ``banner`` no argument.
    """
    if os.name != "posix":
        pytest.skip("the stub of nvidia-smi is a shell script")

    def make(
        query: str, *, status: int = 0, retry: str | None = None, banner: str = "the banner\n", sleep_s: int = 0
    ) -> Path:
        folder = tmp_path / "smi bin"
        folder.mkdir()
        (folder / "query").write_bytes(query.encode())
        (folder / "retry").write_bytes((query if retry is None else retry).encode())
        (folder / "banner").write_bytes(banner.encode())
        script = folder / "nvidia-smi"
        script.write_text(
            '#!/bin/sh\nhere=${0%/*}\necho "$*" >> "$here/calls"\n'
            f"sleep {sleep_s}\n"
            f'case "$*" in\n*compute_cap*) cat "$here/query"; exit {status};;\n'
            f'*--query-gpu*) cat "$here/retry"; exit {status if retry is None else 0};;\n'
            f'*) cat "$here/banner"; exit {status if retry is None else 0};;\nesac\n'
        )
        script.chmod(0o755)
        return folder

    return make
