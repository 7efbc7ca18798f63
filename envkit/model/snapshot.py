"""Snapshots: what was true of an environment when it was verified."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from envkit.errors import InvalidFileError
from envkit.model.jsontext import JsonObject, checked_file_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One snapshot, read from its ``manifest.json``.

    Attributes:
        id: ``20261130T145901Z``; several in one second get ``-2``, ``-3``.
        taken_at: UTC.
        path: its folder.
        verified: whether the verification passed; snapshots are written only then.
        environment: name, id, spec, python, installer, engine, build CUDA and toolkit of that time.
        driver_version: None when there was no driver.
        torch_version: as torch itself says, local label included.
        gpus: names.
        host: facts of the machine.
        files: sha256 by file name.
    """

    id: str
    taken_at: str
    path: Path
    verified: bool
    environment: Mapping[str, Any]
    driver_version: str | None
    torch_version: str | None
    gpus: tuple[str, ...]
    host: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """An entry of ``snapshots`` (docs/json.md)."""
        return {
            "id": self.id,
            "taken_at": self.taken_at,
            "path": str(self.path),
            "verified": self.verified,
            "driver_version": self.driver_version,
            "torch_version": self.torch_version,
            "gpus": list(self.gpus),
        }

    def to_manifest(self) -> dict[str, Any]:
        """The content of ``manifest.json``."""
        return {
            "schema": SCHEMA,
            "id": self.id,
            "taken_at": self.taken_at,
            "verified": self.verified,
            "environment": dict(self.environment),
            "driver_version": self.driver_version,
            "torch_version": self.torch_version,
            "gpus": list(self.gpus),
            "host": dict(self.host),
            "files": dict(self.files),
        }


def parse_manifest(text: str, folder: Path) -> Snapshot:
    """Read the manifest of the snapshot in ``folder``.

    Raises:
        InvalidFileError: it is no manifest, or one of a newer envkit.
    """
    source = str(folder / "manifest.json")
    try:
        content = JsonObject.parse(text)
        schema = content.schema()
        if schema > SCHEMA:
            raise InvalidFileError(
                source, f"the snapshot has schema {schema}, this envkit reads up to {SCHEMA}.", hint="Update envkit."
            )
        environment, files = content.inner("environment"), content.inner("files")
        environment.file_name("name")
        return Snapshot(
            id=content.file_name("id"),
            taken_at=content.text("taken_at"),
            path=folder,
            verified=content.flag("verified"),
            environment=environment.values,
            driver_version=content.optional_text("driver_version"),
            torch_version=content.optional_text("torch_version"),
            gpus=content.texts("gpus"),
            host=content.inner("host").values,
            files={checked_file_name(name): files.text(name) for name in files.values},
        )
    except ValueError as error:
        raise InvalidFileError(
            source, "the snapshot's manifest cannot be read.", why=f"{type(error).__name__}: {error}"
        ) from error
