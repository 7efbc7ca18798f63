"""What a prefix says of itself: whether envkit made it, and with which installer."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

RECORD = ".envkit/environment.json"
LOCK = ".envkit/lock.yaml"


@dataclass(frozen=True)
class Managed:
    """An environment of envkit.

    Attributes:
        prefix: its folder.
        name: by its record, or None where that cannot be read.
        installer: "pip" or "conda", or None.
        problem: why the record cannot be read, or None.
    """

    prefix: str
    name: str | None = None
    installer: str | None = None
    problem: str | None = None

    def word(self, environment_folders: Iterable[str] = ()) -> str:
        """What a user types for it: its name where envkit finds it by that, else its path, quoted for a shell.

        Args:
            environment_folders: conda's ``envs_dirs``, in which envkit looks too.
        """
        prefix = Path(self.prefix)
        found_by_name = prefix.name == self.name and any(_same(prefix.parent, Path(it)) for it in environment_folders)
        return shlex.quote(prefix.name if found_by_name else self.prefix)

    @property
    def lock(self) -> Path:
        """The path of its own lock."""
        return Path(self.prefix, LOCK)


def read_managed(prefix: str) -> Managed | None:
    """The environment of envkit at ``prefix``; None where there is none, or nothing can be seen of it."""
    path = Path(prefix, RECORD)
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        # os.path: Path.is_dir raises where the prefix itself is closed
        seen = os.path.isdir(path.parent)  # noqa: PTH112 - as said
        return Managed(prefix, problem=f"{path} cannot be read: {error.strerror}.") if seen else None
    except (ValueError, RecursionError):
        return Managed(prefix, problem=f"{path} is damaged.")
    name, installer = (record.get(key) if isinstance(record, dict) else None for key in ("name", "installer"))
    if not isinstance(name, str) or installer not in {"pip", "conda"}:
        return Managed(prefix, problem=f"{path} is damaged.")
    return Managed(prefix, name=name, installer=installer)


def has_pip_torch(prefix: str) -> bool:
    """Whether pip (or uv) has put torch into the prefix."""
    places = ("lib/python3.*/site-packages", "Lib/site-packages")
    return any(any(Path(prefix).glob(f"{place}/torch-*.dist-info/METADATA")) for place in places)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False
