"""Folders that look like CUDA toolkits. Their nvcc is a stub: a script that prints what it is told to."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

BANNER = """\
nvcc: NVIDIA (R) Cuda compiler driver
Copyright (c) 2005-2021 NVIDIA Corporation
Built on Mon_May__3_19:15:13_PDT_2021
Cuda compilation tools, release {release}, V{version}
Build cuda_{release}.r{release}/compiler.29920130_0
"""


def stub_nvcc(path: Path, text: str = "exit 3\n") -> Path:
    """A program at ``path`` that runs ``text`` as a shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}")
    path.chmod(0o755)
    return path


def saying(release: str, version: str) -> str:
    """The script of a stub that answers as nvcc does."""
    return f"cat <<'END'\n{BANNER.format(release=release, version=version)}END\n"


def make_toolkit(
    folder: Path, version: str | None = "11.3.1", *, nvcc: str | None = "exit 3\n", headers: bool = True
) -> Path:
    """A toolkit: ``version.json``, a stub nvcc unless that is None, and ``cuda.h``."""
    (folder / "bin").mkdir(parents=True)
    if nvcc is not None:
        stub_nvcc(folder / "bin" / "nvcc", nvcc)
    if headers:
        (folder / "include").mkdir()
        (folder / "include" / "cuda.h").write_text("/* a stub */\n")
    if version is not None:
        (folder / "version.json").write_text(f'{{"cuda": {{"name": "CUDA SDK", "version": "{version}"}}}}\n')
    return folder


def add_cudnn(toolkit: Path, version: str = "8.2.1", *, lib: bool = True) -> None:
    """cuDNN's headers, and its library, in a toolkit on Linux."""
    major, minor, patch = version.split(".")
    (toolkit / "include" / "cudnn.h").write_text('#include "cudnn_version.h"\n')
    (toolkit / "include" / "cudnn_version.h").write_text(
        f"#define CUDNN_MAJOR {major}\n#define CUDNN_MINOR {minor}\n#define CUDNN_PATCHLEVEL {patch}\n"
    )
    if lib:
        (toolkit / "lib64").mkdir(exist_ok=True)
        (toolkit / "lib64" / f"libcudnn.so.{major}").write_bytes(b"")
