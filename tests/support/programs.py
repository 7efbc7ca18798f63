"""Stand-ins for programs: shell scripts, to be put first on PATH."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def stub_program(folder: Path, name: str, text: str = "exit 1") -> Path:
    """Write an executable script of sh."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return program


def stub_gcc(folder: Path, *versions: int, default: str | None = None) -> Path:
    """``gcc-N`` and ``g++-N`` for each version, and a ``gcc`` that says it is ``default``; gives the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for version in versions:
        for name in ("gcc", "g++"):
            stub_program(folder, f"{name}-{version}", f"echo {version}.1.0")
    if default is not None:
        stub_program(folder, "gcc", f"echo {default}")
    return folder
