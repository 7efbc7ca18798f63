"""envkit's own lists of prefixes that lie elsewhere: files in its data folder, a path per line."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from envkit import fs, paths
from envkit.operations.locking import list_lock

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class PrefixList:
    """One list.

    Attributes:
        name: of its file, without ``.txt``, and of its lock.
    """

    name: str

    @property
    def file(self) -> Path:
        """Where it lies."""
        return paths.data_home() / f"{self.name}.txt"

    def read(self) -> list[Path]:
        """What is in it, whether or not it still exists.

        Raises:
            OSError: it cannot be read; no file is an empty list.
        """
        try:
            text = os.fsdecode(self.file.read_bytes())
        except FileNotFoundError:
            return []
        return [
            Path(line)
            for line in dict.fromkeys(text.split("\n"))
            if line.startswith(os.sep) or (os.name == "nt" and line)
        ]

    def add(self, prefix: Path, keep: Callable[[Path], bool] = lambda _: True) -> None:
        """Put a prefix into it, unless it is there by whatever path.

        Args:
            prefix: the folder.
            keep: whether another entry is to stay.

        Raises:
            OSError: what cannot be read is not written over, or it cannot be written.
            BusyError: another envkit is at it.
        """
        with list_lock(self.name):
            known = self.read()
            kept = [item for item in known if keep(item)]
            if os.path.realpath(prefix) not in map(os.path.realpath, kept):
                kept.append(prefix)
            if kept != known:
                self._write(kept)

    def drop(self, prefix: Path) -> None:
        """Take a prefix out of it, by whatever path it is there.

        Raises:
            OSError: it cannot be read or written.
            BusyError: another envkit is at it.
        """
        with list_lock(self.name):
            known = self.read()
            others = [item for item in known if os.path.realpath(item) != os.path.realpath(prefix)]
            if others != known:
                self._write(others)

    def _write(self, prefixes: list[Path]) -> None:
        fs.make_folder(paths.data_home())
        fs.write_bytes(self.file, b"".join(os.fsencode(prefix) + b"\n" for prefix in prefixes))
