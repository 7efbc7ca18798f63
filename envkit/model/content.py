"""What a look at every installed file found, compared with what the packages' RECORD files say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

FindingKind = Literal["changed", "missing", "unreadable", "outside", "record"]
"""``outside``: an entry leads out of the prefix. ``record``: a package's RECORD is gone or makes no sense."""


@dataclass(frozen=True, slots=True)
class FileFinding:
    """One file that is not what its package says.

    Attributes:
        package: canonical name; of several that list the same file, the first.
        path: relative to the prefix, with ``/``.
        kind: what is wrong.
        expected: what RECORD says, "sha256=..." or "120 bytes"; None where that is not the point.
        found: what is there instead, or None.
    """

    package: str
    path: str
    kind: FindingKind
    expected: str | None = None
    found: str | None = None

    def __str__(self) -> str:
        what = {"record": "no usable RECORD", "outside": "leads out of the environment"}.get(self.kind, self.kind)
        return f"{shown(self.path)} of {self.package} ({what})"

    def to_json(self) -> dict[str, Any]:
        """The finding as an object of JSON output (docs/json.md)."""
        return {
            "package": self.package,
            "path": shown(self.path),
            "kind": self.kind,
            "expected": self.expected,
            "found": self.found,
        }


@dataclass(frozen=True, slots=True)
class ContentReport:
    """All files of an environment's packages, compared with their RECORDs.

    Attributes:
        files_checked: how many were compared by their hash or size.
        bytes_checked: how much of them was read.
        findings: by path.
        leftovers: paths in site-packages: what begins with ``~`` (pip renames to that, and was cut off), and temporary
            files of uv.
        duplicates: by project, its dist-info folders where there is more than one.
    """

    files_checked: int
    bytes_checked: int
    findings: tuple[FileFinding, ...]
    leftovers: tuple[str, ...] = ()
    duplicates: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def damaged_packages(self) -> tuple[str, ...]:
        """Names of the packages whose files are not theirs any more."""
        return tuple(sorted({item.package for item in self.findings}))


def shown(path: str) -> str:
    """A path for people and JSON: bytes that are no UTF-8 are written as escapes."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
