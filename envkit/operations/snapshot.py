"""Snapshots: taking them, finding them, handing them on."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envkit import fs, paths
from envkit.errors import ExistsError, InvalidFileError, NotFoundError
from envkit.installers.installed import pip_freeze
from envkit.model.lock_text import render_lock
from envkit.model.snapshot import Snapshot, parse_manifest
from envkit.operations import clock
from envkit.operations.conda_export import conda_texts
from envkit.operations.environments import all_environments, find_environment, is_path, nearest, prefix_from
from envkit.operations.own_files import portable_lock
from envkit.probes.host import current_platform, host_facts

if TYPE_CHECKING:
    from envkit.model.driver import SmiReport
    from envkit.model.environment import Environment
    from envkit.model.lock import Lock
    from envkit.model.progress import Progress
    from envkit.model.report import VerifyReport

_PROCESSES = re.compile(r"^[|+].*\n\| *Processes:.*\Z", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class ExportResult:
    """Files of an exported snapshot."""

    snapshot: Snapshot
    files: tuple[Path, ...]

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit snapshot export --json``."""
        return {"snapshot": self.snapshot.to_json(), "files": [str(path) for path in self.files]}


def take_snapshot(
    environment: Environment, report: VerifyReport, smi: SmiReport, lock: Lock, *, progress: Progress
) -> Path:
    """Write down what is true of an environment that was just verified; gives the snapshot's folder.

    The folder appears whole or not at all. The newest snapshot is also kept inside the environment.

    Raises:
        ProgramError: the list of installed packages could not be had.
    """
    taken_at = clock.now()
    folder = _folder_of(environment)
    fs.make_folder(folder)
    target = _free(folder, clock.snapshot_id(taken_at))
    new = Path(tempfile.mkdtemp(prefix=fs.temporary_start(), dir=folder))
    new.chmod(0o755)
    try:
        hashes = {name: _put(new, name, text) for name, text in _texts(environment, report, smi, lock).items()}
        snapshot = Snapshot(
            id=target.name,
            taken_at=taken_at,
            path=target,
            verified=report.verified,
            environment=_environment_facts(environment),
            driver_version=str(smi.driver_version) if smi.driver_version else None,
            torch_version=report.facts("import").get("torch_version"),
            gpus=tuple(gpu.name or "unknown" for gpu in smi.gpus),
            host=host_facts(),
            files=hashes,
        )
        fs.write_json(new / "manifest.json", snapshot.to_manifest())
        new.rename(target)
        fs.sync_folder(folder)
    except BaseException:
        fs.remove_tree(new)
        raise
    _keep_newest(environment, target, progress)
    return target


def _texts(environment: Environment, report: VerifyReport, smi: SmiReport, lock: Lock) -> dict[str, str]:
    portable, raw = pip_freeze(environment.prefix, environment.executable)
    texts = {
        "pip-freeze.txt": portable,
        "nvidia-smi.txt": smi.as_text,
        "verify.json": json.dumps(report.to_json(), indent=2, ensure_ascii=False) + "\n",
        "lock.yaml": render_lock(portable_lock(environment, lock, current_platform())),
        **conda_texts(environment, lock, current_platform()),
    }
    if sorted(raw.splitlines()) != sorted(portable.splitlines()):
        texts["pip-freeze.raw.txt"] = raw
    return texts


def _put(folder: Path, name: str, text: str) -> str:
    fs.write_text(folder / name, text)
    return fs.file_sha256(folder / name)


def _environment_facts(environment: Environment) -> dict[str, Any]:
    facts = environment.to_json()
    for key in ("prefix", "state", "problem", "last_verify"):
        del facts[key]
    return facts


def _folder_of(environment: Environment) -> Path:
    return paths.snapshots_dir() / f"{environment.name}-{environment.id}"


def _free(folder: Path, wanted: str) -> Path:
    count, target = 1, folder / wanted
    while target.exists():
        count += 1
        target = folder / f"{wanted}-{count}"
    return target


def _keep_newest(environment: Environment, snapshot: Path, progress: Progress) -> None:
    """Copy a snapshot into the environment, where it may be written."""
    inside = environment.envkit_dir / "snapshot"
    new = None
    try:
        new = Path(tempfile.mkdtemp(prefix=fs.temporary_start(), dir=environment.envkit_dir))
        shutil.copytree(snapshot, new, dirs_exist_ok=True)  # with the snapshot's own permissions
        if inside.exists():
            fs.remove_tree(inside)
        new.rename(inside)
    except OSError as error:  # shutil.Error too, which holds the reasons as text
        why = error.strerror or str(error)[:200]
        progress.note(f"The snapshot is not copied into {environment.prefix}: {why}.")
        if new is not None:
            with contextlib.suppress(OSError):
                fs.remove_tree(new)


def list_snapshots(env: str) -> tuple[Snapshot, ...]:
    """The snapshots of an environment and of its forerunners by that name, newest first; also of one that is gone.

    Raises:
        NotFoundError: neither the environment nor a snapshot of it is there.
    """
    found, is_there = _snapshots(env)
    if not found and not is_there:
        raise NotFoundError(
            f"There is neither an environment nor a snapshot of {env!r}.",
            hint=nearest(env, [*_known_names(), *(item.name for item in all_environments())]),
        )
    return found


def _snapshots(env: str) -> tuple[tuple[Snapshot, ...], bool]:
    """The snapshots that go by a name, and whether there is an environment of that name.

    They are the environment's own and those of its forerunners, which have been removed or replaced; not those of
    another environment that has the same name elsewhere.
    """
    try:
        name, own = (found := find_environment(env)).name, found.id
    except NotFoundError:
        name, own = prefix_from(env).name if is_path(env) else env, None
    pattern = re.compile(r"(.+)-([0-9a-f]{8})")
    others = {item.id for item in all_environments()} - {own}
    folders = [
        folder
        for folder in _all_folders()
        if (made := pattern.fullmatch(folder.name))
        and (made[2] == own or (made[1] == name and made[2] not in others))  # its own, also by an earlier name
    ]
    return _read_all(folders), own is not None


def _all_folders() -> list[Path]:
    try:
        return sorted(paths.snapshots_dir().iterdir())
    except FileNotFoundError:
        return []


def _known_names() -> list[str]:
    return [folder.name.rpartition("-")[0] for folder in _all_folders()]


def _read_all(folders: list[Path]) -> tuple[Snapshot, ...]:
    """The snapshots in some folders; one that is damaged does not hide the others."""
    found = []
    for folder in folders:
        for path in folder.glob("[0-9]*/manifest.json"):
            with contextlib.suppress(InvalidFileError):
                found.append(read_snapshot(path.parent))
    return tuple(sorted(found, key=lambda item: (item.taken_at, len(item.id), item.id), reverse=True))


def read_snapshot(folder: Path) -> Snapshot:
    """The snapshot in a folder, by its manifest.

    Raises:
        InvalidFileError: the manifest is missing or damaged.
    """
    path = folder / "manifest.json"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFileError(str(path), f"the snapshot's manifest cannot be read: {error}.") from error
    return parse_manifest(text, folder)


def find_snapshot(env: str, snapshot_id: str | None = None) -> Snapshot:
    """One snapshot of an environment: that with the id (or its beginning), or the newest.

    Raises:
        NotFoundError: there is none, or the beginning fits several.
    """
    if snapshot_id is None and "@" in env and not is_path(env):  # ENV@SNAPSHOT, as restore takes it
        env, _, snapshot_id = env.rpartition("@")
    snapshots = list_snapshots(env)
    if not snapshots:
        raise NotFoundError(
            f"There is no snapshot of {env} yet.", why="One is taken at each successful verify.",
            hint=f"Run `envkit verify {env}`.",
        )  # fmt: skip
    if snapshot_id is None:
        return snapshots[0]
    exact = [item for item in snapshots if item.id == snapshot_id]
    matching = exact or [item for item in snapshots if snapshot_id and item.id.startswith(snapshot_id)]
    if len(matching) != 1:
        if matching:
            raise NotFoundError(
                f"{snapshot_id!r} is the beginning of several snapshots of {env}.",
                hint=f"They are: {', '.join(item.id for item in matching)}.",
            )
        raise NotFoundError(
            f"{snapshot_id!r} is no snapshot of {env}.",
            hint=nearest(snapshot_id, (item.id for item in snapshots), "snapshot"),
        )
    return matching[0]


def check_files(snapshot: Snapshot) -> None:
    """Compare a snapshot's files with the hashes in its manifest.

    Raises:
        InvalidFileError: one is missing or was changed.
    """
    for name, digest in snapshot.files.items():
        path = snapshot.path / name
        if not path.is_file() or fs.file_sha256(path) != digest:
            raise InvalidFileError(
                str(path),
                "the file is missing or was changed since the snapshot was taken.",
                why="Its sha256 is not the one in the snapshot's manifest.",
                hint="Use another snapshot: `envkit snapshot list` shows all.",
            )


def export_snapshot(env: str, snapshot_id: str | None, output: Path | None) -> ExportResult:
    """Copy a snapshot to a folder that can be handed on: without this host's name and other people's processes.

    Raises:
        NotFoundError: there is no such snapshot.
        ExistsError: the folder is there and not empty.
    """
    snapshot = find_snapshot(env, snapshot_id)
    check_files(snapshot)
    target = output or Path.cwd() / f"{snapshot.environment['name']}-{snapshot.id}"
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ExistsError(f"{target} is there already.", hint="Name another folder with --output DIR.")
    fs.make_folder(target)
    hashes = {}
    for name in sorted(set(snapshot.files) - {"pip-freeze.raw.txt"}):
        text = (snapshot.path / name).read_text(encoding="utf-8")
        hashes[name] = _put(target, name, without_processes(text) if name == "nvidia-smi.txt" else text)
    host = {key: value for key, value in snapshot.host.items() if key != "name"}
    exported = replace(snapshot, path=target, host=host, files=hashes)
    fs.write_json(target / "manifest.json", exported.to_manifest())
    return ExportResult(exported, tuple(target / name for name in [*hashes, "manifest.json"]))


def without_processes(banner: str) -> str:
    """nvidia-smi's text without its table of processes, which names other people's programs."""
    return _PROCESSES.sub("", banner)
