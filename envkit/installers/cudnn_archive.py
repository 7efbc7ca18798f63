"""cuDNN's files out of an archive that NVIDIA publishes, or out of a wheel; nothing else of it is ever written."""

from __future__ import annotations

import lzma
import os
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from typing import IO, TYPE_CHECKING, NamedTuple

from envkit.errors import InvalidFileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDERS = ("include", "lib", "lib64", "bin")
_OF_CUDNN = re.compile(r"(lib)?cudnn[A-Za-z0-9._+-]*", re.ASCII)
_DEEPEST_ROOT = 2
"""``cudnn-linux-x86_64-8.9.7.29_cuda12-archive/include``, ``cuda/include``, ``nvidia/cudnn/include`` in a wheel."""
_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError)
"""What reading a broken, cut off or encrypted archive raises, RuntimeError also for a compression that is not known; so
does OSError, for a broken gzip or bzip2 stream."""


class _Member(NamedTuple):
    name: str
    kind: str  # file, folder, link or other
    link: str
    content: IO[bytes] | None
    is_executable: bool


def unpack_cudnn(archive: Path, folder: Path) -> None:
    """Put cuDNN's files of an archive into ``include``, ``lib``, ``lib64`` and ``bin`` below the new folder ``folder``.

    Raises:
        InvalidFileError: it is no archive, is broken, or holds what must not be unpacked: names that lead out of the
            folder, links to anything but a file beside them, devices.
        OSError: it cannot be read, or the disk is full.
    """
    shown = str(archive)
    seen: set[str] = set()
    folder.mkdir()
    try:
        for member in _members(archive):
            parts = _checked(member, shown)
            place = _place(parts)
            if place is None or member.kind == "folder":
                continue
            key = "/".join(place).lower()
            if key in seen:
                raise InvalidFileError(shown, f"{member.name!r} is in it twice.")
            seen.add(key)
            _write(member, folder.joinpath(*place))
    except _BROKEN as error:
        raise _broken(shown, error) from error
    except OSError as error:
        if error.errno is not None:  # a real one: reading it failed, or the disk is full
            raise
        raise _broken(shown, error) from error


def _broken(shown: str, error: Exception) -> InvalidFileError:
    return InvalidFileError(
        shown, "the archive is broken or not whole.", why=str(error) or None, hint="Download it again."
    )


def _members(archive: Path) -> Iterator[_Member]:
    if zipfile.is_zipfile(archive):
        yield from _of_zip(archive)
        return
    with archive.open("rb") as file, _tar(file, archive) as stream:
        for item in stream:
            kind = "file" if item.isreg() else "folder" if item.isdir() else "link" if item.issym() else "other"
            content = stream.extractfile(item) if kind == "file" else None
            yield _Member(item.name, kind, item.linkname, content, bool(item.mode & stat.S_IXUSR))


def _tar(file: IO[bytes], archive: Path) -> tarfile.TarFile:
    try:
        return tarfile.open(fileobj=file, mode="r|*")
    except tarfile.ReadError as error:
        hint = "Give one of NVIDIA's archives of cuDNN (.tar.xz, .tgz, .zip), or a wheel nvidia_cudnn_cu*.whl."
        raise InvalidFileError(str(archive), "it is no archive that envkit reads.", hint=hint) from error


def _of_zip(archive: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(archive) as opened:
        for item in opened.infolist():
            mode = item.external_attr >> 16
            form = stat.S_IFMT(mode)
            is_executable = bool(mode & stat.S_IXUSR)
            if item.is_dir():
                yield _Member(item.filename, "folder", "", None, is_executable)
            elif form == stat.S_IFLNK:
                yield _Member(item.filename, "link", opened.read(item).decode("utf-8", "replace"), None, is_executable)
            elif form in (0, stat.S_IFREG):
                with opened.open(item) as content:
                    yield _Member(item.filename, "file", "", content, is_executable)
            else:
                yield _Member(item.filename, "other", "", None, is_executable)


def _checked(member: _Member, shown: str) -> tuple[str, ...]:
    """The parts of a member's name, where nothing about it is suspicious."""
    name = member.name
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if name.startswith("/") or ".." in parts or re.search(r"[\\:\x00-\x1f]", name):
        raise InvalidFileError(shown, f"it names a file outside of itself: {name!r}.", why=_NOTHING)
    if member.kind == "other":
        raise InvalidFileError(shown, f"{name!r} is neither a file nor a folder nor a link.", why=_NOTHING)
    if member.kind == "link" and _OF_CUDNN.fullmatch(member.link) is None:
        raise InvalidFileError(shown, f"the link {name!r} leads to {member.link!r}, no file beside it.", why=_NOTHING)
    return parts


_NOTHING = "Archives of cuDNN hold nothing like it; nothing was unpacked."


def _place(parts: tuple[str, ...]) -> tuple[str, ...] | None:
    """Where a member belongs below the new folder; None: it is no file of cuDNN."""
    depth = next((index for index, part in enumerate(parts[: _DEEPEST_ROOT + 1]) if part in FOLDERS), None)
    if depth is None or _OF_CUDNN.fullmatch(parts[-1]) is None:
        return None
    inner = parts[depth:]
    # the import libraries of Windows lie one folder deeper
    folder = inner[:-1]
    return inner if len(folder) == 1 or folder == ("lib", "x64") else None


def _write(member: _Member, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if member.kind == "link":
        path.symlink_to(member.link)
    elif member.content is not None:
        with path.open("xb") as file:
            shutil.copyfileobj(member.content, file, 1 << 20)
        os.chmod(path, 0o755 if member.is_executable else 0o644)  # noqa: PTH101 - one call
