"""How much a lock's files are to download, as far as it states sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from envkit.model.texts import size_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from envkit.model.conda_record import CondaRecord
    from envkit.model.locked import LockedPackage


@dataclass(frozen=True, slots=True)
class Download:
    """What a lock says of the size of its files.

    Attributes:
        size_bytes: of those whose size is known.
        unknown: how many others there are.
    """

    size_bytes: int
    unknown: int

    @property
    def size(self) -> str:
        """For people: "1.9 GB", "at least 1.9 GB"."""
        return f"{'at least ' if self.unknown else ''}{size_text(self.size_bytes)}"

    def __str__(self) -> str:
        of_them = "one file" if self.unknown == 1 else f"{self.unknown} files"
        return f"{self.size} to download{f' (of {of_them} the size is not known)' if self.unknown else ''}"


def download_of(files: Iterable[LockedPackage | CondaRecord]) -> Download | None:
    """The sum of the files, 0 of none; None where no size is known."""
    sizes = [item.size for item in files]
    known = [size for size in sizes if size is not None]
    return Download(sum(known), len(sizes) - len(known)) if known or not sizes else None
