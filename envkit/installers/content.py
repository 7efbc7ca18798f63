"""Comparing every installed file with what its package's record says: hash and size.

pip and uv write RECORD for this very prefix, conda ``conda-meta/*.json``, so that scripts whose first line names the
interpreter count as they were installed. The RECORD that conda's Python packages bring along counts for nothing: it is
that of the machine which built them. (https://packaging.python.org/en/latest/specifications/recording-installed-packages/)
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from envkit.errors import InvalidFileError
from envkit.installers.conda_meta import files_of_record, is_conda_prefix, record_paths
from envkit.installers.installed import BUILD_TOOLS, distributions, is_by_conda, pip_packages, site_packages
from envkit.installers.record import NO_RECORD, open_regular, record_rows
from envkit.model.content import ContentReport, FileFinding, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from envkit.model.content import FindingKind

_ALGORITHMS = {"sha256", "sha384", "sha512"}
_SHA256 = re.compile(r"[0-9a-f]{64}")
_UNCHECKED = {"directory", "pyc_file"}
"""What conda notes and nobody misses: Python makes its bytecode again."""
_CHUNK_BYTES = 1 << 20
_BATCH = 64
"""Files per task of the pool: most are small, and a task of its own for each costs more than its hash."""
UV_TEMPORARY = re.compile(r"\.tmp[A-Za-z0-9]{6}", re.ASCII)
"""A temporary name of uv's: those of the Rust crate tempfile."""


class _Entry(NamedTuple):
    """What one RECORD says of a file."""

    package: str
    digest: str  # "sha256=...", without padding
    size: int | None


_Files = dict[str, list[_Entry]]
"""By path relative to the prefix; several where several packages bring the same file, and any of them may have won."""


def check_content(prefix: Path) -> ContentReport:
    """Read every file that the packages in ``prefix`` list, and compare its hash.

    Entries without a hash (RECORD itself, INSTALLER, bytecode) and files that no RECORD lists are left aside.
    """
    return _check(prefix, _by_hash)


def glance_at_content(prefix: Path, since_s: float) -> ContentReport:
    """The same without reading what seems untouched: only files changed after ``since_s`` (Unix time) are hashed.

    A changed byte in a file whose time was put back is not seen.
    """
    return _check(prefix, lambda path, entries: _by_look(path, entries, since_s))


_Answer = tuple[int, "FindingKind | None", "str | None", "str | None"]
"""Bytes read, what is wrong, expected, found."""


def _check(prefix: Path, look: Callable[[str, list[_Entry]], _Answer]) -> ContentReport:
    try:
        files, findings = _recorded(prefix)
        leftovers, duplicates = _oddities(prefix)
    except OSError as error:
        broken = FileFinding("site-packages", str(error.filename or prefix), "unreadable", found=error.strerror)
        return ContentReport(0, 0, (broken,))
    paths, top = sorted(files), os.fspath(prefix)
    batches = [paths[start : start + _BATCH] for start in range(0, len(paths), _BATCH)]

    def of_batch(batch: list[str]) -> list[_Answer]:
        return [look(f"{top}/{path}", files[path]) for path in batch]

    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:  # hashlib lets other threads run meanwhile
        answers = [answer for answered in pool.map(of_batch, batches) for answer in answered]
    for path, (_, kind, expected, found) in zip(paths, answers, strict=True):
        if kind is not None:
            findings.append(FileFinding(files[path][0].package, path, kind, expected, found))
    findings.sort(key=lambda item: item.path)
    return ContentReport(len(paths), sum(answer[0] for answer in answers), tuple(findings), leftovers, duplicates)


def _oddities(prefix: Path) -> tuple[tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]]:
    """What pip and uv leave when they are cut off, and projects that are there twice."""
    site = site_packages(prefix)
    if site is None:
        return (), ()
    folders: dict[str, list[str]] = {}
    for name, _, folder in distributions(prefix):
        folders.setdefault(name, []).append(folder.name)
    leftovers = [shown(name) for name in os.listdir(site) if name.startswith("~")]  # noqa: PTH208 - names
    leftovers += [shown(os.path.relpath(path, site)) for path in _half_copied(os.fspath(site))]
    return tuple(sorted(leftovers)), tuple((name, tuple(found)) for name, found in folders.items() if len(found) > 1)


def _half_copied(site: str) -> Iterator[str]:
    """Files that a killed uv was about to copy: beside their target (uv 0.13.9, where it cannot link)."""
    for folder, _, names in os.walk(site):
        for name in names:
            if name.startswith(".tmp") and UV_TEMPORARY.fullmatch(name):
                yield f"{folder}/{name}"


def _recorded(prefix: Path) -> tuple[_Files, list[FileFinding]]:
    """All files with a hash in some record, and what is wrong with the records themselves.

    Each wheel lists its METADATA, mostly near the end: a RECORD without it was cut off, or emptied.
    """
    files: _Files = {}
    findings = _recorded_by_conda(prefix, files)
    for name, _, folder in distributions(prefix):
        if is_by_conda(folder):
            continue
        record = folder / "RECORD"
        site = os.path.relpath(folder.parent, prefix).replace(os.sep, "/")
        try:
            rows = list(_rows(record))
            if f"{folder.name}/METADATA" not in {path for path, _, _ in rows}:
                raise ValueError("it does not list METADATA")
            for path, digest, size in rows:
                if not digest:
                    continue
                place = _place(site, path)
                if place is None:
                    findings.append(FileFinding(name, path, "outside"))
                else:
                    files.setdefault(place, []).append(_Entry(name, digest, size))
        except OSError as error:
            findings.append(FileFinding(name, f"{site}/{folder.name}/RECORD", "record", found=error.strerror))
        except NO_RECORD as error:
            findings.append(FileFinding(name, f"{site}/{folder.name}/RECORD", "record", found=str(error)))
    return files, findings


def _recorded_by_conda(prefix: Path, files: _Files) -> list[FileFinding]:
    """Add conda's files that have a hash to ``files``; gives what can be told without hashes.

    A link counts as long as it is there: its hash is that of what it led to elsewhere. Where pip has put its own pip,
    setuptools or wheel in the place of conda's, conda's files are no matter.
    """
    findings, replaced = [], BUILD_TOOLS.intersection(pip_packages(prefix)) if is_conda_prefix(prefix) else set()
    for record in record_paths(prefix):
        try:
            package, recorded = files_of_record(record)
        except InvalidFileError as error:
            package = record.name.rsplit("-", 2)[0]
            findings.append(FileFinding(package, f"conda-meta/{record.name}", "record", found=error.why))
            continue
        for file in recorded if package not in replaced else ():
            place = _place(".", file.path)
            if place is None:
                findings.append(FileFinding(package, file.path, "outside"))
            elif file.kind in _UNCHECKED:
                continue
            elif file.kind == "softlink" or not _SHA256.fullmatch(file.sha256 or ""):
                if not os.path.lexists(prefix / place):
                    findings.append(FileFinding(package, place, "missing"))
            else:
                digest = base64.urlsafe_b64encode(bytes.fromhex(file.sha256 or "")).decode().rstrip("=")
                files.setdefault(place, []).append(_Entry(package, f"sha256={digest}", file.size_bytes))
    return findings


def _rows(record: Path) -> Iterator[tuple[str, str, int | None]]:
    """Path, digest and size of each entry; an empty digest where there is none that can be checked.

    Raises:
        OSError: the file is missing or cannot be read.
        ValueError, csv.Error: it is no RECORD.
    """
    for path, digest, size in record_rows(record):
        algorithm, _, value = digest.partition("=")
        if algorithm not in _ALGORITHMS or path.endswith(".pyc"):
            yield path, "", None
            continue
        if len(value) < 43:  # noqa: PLR2004 - a sha256 in base64
            raise ValueError(f"{digest!a} is no hash")
        yield path, digest.rstrip("="), int(size) if size.isdecimal() and len(size) < 20 else None  # noqa: PLR2004


def _place(site: str, path: str) -> str | None:
    """A path of a RECORD, relative to the prefix; None when it leads out of it."""
    path = path.replace("\\", "/") if os.name == "nt" else path
    if os.path.isabs(path) or "\0" in path:  # noqa: PTH117 - text
        return None
    if ".." not in path and site != ".":
        return f"{site}/{path}"
    place = os.path.normpath(f"{site}/{path}").replace(os.sep, "/")
    return None if place == ".." or place.startswith("../") else place


def _by_hash(path: str, entries: list[_Entry]) -> _Answer:
    """Whether a file is one of ``entries``."""
    first = entries[0]
    try:
        handle = open_regular(path)
    except OSError as error:
        return _unopened(path, error)
    try:
        size = os.fstat(handle).st_size
        if all(item.size not in {None, size} for item in entries):
            return 0, "changed", f"{first.size} bytes", f"{size} bytes"
        digests = {}
        for algorithm in {item.digest.partition("=")[0] for item in entries}:
            digests[algorithm] = _digest(handle, algorithm)
        if any(item.digest == digests[item.digest.partition("=")[0]] for item in entries):
            return size, None, None, None
        return size, "changed", first.digest, digests[first.digest.partition("=")[0]]
    except OSError as error:
        return 0, "unreadable", None, error.strerror
    finally:
        os.close(handle)


def _unopened(path: str, error: OSError) -> _Answer:
    if os.path.islink(path):  # noqa: PTH114 - text
        return 0, "changed", "a file", "a symbolic link"
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return 0, "missing", None, None
    return 0, "unreadable", None, error.strerror


def _digest(handle: int, algorithm: str) -> str:
    """The digest of an open file, written as in a RECORD."""
    os.lseek(handle, 0, os.SEEK_SET)
    digest = hashlib.new(algorithm)
    while chunk := os.read(handle, _CHUNK_BYTES):
        digest.update(chunk)
    return f"{algorithm}={base64.urlsafe_b64encode(digest.digest()).decode().rstrip('=')}"


def _by_look(path: str, entries: list[_Entry], since_s: float) -> _Answer:
    """Whether a file may be one of ``entries``, by its size, and by its hash where it was changed since.

    The time of the inode (ctime) would tell more, but each further environment that links the file changes it.
    """
    try:
        status = os.lstat(path)
    except OSError as error:
        return _unopened(path, error)
    is_same_size = any(item.size in {None, status.st_size} for item in entries)
    if is_same_size and stat.S_ISREG(status.st_mode) and status.st_mtime <= since_s:
        return 0, None, None, None
    return _by_hash(path, entries)
