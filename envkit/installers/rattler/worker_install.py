"""For the worker: packages into a prefix."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rattler import MatchSpec, PrefixRecord, Subdir, install
from rattler.exceptions import InstallerError, InvalidMatchSpecError, IoError, LinkError, TransactionError
from rattler.package_cache import PackageCache, ValidationMode
from rattler.package_streaming import download_to_writer

from envkit.installers.rattler.worker_check import Check, problem_of_record
from envkit.installers.rattler.worker_net import (
    KnownFailureError,
    Watch,
    check_own_file,
    find_file,
    make_client,
    make_record,
)
from envkit.installers.rattler.worker_report import Reporter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rattler.install import InstallerReporter

_NO_ARCHIVE = re.compile(r"checksum|invalid|header|decompress|unpack|no data was read|zip", re.IGNORECASE)
_LEFT_S = 24 * 3600.0
"""Nobody unpacks one package for a day."""
_NOWHERE = "file:///not-on-this-disk/"


async def answer(request: dict[str, Any], leave: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Install, and tell whose scripts were not run."""
    reporter = Reporter(len(request["records"]), draws=request["draws"])
    reporter.watch = Watch(request["idle_s"], Path(request["cache"]) / "pkgs", reporter.waiting, leave)
    try:
        return await _install(request, reporter, leave)
    except KnownFailureError as failure:
        return {"error": failure.facts}


async def _install(
    request: Mapping[str, Any], reporter: Reporter, leave: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    prefix, cache = Path(request["prefix"]), Path(request["cache"]) / "pkgs"
    entries = [_located(entry, request, cache) for entry in request["records"]]
    if request["offline"]:
        missing = [entry["file"] for entry in entries if entry["url"].startswith(_NOWHERE) and not entry["cached"]]
        if missing:
            raise KnownFailureError("offline", files=missing)
    _refuse_records(entries)
    _sweep(cache)
    tagged = (prefix / "CACHEDIR.TAG").exists()
    kept = _kept(prefix, {entry["name"] for entry in entries}) if request["add"] else []
    # a kept package's own specs would be forgotten
    specs = [spec for record in kept for spec in record.requested_specs]
    specs += [entry["requested"] for entry in entries if entry.get("requested")]
    reporter.on_unpacked = _inspector(entries, request, leave)
    mode = ValidationMode.full() if request["full_check"] else ValidationMode.fast()
    try:
        await install(
            [*kept, *(make_record(entry) for entry in entries)],
            prefix,
            platform=Subdir(request["platform"]),
            execute_link_scripts=False,
            show_progress=False,
            client=make_client(request),
            requested_specs=_inner(specs),
            reporter=cast("InstallerReporter", reporter),  # any object with some of its methods
            package_cache=PackageCache.new_layered([cache], validation_mode=mode),
        )
    except (InstallerError, IoError, LinkError, TransactionError) as error:
        sent = await _sent(str(error), entries, request)
        raise KnownFailureError("install", said=str(error), received=reporter.received(), sent=sent) from error
    finally:
        reporter.end()
    if not tagged:  # it would keep backups from a folder that people put notebooks into
        (prefix / "CACHEDIR.TAG").unlink(missing_ok=True)
    _correct_records(prefix, entries)
    _write_history(prefix, entries, request)
    return {"unlinked_scripts": sorted(entry["name"] for entry in entries if _has_link_script(prefix, entry["name"]))}


def _sweep(cache: Path) -> None:
    """Delete what killed processes left half unpacked; py-rattler never does. What is new, another one may be at."""
    for folder in cache.glob(".*-*-*"):
        try:
            if folder.is_dir() and not folder.is_symlink() and time.time() - folder.stat().st_mtime > _LEFT_S:
                shutil.rmtree(folder)
        except OSError:  # noqa: PERF203 - rarely more than one
            continue


def _refuse_records(entries: Sequence[Mapping[str, Any]]) -> None:
    """Before anything is linked: the record of Python decides where the others go."""
    for entry in entries:
        _refuse(entry, problem_of_record(entry))


def _refuse(entry: Mapping[str, Any], problem: str | None) -> None:
    if problem is not None:
        raise KnownFailureError("refused", file=entry["file"], channel=entry["channel"], said=problem)


def _inspector(
    entries: Sequence[Mapping[str, Any]], request: Mapping[str, Any], leave: Callable[[dict[str, Any]], None]
) -> Callable[[str], None]:
    """What ends the process when a package comes that is not to be installed; its name is given before it is linked."""
    named, cache = {entry["name"]: entry for entry in entries}, Path(request["cache"]) / "pkgs"
    check = Check(_site_of(named.get("python"), Path(request["prefix"])))
    told: set[str] = set()
    one_by_one = threading.Lock()  # py-rattler unpacks several at once

    def look_at(name: str) -> None:
        entry = named.get(name)
        if entry is None:  # one that is there already
            return
        try:
            _refuse(entry, check.problem_of(entry, cache / f"{name}-{entry['version']}-{entry['build']}"))
        except KnownFailureError as failure:
            leave({"error": failure.facts})
        if request["coming"] is not None and not check.tops <= told:
            told.update(check.tops)
            Path(request["coming"]).write_text("".join(f"{top}\n" for top in sorted(told)), encoding="utf-8")

    def inspect(name: str) -> None:
        with one_by_one:
            look_at(name)

    return inspect


def _site_of(python: Mapping[str, Any] | None, prefix: Path) -> str:
    """The folder of Python's packages below the prefix: of the Python that comes, or of that which is there."""
    if python is not None and python.get("python_site_packages_path"):
        return str(python["python_site_packages_path"]).strip("/")
    there = next((path.name.split("-")[1] for path in (prefix / "conda-meta").glob("python-[0-9]*-*.json")), "3")
    minor = ".".join((python["version"] if python is not None else there).split(".")[:2])
    return f"lib/python{minor}/site-packages"


def _located(entry: Mapping[str, Any], request: Mapping[str, Any], cache: Path) -> dict[str, Any]:
    """The record with the place that its file comes from, and its true address under ``address``.

    Offline a place is always a file, so that py-rattler cannot ask a server for a package whose copy in the cache turns
    out to be damaged.
    """
    cached = _is_cached(entry, cache)
    place = entry["url"]
    if place.startswith("file:") and (not cached or request["full_check"]):
        check_own_file(entry)
    if not cached or request["offline"] or request["full_check"]:
        found = find_file(entry, request["folders"])
        if found is not None:
            place = found.absolute().as_uri()
        elif place.startswith("file:"):
            _check_local(entry)
        elif request["offline"]:
            place = _NOWHERE + entry["file"]
    return {**entry, "url": place, "address": entry["url"], "cached": cached}


def _check_local(entry: Mapping[str, Any]) -> None:
    """Compare a file of a channel in a folder with its record: py-rattler checks no hash of local files."""
    from urllib.request import url2pathname  # noqa: PLC0415 - rare, and slow to import

    path, measure = Path(url2pathname(str(entry["url"]).removeprefix("file://"))), _Measure()
    if not path.is_file():
        return  # py-rattler says it
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            measure.write(block)
    facts = measure.facts()
    if entry.get("sha256") and facts["sha256"] != entry["sha256"]:
        raise KnownFailureError("install", said=f"failed to fetch {entry['file']}", received={}, sent=facts)


def _is_cached(entry: Mapping[str, Any], cache: Path) -> bool:
    """Whether py-rattler has the package; beside its folder stands a number of eight bytes, and the sha256."""
    folder = cache / f"{entry['name']}-{entry['version']}-{entry['build']}"
    if not (folder / "info" / "index.json").is_file():
        return False
    try:
        digest = folder.with_name(f"{folder.name}.lock").read_bytes()[8:40].hex()
    except OSError:
        return True  # unknown: py-rattler decides
    return not digest or digest == entry.get("sha256", digest)


class _Measure:
    """Takes bytes as a file does; keeps their number, their hash and how they begin."""

    def __init__(self) -> None:
        self.size, self.start, self._digest = 0, b"", hashlib.sha256()

    def write(self, data: bytes) -> int:
        self.start = self.start or data[:40]
        self.size += len(data)
        self._digest.update(data)
        return len(data)

    def facts(self) -> dict[str, Any]:
        return {"size": self.size, "sha256": self._digest.hexdigest(), "is_page": self.start.lstrip().startswith(b"<")}


async def _sent(said: str, entries: Sequence[Mapping[str, Any]], request: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a server sends for a package that could not be unpacked; py-rattler unpacks before it looks at the hash."""
    if not _NO_ARCHIVE.search(said):
        return None
    entry = next((item for item in entries if item["file"] in said and item["url"].startswith("http")), None)
    if entry is None:
        return None
    measure = _Measure()
    try:
        await download_to_writer(make_client(request), entry["url"], measure)
    except Exception:  # noqa: BLE001 - it is for the words alone
        return None
    return measure.facts()


def _inner(specs: Sequence[str]) -> list[MatchSpec]:
    """What ``install`` takes for specs: py-rattler 0.28.0 raises TypeError for the MatchSpec that it documents.

    One that it cannot read, as a lock of conda's own environment may have, decides nothing and is left out.
    """
    found = []
    for spec in specs:
        with contextlib.suppress(InvalidMatchSpecError):
            found.append(MatchSpec(spec)._match_spec)  # noqa: SLF001 - see above
    return found


def _kept(prefix: Path, replaced: set[str]) -> list[PrefixRecord]:
    """The packages in a prefix that stay as they are.

    They are part of what is asked for: py-rattler knows the prefix's Python, which packages without an architecture
    need, from there alone (``ignored_packages`` hides it).
    """
    found = (PrefixRecord.from_path(path) for path in sorted((prefix / "conda-meta").glob("*-*-*.json")))
    return [record for record in found if record.name.normalized not in replaced]


def _correct_records(prefix: Path, entries: list[dict[str, Any]]) -> None:
    """Write the packages' records as conda would have.

    The address is that of the channel, not the file on this disk that the package was taken from. For a symbolic link
    py-rattler 0.28 notes the hash of its target's name, and `conda doctor` then takes the target for altered: conda has
    no hash there (``conda/core/path_actions.py``).
    """
    for entry in entries:
        path = prefix / "conda-meta" / f"{entry['name']}-{entry['version']}-{entry['build']}.json"
        before = path.read_text(encoding="utf-8")
        text = before.replace(f'"url": {json.dumps(entry["url"])}', f'"url": {json.dumps(entry["address"])}', 1)
        if '"softlink"' in text:
            record = json.loads(text)
            for file in record["paths_data"]["paths"]:
                if file["path_type"] == "softlink":
                    file.pop("sha256_in_prefix", None)
            text = json.dumps(record, indent=2)
        if text != before:
            path.write_text(text, encoding="utf-8")


def _write_history(prefix: Path, entries: list[dict[str, Any]], request: Mapping[str, Any]) -> None:
    """A revision in ``conda-meta/history``, as conda writes it (``conda/history.py`` of conda 26.7)."""
    path = prefix / "conda-meta" / "history"
    earlier = path.read_text(encoding="utf-8") if path.exists() else ""
    state: set[str] = set()
    for line in earlier.splitlines():
        if line.startswith("+"):
            state.add(line[1:])
        elif line.startswith("-"):
            state.discard(line[1:])
    now = {f"{item['channel']}/{item['subdir']}::{item['name']}-{item['version']}-{item['build']}" for item in entries}
    replaced = {item["name"] for item in entries}
    gone = {
        dist for dist in state - now if not request["add"] or dist.rpartition("::")[2].rsplit("-", 2)[0] in replaced
    }
    specs = sorted(item["requested"] for item in entries if item.get("requested"))
    lines = [f"==> {time.strftime('%Y-%m-%d %H:%M:%S')} <==", f"# cmd: {request['command']}"]
    lines += [f"-{dist}" for dist in sorted(gone)] + [f"+{dist}" for dist in sorted(now - state)]
    lines += [f"# update specs: {specs}"] if specs else []
    path.write_text(earlier + "".join(f"{line}\n" for line in lines), encoding="utf-8")


def _has_link_script(prefix: Path, name: str) -> bool:
    kinds = ("pre-link", "post-link")
    return any((prefix / "bin" / f".{name}-{kind}.sh").exists() for kind in kinds) or any(
        (prefix / "Scripts" / f".{name}-{kind}.bat").exists() for kind in kinds
    )
