"""The commands that put cuDNN into a toolkit which this user may not change."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from envkit.model.locked import LockedPackage

_FOLDER = "cudnn-to-copy"


def commands_for_archive(archive: Path, toolkit: Path, library_folder: str) -> tuple[str, ...]:
    """For an archive on this disk; lines for a shell."""
    file = shlex.quote(str(archive.resolve()))
    is_zip = archive.suffix in {".zip", ".whl"}
    unpack = f"python3 -m zipfile -e {file} {_FOLDER}" if is_zip else f"tar -xf {file} -C {_FOLDER}"
    return _commands((unpack,), toolkit, library_folder, needs_links=is_zip)


def commands_for_wheel(wheel: LockedPackage, toolkit: Path, library_folder: str) -> tuple[str, ...]:
    """For a wheel of the default index that was not downloaded; lines for a shell."""
    file = f"{_FOLDER}/{wheel.file}"
    fetch = (
        f"python3 -m pip download --no-deps --only-binary=:all: --dest {_FOLDER} {wheel.name}=={wheel.version}",
        f"echo '{wheel.sha256}  {file}' | sha256sum --check && python3 -m zipfile -e {file} {_FOLDER}",
    )
    return _commands(fetch, toolkit, library_folder, needs_links=True)


def _commands(fetch: tuple[str, ...], toolkit: Path, library_folder: str, *, needs_links: bool) -> tuple[str, ...]:
    """``cp -n``: what is there is never overwritten."""
    include, library = (shlex.quote(str(toolkit / name)) for name in ("include", library_folder))
    # wheels and zips hold libcudnn.so.8 alone, and a linker looks for libcudnn.so
    links = (
        f'for file in $(cd {library} && ls libcudnn*.so.[0-9]); do sudo ln -s "$file" {library}/"${{file%.*}}"; done',
    )
    return (
        f"mkdir {_FOLDER}",
        *fetch,
        f"sudo mkdir -p {include} {library}",
        f"find {_FOLDER} -name 'cudnn*.h' -exec sudo cp -P -n {{}} {include}/ ';'",
        f"find {_FOLDER} -name 'libcudnn*' -exec sudo cp -P -n {{}} {library}/ ';'",
        *(links if needs_links else ()),
        f"sudo chmod a+r {include}/cudnn*.h {library}/libcudnn*",
    )


def is_writable(folders: Sequence[Path]) -> bool:
    """Whether files can be made in all of these folders, or in the nearest ones above them that are there."""
    for folder in folders:
        there = folder
        while not there.exists():
            there = there.parent
        if not os.access(there, os.W_OK | os.X_OK):
            return False
    return True
