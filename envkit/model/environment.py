"""Environments and the record that each one carries in ``<prefix>/.envkit/environment.json``."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from envkit.errors import InvalidFileError
from envkit.model.jsontext import JsonObject
from envkit.model.toolkit import Toolkit

SCHEMA = 1
RECORD = ".envkit/environment.json"
"""Where an environment's record lies, in its prefix."""
PYTHON = "Scripts/python.exe" if os.name == "nt" else "bin/python"
"""A venv's interpreter, in its prefix."""
State = Literal["complete", "incomplete", "broken"]
VerifyStatus = Literal["pass", "fail", "skip"]


@dataclass(frozen=True, slots=True)
class Environment:
    """A named prefix.

    Attributes:
        name: ``torch112_cu113_py39``.
        id: 8 hexadecimal digits, drawn at creation.
        prefix: the folder.
        backend: "venv" or "conda": what made the prefix.
        installer: "pip" or "conda": the only one that puts packages into it.
        engine: "uv", "pip" or "rattler": the program that does the work.
        python: full version, "3.9.18".
        build_cuda: the CUDA that torch was compiled for, or None for a CPU build.
        toolkit: what activation switches to, or None.
        state: complete, incomplete (a creation was cut off) or broken.
        lock_sha256: digest of what the lock it was made from installs (``Lock.digest``).
        spec: name of the spec.
        created_at, verified_at: UTC, as ``2026-11-30T14:59:01Z``; never verified: None.
        last_verify: how the newest verification ended, or None.
        envkit_version: which envkit made it.
        guard: whether pip and uv are kept from changing what is locked; None when its record does not tell.
        problem: why it is broken or incomplete, or None.
        recorded_prefix: where it was made, by its record.
    """

    name: str
    id: str
    prefix: Path
    backend: str
    installer: str
    engine: str
    python: str
    build_cuda: str | None
    toolkit: Toolkit | None
    lock_sha256: str
    spec: str
    created_at: str
    envkit_version: str
    verified_at: str | None = None
    last_verify: VerifyStatus | None = None
    guard: bool | None = None
    state: State = "complete"
    problem: str | None = None
    recorded_prefix: str = ""

    @property
    def executable(self) -> Path:
        """The environment's own interpreter."""
        return python_of(self.prefix)

    @property
    def envkit_dir(self) -> Path:
        """Where the prefix keeps its record, lock and newest snapshot."""
        return self.prefix / ".envkit"

    def to_json(self) -> dict[str, Any]:
        """The ``environment`` object of JSON output (docs/json.md)."""
        return {
            "name": self.name,
            "id": self.id or None,
            "prefix": str(self.prefix),
            "backend": self.backend or None,
            "installer": self.installer or None,
            "engine": self.engine or None,
            "python": self.python or None,
            "build_cuda": self.build_cuda,
            "toolkit": None if self.toolkit is None else self.toolkit.to_json(),
            "state": self.state,
            "problem": self.problem,
            "spec": self.spec or None,
            "created_at": self.created_at or None,
            "verified_at": self.verified_at,
            "last_verify": self.last_verify,
            "lock_sha256": self.lock_sha256 or None,
            "guard": self.guard,
        }

    def to_record(self) -> dict[str, Any]:
        """The content of ``.envkit/environment.json``."""
        toolkit = self.toolkit
        return {
            "schema": SCHEMA,
            "id": self.id,
            "name": self.name,
            "prefix": str(self.prefix),
            "spec": self.spec,
            "lock_sha256": self.lock_sha256,
            "installer": self.installer,
            "backend": self.backend,
            "engine": self.engine,
            "python": self.python,
            "build_cuda": self.build_cuda,
            "toolkit": None if toolkit is None else toolkit.to_json() | {"has_nvcc": toolkit.has_nvcc},
            "created_at": self.created_at,
            "verified_at": self.verified_at,
            "last_verify": self.last_verify,
            "guard": self.guard,
            "envkit_version": self.envkit_version,
        }

    def verified(self, status: VerifyStatus, at: str) -> Environment:
        """The environment after a verification that ended with ``status`` at the UTC time ``at``."""
        return replace(self, last_verify=status, verified_at=at if status == "pass" else self.verified_at)


def unreadable(prefix: Path, state: State, problem: str) -> Environment:
    """An environment of which nothing but its place is known."""
    return Environment(
        name=prefix.name,
        id="",
        prefix=prefix,
        backend="",
        installer="",
        engine="",
        python="",
        build_cuda=None,
        toolkit=None,
        lock_sha256="",
        spec="",
        created_at="",
        envkit_version="",
        state=state,
        problem=problem,
    )


def parse_record(text: str, prefix: Path) -> Environment:
    """Read the record of the environment at ``prefix``.

    Raises:
        InvalidFileError: it is no record, or one of a newer envkit.
    """
    source = f"{prefix}/.envkit/environment.json"
    try:
        record = JsonObject.parse(text)
        schema = record.schema()
        if schema > SCHEMA:
            raise InvalidFileError(
                source, f"the record has schema {schema}, this envkit reads up to {SCHEMA}.", hint="Update envkit."
            )
        return _environment(record, prefix)
    except ValueError as error:
        raise InvalidFileError(
            source,
            "the environment's record cannot be read.",
            why=f"{type(error).__name__}: {error}",
            hint="Restore the environment from its newest snapshot: `envkit restore NAME --replace`.",
        ) from error


def _environment(record: JsonObject, prefix: Path) -> Environment:
    last_verify = record.optional_text("last_verify")
    if last_verify not in {None, "pass", "fail", "skip"}:
        raise ValueError(f"last_verify cannot be {last_verify!a}")
    return Environment(
        name=record.file_name("name"),
        recorded_prefix=record.text("prefix"),
        id=record.file_name("id"),
        prefix=prefix,
        backend=record.text("backend"),
        installer=record.text("installer"),
        engine=record.text("engine"),
        python=record.text("python"),
        build_cuda=record.optional_text("build_cuda"),
        toolkit=None if record.values.get("toolkit") is None else recorded_toolkit(record.inner("toolkit")),
        lock_sha256=record.text("lock_sha256"),
        spec=record.text("spec"),
        created_at=record.text("created_at"),
        envkit_version=record.text("envkit_version"),
        verified_at=record.optional_text("verified_at"),
        last_verify=cast("VerifyStatus | None", last_verify),
        guard=None if record.values.get("guard") is None else record.flag("guard"),
    )


def recorded_toolkit(record: JsonObject) -> Toolkit:
    """The toolkit that a record names; ValueError where it does not."""
    return Toolkit(
        version=record.optional_text("version"),
        release=record.optional_text("release"),
        path=Path(record.text("path")),
        found_via="record",
        has_nvcc=record.flag("has_nvcc", default=True),
    )


def scripts_of(prefix: Path) -> Path:
    """The folder of a venv's programs and activate scripts."""
    return prefix / ("Scripts" if os.name == "nt" else "bin")


def python_of(prefix: Path) -> Path:
    """A venv's interpreter."""
    return prefix / PYTHON
