"""Files that appear whole or not at all, and folders that go away completely."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def write_bytes(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Publish ``data`` at ``path`` atomically, durably, with permissions ``mode``.

    Raises:
        OSError: the folder is missing or cannot be written; ``path`` is unchanged then.
    """
    import tempfile  # noqa: PLC0415 - reading needs none of it, and start-up counts

    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)  # noqa: PTH101 - a string from mkstemp
        os.replace(temporary, path)  # noqa: PTH105
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)  # noqa: PTH108
        raise


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

    import shutil  # noqa: PLC0415 - as above

    if path.is_symlink():
        path.unlink()
        return
    shutil.rmtree(path, onerror=_make_writable_and_retry)


def empty_folder(path: Path) -> None:
    """Remove what is in a folder, and keep the folder: it is the user's own, or a mount point.

    Raises:
        OSError: something could not be removed.
    """
    for entry in list(path.iterdir()) if path.is_dir() else ():
        if entry.is_dir() and not entry.is_symlink():
            remove_tree(entry)
        else:
            entry.unlink()
