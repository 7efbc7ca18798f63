"""Which version a CUDA toolkit is: by its files, and by asking its compiler only where none of them tells."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from envkit import process
from envkit.compat.tables import toolkit_update
from envkit.errors import ProgramError
from envkit.probes.nvcc import LEFT_OUT, parse_nvcc_version
from envkit.probes.toolkit_files import has_nvcc, header_in, is_own, nvcc_of, read_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NVCC_TIMEOUT_S = 5.0
_HEADERS = (("cuda.h", "CUDA_VERSION"), ("cuda_runtime_api.h", "CUDART_VERSION"))
_VERSION = re.compile(r"\d{1,3}\.\d{1,3}(?:\.\d{1,9})*", re.ASCII)
_FIRST_WITH_UPDATES = 11


class Told(NamedTuple):
    """A version, None where nothing tells it, and what was wrong with what should have told it."""

    version: str | None
    problems: tuple[str, ...] = ()


def read_version(folder: Path) -> Told:
    """The version of the toolkit in ``folder``, as full as it is known."""
    problems: list[str] = []
    for step in _STEPS:
        told = step(folder)
        problems += told.problems
        if told.version is not None:
            return Told(told.version, tuple(problems))
    return Told(None, tuple(problems))


def release_of(version: str) -> str:
    """``11.3`` of ``11.3.1``."""
    return ".".join(version.split(".")[:2])


def _settled(version: str, nvcc: str | None = None) -> str:
    """The toolkit's version out of what its files state.

    Some state the day of the build, "11.8.20220929", or a compiler's number, "12.2.140" (Jetson), in place of the
    update, which has one digit since 11.0. The compiler's number leads to the update where only one has it: V11.3.109
    is 11.3.1, V13.0.88 may be 13.0.1 or a later one.
    """
    parts = version.split(".")
    if int(parts[0]) < _FIRST_WITH_UPDATES or len(parts) == 2 or len(parts[2]) == 1:  # noqa: PLR2004 - major, minor
        return version
    release = release_of(version)
    of_compiler = next((text for text in (nvcc, version) if text and release_of(text) == release), version)
    return toolkit_update(of_compiler) or release


def _from_own_record(folder: Path) -> Told:
    """envkit's own lie in folders that are named after their full version: ``toolkits/cuda-13.2.1``."""
    version = folder.name.removeprefix("cuda-")
    is_named = folder.name.startswith("cuda-") and _VERSION.fullmatch(version) is not None
    return Told(version if is_named and is_own(folder) else None)


def _from_version_json(folder: Path) -> Told:
    """Since 11.1: ``{"cuda": {"name": "CUDA SDK", "version": "11.3.1"}, "cuda_nvcc": {"version": "11.3.109"}}``."""
    path = folder / "version.json"
    text = read_text(path)
    if not text:
        return Told(None)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return Told(None, (f"{path} is no JSON.",))
    version = _stated(content, "cuda")
    if version is None:
        return Told(None, (f"{path} does not tell the toolkit's version.",))
    return Told(_settled(version, _stated(content, "cuda_nvcc")))


def _stated(content: object, name: str) -> str | None:
    entry = content.get(name) if isinstance(content, dict) else None
    version = entry.get("version") if isinstance(entry, dict) else None
    return version if isinstance(version, str) and _VERSION.fullmatch(version) else None


def _from_version_txt(folder: Path) -> Told:
    """Up to 11.0: ``CUDA Version 10.2.89``."""
    text = read_text(folder / "version.txt")
    match = re.search(rf"CUDA Version ({_VERSION.pattern})", text, re.ASCII)
    if match is None:
        return Told(None, (f"{folder / 'version.txt'} does not tell the toolkit's version.",) if text else ())
    return Told(_settled(match[1]))


def _from_headers(folder: Path) -> Told:
    """``#define CUDA_VERSION 11030``: the release alone."""
    for name, macro in _HEADERS:
        path = header_in(folder, name)
        text = "" if path is None else read_text(path)
        match = re.search(rf"^\s*#\s*define\s+{macro}\s+(\d{{4,6}})\b", text, re.MULTILINE | re.ASCII)
        if match is not None:
            number = int(match[1])
            return Told(f"{number // 1000}.{number % 1000 // 10}")
    return Told(None)


def _from_nvcc(folder: Path) -> Told:
    """``Cuda compilation tools, release 11.3, V11.3.109``: asked last, since it is a program that may hang or fail."""
    if not has_nvcc(folder):
        return Told(None)
    nvcc = nvcc_of(folder)
    try:
        done = process.run([nvcc, "--version"], timeout_s=NVCC_TIMEOUT_S, env=dict.fromkeys(LEFT_OUT), check=False)
    except ProgramError as error:
        return Told(None, (error.message,))
    found = parse_nvcc_version(done.stdout)
    if found is None:
        return Told(None, (f"`{nvcc} --version` does not tell a version.",))
    return Told((toolkit_update(found.version) if found.version else None) or found.release)


_STEPS: tuple[Callable[[Path], Told], ...] = (
    _from_own_record,
    _from_version_json,
    _from_version_txt,
    _from_headers,
    _from_nvcc,
)
