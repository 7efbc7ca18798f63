"""``envkit snapshot``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from envkit.cli.options import env_argument, json_option, lock_timeout_option, progress
from envkit.cli.render import emit

if TYPE_CHECKING:
    from envkit.model.snapshot import Snapshot


@click.group("snapshot")
def command() -> None:
    """Take, list, show and export snapshots: what was true when an environment was verified."""


@command.command("take")
@env_argument
@lock_timeout_option
@json_option
def take(env: str, *, lock_timeout: float, as_json: bool) -> int:
    """Verify an environment (level device) and, when that succeeds, take a snapshot."""
    from envkit.cli.texts import verify_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.verify import verify  # noqa: PLC0415

    with progress(steps=2) as shown:
        result = verify(env, level="device", progress=shown, lock_timeout_s=lock_timeout)
    return emit(result, lambda: verify_lines(result), as_json=as_json)


@dataclass(frozen=True, slots=True)
class _Snapshots:
    snapshots: tuple[Snapshot, ...]

    def to_json(self) -> dict[str, Any]:
        return {"snapshots": [item.to_json() for item in self.snapshots]}


@command.command("list")
@env_argument
@json_option
def list_(env: str, *, as_json: bool) -> int:
    """List the snapshots of an environment, newest first; also of one that has been removed."""
    from envkit.cli.texts import snapshots_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.snapshot import list_snapshots  # noqa: PLC0415

    result = _Snapshots(list_snapshots(env))
    return emit(result, lambda: snapshots_lines(result.snapshots), as_json=as_json)


@dataclass(frozen=True, slots=True)
class _Shown:
    snapshot: Snapshot

    def to_json(self) -> dict[str, Any]:
        return {"snapshot": {**self.snapshot.to_manifest(), "path": str(self.snapshot.path)}}


@command.command("show")
@env_argument
@click.argument("snapshot_id", required=False, metavar="[SNAPSHOT]")
@json_option
def show(env: str, snapshot_id: str | None, *, as_json: bool) -> int:
    """Show one snapshot (by default the newest): driver, GPUs, versions, files."""
    from envkit.cli.texts import snapshot_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.snapshot import check_files, find_snapshot  # noqa: PLC0415

    result = _Shown(find_snapshot(env, snapshot_id))
    check_files(result.snapshot)
    return emit(result, lambda: snapshot_lines(result.snapshot), as_json=as_json)


@command.command("export")
@env_argument
@click.argument("snapshot_id", required=False, metavar="[SNAPSHOT]")
@click.option("-o", "--output", metavar="DIR", help="Folder to write; by default NAME-SNAPSHOT here.")
@json_option
def export(env: str, snapshot_id: str | None, *, output: str | None, as_json: bool) -> int:
    """Copy a snapshot to a folder that can be handed on: `envkit restore DIR` works from it elsewhere."""
    from envkit.operations.environments import prefix_from  # noqa: PLC0415 - start-up counts
    from envkit.operations.snapshot import export_snapshot  # noqa: PLC0415

    result = export_snapshot(env, snapshot_id, None if output is None else prefix_from(output))
    return emit(result, lambda: [str(path) for path in result.files], as_json=as_json)
