"""A toolkit's own compiler, run as that toolkit would be used: its folder first, nothing of another one."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from envkit import process
from envkit.probes.toolkit_files import nvcc_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LEFT_OUT = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
"""Flags that nvcc takes from the environment; conda-forge's cuda-nvcc sets them, for its own toolkit.

https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/#nvcc-environment-variables
"""
_TOOL = re.compile(r"^.*?\b(\w+) ?: NVIDIA \(R\)", re.MULTILINE | re.ASCII)
_RELEASE = re.compile(
    r"(?:\btools, |^[^\S\n]*)release (\d{1,3}\.\d{1,3})\b(?:, V(\d{1,3}\.\d{1,3}(?:\.\d{1,9})*))?",
    re.ASCII | re.MULTILINE,
)
"""Not the release of a system, "CentOS Linux release 7.9"; wrappers may print the words from "release" on alone."""
PROGRAM = "check.exe" if sys.platform == "win32" else "check"


class NvccVersion(NamedTuple):
    """What ``nvcc --version`` states.

    Attributes:
        release: of the toolkit, "11.3".
        version: of the compiler itself, "11.3.109"; not the toolkit's, which is 11.3.1. None where it is not told.
        build: the line ``Build``, "cuda_11.3.r11.3/compiler.29920130_0"; None before 11.0.
    """

    release: str
    version: str | None
    build: str | None


def parse_nvcc_version(text: str) -> NvccVersion | None:
    """Read the first output of ``nvcc --version``; None where there are only those of other tools (ptxas)."""
    tools = list(_TOOL.finditer(text))
    ends = [*(tool.start() for tool in tools), len(text)]
    before = text[: ends[0]]  # without a heading, as `nvcc --version | grep release` leaves it
    own = [text[tool.end() : end] for tool, end in zip(tools, ends[1:], strict=True) if tool[1] == "nvcc"]
    for part in (before, *own):
        release = _RELEASE.search(part)
        if release is not None:
            build = re.search(r"^Build (\S+)\s*$", part, re.MULTILINE)
            return NvccVersion(release[1], release[2], build and build[1])
    return None


@dataclass(frozen=True, slots=True)
class Nvcc:
    """The compiler of one toolkit, at work in one folder.

    Attributes:
        toolkit: the toolkit's folder.
        folder: where it works; it gets ``check.cu`` and all that is made of it.
        host: the host compiler, for ``-ccbin``; None: nvcc's own choice, gcc of PATH.
        timeout_s: how long one run may take.
    """

    toolkit: Path
    folder: Path
    timeout_s: float
    host: str | None = None

    @property
    def program(self) -> Path:
        """The compiler itself."""
        return nvcc_of(self.toolkit)

    def said_version(self) -> NvccVersion | None:
        """What nvcc tells of itself; None: it tells nothing.

        Raises:
            ProgramError: it did not run.
        """
        return parse_nvcc_version(self._run("--version", is_compiling=False).stdout)

    def compile(self, generate: str | None) -> None:
        """Make ``check.o`` of ``check.cu``.

        Args:
            generate: value of ``-gencode``; None: nvcc's own default.

        Raises:
            ProgramError: it failed, or took too long.
        """
        self._run(*(("-gencode", generate) if generate else ()), "-c", "check.cu", "-o", "check.o")

    def link(self) -> None:
        """Make the program of ``check.o``.

        Raises:
            ProgramError: it failed, or took too long.
        """
        self._run("check.o", "-o", PROGRAM)

    def run_program(self, *words: str) -> process.CompletedProgram:
        """Run the program that was linked.

        Raises:
            ProgramError: it did not start, or took too long.
        """
        return process.run(
            [self.folder / PROGRAM, *words],
            timeout_s=self.timeout_s,
            env=self._environment(),
            cwd=self.folder,
            check=False,
        )

    def _run(self, *arguments: str, is_compiling: bool = True) -> process.CompletedProgram:
        host = ("-ccbin", self.host) if self.host and is_compiling else ()
        return process.run(
            [self.program, *host, *arguments], timeout_s=self.timeout_s, env=self._environment(), cwd=self.folder
        )

    def _environment(self) -> Mapping[str, str | None]:
        """Intermediate files go to the working folder; relative, since nvcc puts the name into commands of ``sh``."""
        folder = str(self.toolkit)
        path = os.pathsep.join(filter(None, (str(self.toolkit / "bin"), os.environ.get("PATH"))))
        # the choice of NVCC_CCBIN comes by -ccbin, which older compilers know too
        removed = dict.fromkeys((*LEFT_OUT, "NVCC_CCBIN"))
        return {**removed, "CUDA_HOME": folder, "CUDA_PATH": folder, "PATH": path, "TMPDIR": "."}
