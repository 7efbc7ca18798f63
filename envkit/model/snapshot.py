"""Snapshots: what was true of an environment when it was verified."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from envkit.errors import InvalidFileError

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
        content = json.loads(text)
        schema = content["schema"]
        if not isinstance(schema, int) or schema > SCHEMA:
            raise InvalidFileError(
                source, f"the snapshot has schema {schema}, this envkit reads up to {SCHEMA}.", hint="Update envkit."
            )
        return Snapshot(
            id=str(content["id"]),
            taken_at=str(content["taken_at"]),
            path=folder,
            verified=bool(content["verified"]),
            environment=dict(content["environment"]),
            driver_version=content["driver_version"],
            torch_version=content["torch_version"],
            gpus=tuple(content["gpus"]),
            host=dict(content["host"]),
            files=dict(content["files"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidFileError(
            source, "the snapshot's manifest cannot be read.", why=f"{type(error).__name__}: {error}"
        ) from error
