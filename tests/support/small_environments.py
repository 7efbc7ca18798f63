"""Environments as far as activation and envkit's own files go, made in a moment: no package is installed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from envkit.activation import attach_hooks, install_hooks, slot_of
from envkit.installers.guard import Guarded, install_guard
from envkit.model.environment import Environment
from envkit.model.progress import Silent
from envkit.operations.environments import register, write_record

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.toolkit import Toolkit

LOCK = """\
schema: 1
spec: small
spec_sha256: null
created_by: a test
installer: pip
python: "{python}"
cuda: cpu
toolkit: none
host_compiler: false
platforms:
  linux-64:
    needs: {}
    packages: [{name: stub, version: "1.0", file: stub-1.0-py3-none-any.whl, sha256: "{sha256}"}]
    base: []
"""


def small_environment(prefix: Path, toolkit: Toolkit | None, *, backend: str = "venv", guard: bool = True) -> Path:
    """Make it: a real virtual environment without pip, or what conda takes for an environment, with this Python."""
    if backend == "venv":
        command = [sys.executable, "-m", "venv", "--without-pip", prefix]
        subprocess.run(command, check=True, capture_output=True)
    else:
        for folder in ("bin", "conda-meta"):
            (prefix / folder).mkdir(parents=True)
        (prefix / "conda-meta" / "history").touch()
        (prefix / "bin" / "python").symlink_to(sys.executable)
    (prefix / ".envkit").mkdir()
    (prefix / ".envkit" / "lock.yaml").write_text(
        LOCK.replace("{python}", ".".join(map(str, sys.version_info[:2]))).replace("{sha256}", "0" * 64)
    )
    install_hooks(prefix, slot=slot_of(prefix), toolkit=toolkit)
    if guard:
        install_guard(Guarded(prefix, "pip", prefix.name), Silent())
    if backend == "venv":
        attach_hooks(prefix)
    environment = Environment(
        name=prefix.name,
        id="0123abcd",
        prefix=prefix,
        backend=backend,
        installer="pip",
        engine="uv",
        python=".".join(map(str, sys.version_info[:3])),
        build_cuda=None,
        toolkit=toolkit,
        lock_sha256="",
        spec="small",
        created_at="2026-01-01T00:00:00Z",
        envkit_version="0",
        guard=guard,
    )
    write_record(environment)
    register(prefix)
    return prefix
