"""Writes conda packages, ``.conda`` and ``.tar.bz2``, the same bytes each time."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zstandard

if TYPE_CHECKING:
    from collections.abc import Mapping

PLACEHOLDER = "/opt/" + "placehold_" * 12 + "env"
"""Stands for the prefix in files; long, as conda-build's is, so that no real prefix is longer."""
TIMESTAMP = 1_660_000_000_000
"""When every package was built, milliseconds."""
_ZIP_TIME = (2022, 8, 9, 0, 0, 0)


@dataclass(frozen=True)
class Link:
    """A symbolic link in a package, to ``target``."""

    target: str


Content = bytes | str | Path | Link
"""Of a file: bytes, text, a file on this machine (with its mode), or a link."""


def write_package(
    path: Path, index: Mapping[str, Any], files: Mapping[str, Content], info: Mapping[str, bytes], *, level: int
) -> None:
    """Write a package.

    Args:
        path: its file; the ending says which format.
        index: content of ``info/index.json``.
        files: what it installs, by path below the prefix. A file that holds ``PLACEHOLDER`` gets the prefix there.
        info: more files below ``info``.
        level: of zstandard.
    """
    entries = [_entry(name, content) for name, content in sorted(files.items())]
    paths = {"paths": [described for _, _, described in entries], "paths_version": 1}
    about = {"index.json": _json(index), "paths.json": _json(paths), "files": _lines(files), **info}
    described = [(tar, data) for tar, data in (_file(f"info/{name}", about[name], 0o644) for name in sorted(about))]
    installed = [(tar, data) for tar, data, _ in entries]
    if path.suffix == ".bz2":
        with tarfile.open(path, "w:bz2", compresslevel=1, format=tarfile.GNU_FORMAT) as archive:
            _fill(archive, [*described, *installed])
        return
    stem = path.name.removesuffix(".conda")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("metadata.json", _ZIP_TIME), b'{"conda_pkg_format_version": 2}')
        for kind, members in (("pkg", installed), ("info", described)):
            name = zipfile.ZipInfo(f"{kind}-{stem}.tar.zst", _ZIP_TIME)
            archive.writestr(name, _compressed(members, level))


def _compressed(members: list[tuple[tarfile.TarInfo, bytes]], level: int) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.GNU_FORMAT) as archive:
        _fill(archive, members)
    return zstandard.ZstdCompressor(level=level).compress(plain.getbuffer())


def _fill(archive: tarfile.TarFile, members: list[tuple[tarfile.TarInfo, bytes]]) -> None:
    for member, data in members:
        archive.addfile(member, io.BytesIO(data) if member.isreg() else None)


def _file(name: str, data: bytes, mode: int) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = len(data), mode, TIMESTAMP // 1000
    return member, data


def _entry(name: str, content: Content) -> tuple[tarfile.TarInfo, bytes, dict[str, Any]]:
    """A file for the archive, and its line of ``paths.json``."""
    described: dict[str, Any] = {"_path": name}
    if isinstance(content, Link):
        member, _ = _file(name, b"", 0o777)
        member.type, member.linkname = tarfile.SYMTYPE, content.target
        empty = hashlib.sha256().hexdigest()
        return member, b"", described | {"path_type": "softlink", "sha256": empty, "size_in_bytes": 0}
    data, mode = _read(name, content)
    described |= {"path_type": "hardlink", "sha256": hashlib.sha256(data).hexdigest(), "size_in_bytes": len(data)}
    if PLACEHOLDER.encode() in data:
        described |= {"prefix_placeholder": PLACEHOLDER, "file_mode": "binary" if b"\0" in data else "text"}
    return *_file(name, data, mode), described


def _read(name: str, content: bytes | str | Path) -> tuple[bytes, int]:
    if isinstance(content, Path):
        return content.read_bytes(), 0o755 if os.access(content, os.X_OK) else 0o644
    data = content.encode() if isinstance(content, str) else content
    return data, 0o755 if name.startswith(("bin/", "python-scripts/")) else 0o644


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode()


def _lines(files: Mapping[str, Content]) -> bytes:
    return "".join(f"{name}\n" for name in sorted(files)).encode()


def read_package(path: Path) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The files that a ``.conda`` package installs, and those of its ``info`` folder; symbolic links are left out."""
    parts: dict[str, dict[str, bytes]] = {"pkg": {}, "info": {}}
    with zipfile.ZipFile(path) as outer:
        for member in outer.namelist():
            if not member.endswith(".tar.zst"):
                continue
            with zstandard.ZstdDecompressor().stream_reader(outer.open(member)) as stream:
                data = stream.read()
            with tarfile.open(fileobj=io.BytesIO(data)) as archive:
                for entry in filter(tarfile.TarInfo.isfile, archive):
                    content = archive.extractfile(entry)
                    assert content is not None
                    parts[member.split("-")[0]][entry.name] = content.read()
    return parts["pkg"], parts["info"]
