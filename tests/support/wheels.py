"""Stub wheels: small, valid, and the same bytes each time."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_WHEN = (2022, 8, 5, 0, 0, 0)


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    *,
    requires: Sequence[str] = (),
    tags: str = "py3-none-any",
    files: Mapping[str, str | bytes] | None = None,
    requires_python: str | None = None,
    entry_points: str | None = None,
) -> Path:
    """Write a wheel of ``name`` into ``folder`` and give its path.

    Args:
        folder: made when missing.
        name: the project's name; the importable module is ``name`` with underscores, holding ``__version__``.
        version: local label allowed, as in "1.11.0+cu113".
        requires: requirements of the metadata.
        tags: the end of the file name, "cp39-cp39-manylinux_2_17_x86_64.manylinux2014_x86_64".
        files: what goes into site-packages beside, or instead of, the module.
        requires_python: as in the metadata.
        entry_points: text of ``entry_points.txt``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    module = name.lower().replace("-", "_").replace(".", "_")
    content: dict[str, bytes] = {f"{module}/__init__.py": f'__version__ = "{version}"\n'.encode()}
    for path, text in (files or {}).items():
        content[path] = text.encode() if isinstance(text, str) else text
    info = f"{module}-{version}.dist-info"
    content[f"{info}/METADATA"] = _metadata(name, version, requires, requires_python)
    content[f"{info}/WHEEL"] = _wheel_file(tags)
    if entry_points is not None:
        content[f"{info}/entry_points.txt"] = entry_points.encode()
    quoted = {path: f'"{path}"' if "," in path else path for path in content}  # RECORD is CSV
    record = "".join(f"{quoted[path]},{_record_hash(data)},{len(data)}\n" for path, data in content.items())
    content[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    wheel = folder / f"{module}-{version}-{tags}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in content.items():
            archive.writestr(zipfile.ZipInfo(path, _WHEN), data)
    return wheel


def wheel_metadata(wheel: Path) -> bytes:
    """The METADATA of a wheel, as PEP 658 serves it."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(entry for entry in archive.namelist() if entry.endswith(".dist-info/METADATA"))
        return archive.read(name)


def file_hash(path: Path) -> str:
    """sha256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _metadata(name: str, version: str, requires: Sequence[str], requires_python: str | None) -> bytes:
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    if requires_python is not None:
        lines.append(f"Requires-Python: {requires_python}")
    lines += [f"Requires-Dist: {item}" for item in requires]
    return ("\n".join(lines) + "\n").encode()


def _wheel_file(tags: str) -> bytes:
    pythons, abis, platforms = tags.split("-")
    lines = [
        "Wheel-Version: 1.0",
        "Generator: envkit-tests",
        f"Root-Is-Purelib: {'true' if abis == 'none' else 'false'}",
    ]
    for python in pythons.split("."):
        for abi in abis.split("."):
            lines += [f"Tag: {python}-{abi}-{platform}" for platform in platforms.split(".")]
    return ("\n".join(lines) + "\n").encode()


def _record_hash(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"sha256={digest}"
