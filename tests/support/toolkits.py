"""Folders that look like CUDA toolkits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def make_toolkit(folder: Path, version: str) -> Path:
    """A stand-in for a toolkit; its nvcc is a script that says its release."""
    (folder / "bin").mkdir(parents=True)
    (folder / "include").mkdir()
    (folder / "version.json").write_text(f'{{"cuda": {{"version": "{version}"}}}}')
    nvcc = folder / "bin" / "nvcc"
    nvcc.write_text(f"#!/bin/sh\necho release {'.'.join(version.split('.')[:2])}\n")
    nvcc.chmod(0o755)
    return folder
