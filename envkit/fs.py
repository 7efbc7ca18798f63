"""Files that appear whole or not at all, and folders that go away completely."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import stat
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envkit.owner import Owner, is_left_behind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

TEMPORARY = ".envkit-new-"
"""How names of files begin that are being written; who writes them and something random follow."""
_RETRY_AFTER_S = (0.05, 0.2, 0.5, 1.0)


def write_bytes(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Publish ``data`` at ``path`` atomically, durably, with permissions ``mode``.

    Raises:
        OSError: the folder is missing or cannot be written; ``path`` is unchanged then.
    """
    with _written(path.parent, data, mode) as temporary:
        os.replace(temporary, path)  # noqa: PTH105 - a string from mkstemp
    sync_folder(path.parent)


def write_new(path: Path, data: bytes) -> None:
    """Publish ``data`` at ``path`` as ``write_bytes`` does, unless there is something already.

    Of several that try at once one succeeds, on network file systems too, where locks may not work (open(2), O_EXCL).

    Raises:
        FileExistsError: there is something at ``path``.
        OSError: the folder is missing or cannot be written.
    """
    with _written(path.parent, data, 0o644) as temporary:
        try:
            os.link(temporary, path)
        except OSError as error:
            if error.errno not in {errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.EMLINK, errno.EACCES}:
                raise
            if path.exists():  # a file system without hard links, such as FAT: no other machine shares it
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
            os.rename(temporary, path)  # noqa: PTH104 - as above
    sync_folder(path.parent)


@contextlib.contextmanager
def _written(folder: Path, data: bytes, mode: int) -> Iterator[str]:
    """A temporary file in ``folder`` with its bytes on the disk; what is left of it afterwards goes."""
    import tempfile  # noqa: PLC0415 - reading needs none of it, and start-up counts

    handle, temporary = tempfile.mkstemp(prefix=temporary_start(), dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)  # noqa: PTH101 - a string from mkstemp
        yield temporary
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)  # noqa: PTH108 - as above


def make_folder(path: Path) -> None:
    """Make a folder and those above it, as far as they are not there.

    Raises:
        OSError: it cannot be made. In a file system that only shows the system's state (``/proc``) that is a
            PermissionError: such a one says that there is no such file, as if only the folder above were missing.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileNotFoundError as error:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(path)) from error


def sync_folder(folder: Path) -> None:
    """Make what was renamed, made or removed in a folder last through a loss of power, where the system can."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):  # some file systems sync no folders
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def flush(folder: Path, *, limit_s: float | None = None) -> None:
    """Get what was written below ``folder`` onto its disk, with all else on that disk (syncfs(2)); Linux only.

    Args:
        folder: anything on the disk.
        limit_s: how long it is waited for, where nothing is lost by going on; a busy disk takes its time for what
            others write.

    Raises:
        OSError: the disk could not take it.
    """
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 - as above
    import threading  # noqa: PLC0415 - as above

    handle = os.open(folder, os.O_RDONLY)
    failed: list[int] = []
    sync = ctypes.CDLL(None, use_errno=True).syncfs

    def _sync() -> None:
        if sync(handle) != 0:
            failed.append(ctypes.get_errno())
        os.close(handle)

    if limit_s is None:
        _sync()
    else:
        thread = threading.Thread(target=_sync, daemon=True)
        thread.start()
        thread.join(limit_s)
    if failed and failed[0] != errno.ENOSYS:
        raise OSError(failed[0], os.strerror(failed[0]), str(folder))


def sweep_temporaries(*folders: Path) -> None:
    """Remove what killed processes have left in these folders of files and folders that they were writing."""
    for folder in folders:
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                if not entry.name.startswith(TEMPORARY):
                    continue
                mark = entry.name.removeprefix(TEMPORARY).rpartition("-")[0]
                if not is_left_behind(mark, entry.stat(follow_symlinks=False).st_mtime):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    remove_tree(Path(entry.path))
                else:
                    os.unlink(entry.path)  # noqa: PTH108 - a string from scandir


def temporary_start() -> str:
    """How the name of a temporary file or folder of this process begins, as ``tempfile`` takes it."""
    return f"{TEMPORARY}{Owner.here().mark()}-"


def write_text(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Publish UTF-8 ``text`` with its newlines as they are."""
    write_bytes(path, text.encode("utf-8"), mode=mode)


def write_json(path: Path, value: object) -> None:
    """Publish ``value`` as JSON for people and programs."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def file_sha256(path: Path) -> str:
    """sha256 of a file's bytes, in hexadecimal digits."""
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def remove_tree(path: Path) -> None:
    """Remove a folder and all in it, read-only entries too; a missing one is fine.

    Raises:
        OSError: something could not be removed.
    """
    if path.is_symlink():
        path.unlink()
        return
    for wait_s in _RETRY_AFTER_S:
        try:
            _remove_tree(path)
        except OSError as error:  # noqa: PERF203 - a handful of rounds
            # an installer that is being killed may still write; a network file system renames what is open
            if error.errno != errno.ENOTEMPTY:
                raise
            time.sleep(wait_s)
        else:
            return
    _remove_tree(path)


def _remove_tree(path: Path) -> None:
    import shutil  # noqa: PLC0415 - as above

    top = os.fspath(path)

    def _make_writable_and_retry(function: Callable[..., Any], name: str, error: object) -> None:
        exception = error[1] if isinstance(error, tuple) else error
        if isinstance(exception, FileNotFoundError):
            return
        if not isinstance(exception, PermissionError):
            raise exception  # type: ignore[misc]  # shutil hands over the exception it caught
        # only folders of this very tree: a file may be a link to, or share its inode with, what lies elsewhere
        for folder in (os.path.dirname(name), name):  # noqa: PTH120
            if folder.startswith(top) and stat.S_ISDIR(os.lstat(folder).st_mode):
                os.chmod(folder, stat.S_IRWXU)  # noqa: PTH101
        if os.name == "nt" and not os.path.isdir(name):  # noqa: PTH112
            os.chmod(name, stat.S_IWRITE)  # noqa: PTH101 - Windows refuses to delete read-only files
        if stat.S_ISDIR(os.lstat(name).st_mode):
            remove_tree(Path(name))
        else:
            function(name)

    shutil.rmtree(path, onerror=_make_writable_and_retry)


def empty_folder(path: Path, *, first: str | None = None, last: str | None = None, but: Collection[str] = ()) -> None:
    """Remove what is in a folder, and keep the folder: it is the user's own, or a mount point.

    Args:
        path: the folder.
        first: name of what goes before all else.
        last: name of what goes after all else.
        but: names of what stays.

    Raises:
        OSError: something could not be removed.
    """
    entries = [entry for entry in path.iterdir() if entry.name not in but] if path.is_dir() else []
    for entry in sorted(entries, key=lambda entry: (entry.name == last, entry.name != first)):
        if entry.is_dir() and not entry.is_symlink():
            remove_tree(entry)
        else:
            entry.unlink()
