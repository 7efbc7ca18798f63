"""The record of a toolkit that envkit has installed: from which files, so that it can be made again from the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast, get_args

from envkit.model.conda_record import conda_record
from envkit.model.fields import Fields
from envkit.model.lock_text import flow_text
from envkit.model.locked import locked_package
from envkit.model.yamltext import parse_yaml

if TYPE_CHECKING:
    from envkit.model.conda_record import CondaRecord
    from envkit.model.locked import LockedPackage

SCHEMA = 1
Source = Literal["pypi", "conda"]
"""Wheels of the default index, or packages of conda channels."""
_KEYS = {"schema", "version", "source", "platform", "libraries", "created_at", "created_by", "packages"}


@dataclass(frozen=True, slots=True)
class ToolkitRecord:
    """What is in an installed toolkit.

    Attributes:
        version: of the toolkit, in full: "13.2.2".
        source: where its files come from.
        platform: conda's name of the system it is for.
        libraries: what was asked for beside the compiler.
        packages: every file, with its hash; all of one kind, which ``source`` tells.
        created_at: UTC, "2026-11-30T14:59:01Z".
        created_by: the envkit that made it.
    """

    version: str
    source: Source
    platform: str
    libraries: tuple[str, ...]
    packages: tuple[LockedPackage | CondaRecord, ...]
    created_at: str
    created_by: str

    @property
    def size(self) -> int | None:
        """Bytes that are downloaded for it; None where one is not known."""
        sizes = [item.size for item in self.packages]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    def to_text(self) -> str:
        """The file, one line per package."""
        head = {
            "schema": SCHEMA,
            "version": self.version,
            "source": self.source,
            "platform": self.platform,
            "libraries": list(self.libraries),
            "created_at": self.created_at,
            "created_by": self.created_by,
        }
        lines = [f"{key}: {flow_text(value)}" for key, value in head.items()]
        entries = [f"- {flow_text(item.to_dict())}" for item in sorted(self.packages, key=lambda item: item.name)]
        return "\n".join([*lines, "packages:", *entries]) + "\n"


def parse_toolkit_record(text: str, path: str) -> ToolkitRecord:
    """Read a record.

    Args:
        text: of the file.
        path: the file as the user named it, for messages.

    Raises:
        InvalidFileError: it is not what envkit writes.
    """
    document = parse_yaml(text, path)
    fields = Fields(document, (), _KEYS)
    fields.schema(SCHEMA)
    source = fields.text("source")
    if source not in get_args(Source):
        raise fields.error("source", f"source: {source!r} is neither of {', '.join(get_args(Source))}.")
    read = locked_package if source == "pypi" else conda_record
    packages = tuple(read(document, place) for place, _ in fields.items("packages"))
    if not packages:
        raise fields.error("packages", "packages: no package is named.")
    for place, item in zip(fields.items("packages"), packages, strict=True):
        if getattr(item, "source", None) is not None:
            raise document.error(place[0], f"{item.name}: the wheels of a toolkit come from the default index alone.")
    return ToolkitRecord(
        version=fields.version("version"),
        source=cast("Source", source),
        platform=fields.text("platform"),
        libraries=fields.texts("libraries"),
        packages=packages,
        created_at=fields.text("created_at"),
        created_by=fields.text("created_by"),
    )
