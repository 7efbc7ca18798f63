"""Write the locks that ship in lockfiles/, or with --check say whether they are what would be written.

PyTorch's index is stood in for by a loopback index with the file names and hashes of scripts/wheels.yaml, so that the
locks can be made where that index is out of reach, and never hold a hash that nobody has published. Packages of the
default index come from PyPI itself; the pins of an existing lock are kept, unless --upgrade is given.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from packaging.requirements import Requirement
from packaging.utils import parse_wheel_filename

from envkit import fs
from envkit.installers.indexes import PipConfig
from envkit.installers.resolve import resolve
from envkit.installers.routing import stand_in_hash
from envkit.installers.tags import wheel_rank
from envkit.model.lock import Lock, LockedPackage, parse_lock
from envkit.model.lock_text import render_lock
from envkit.model.spec import Spec, parse_spec
from envkit.operations.lock import lock_path_of, lock_platform, make_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).resolve().parent.parent
LOCKFILES = REPOSITORY / "lockfiles"


class _Handler(BaseHTTPRequestHandler):
    pages: dict[str, dict[str, Any]]

    def do_GET(self) -> None:
        page = self.pages.get(self.path.strip("/"))
        body = b"" if page is None else json.dumps(page).encode()
        self.send_response(404 if page is None else 200)
        self.send_header("Content-Type", "application/vnd.pypi.simple.v1+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Nothing on stderr."""


@contextlib.contextmanager
def serve_known_files(table: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Serve the tabled files' names and hashes; gives the loopback address of each real index."""
    pages = {}
    for number, index in enumerate(table["indexes"]):
        for project in index["projects"]:
            files = [_entry(file, project) for file in project["files"]]
            pages[f"{number}/{project['name']}"] = {
                "meta": {"api-version": "1.1"},
                "name": project["name"],
                "files": files,
            }
    handler = type("_KnownFiles", (_Handler,), {"pages": pages})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        base = f"http://127.0.0.1:{server.server_address[1]}"
        yield {index["url"]: f"{base}/{number}" for number, index in enumerate(table["indexes"])}
    finally:
        server.shutdown()
        server.server_close()


def _entry(file: dict[str, Any], project: dict[str, Any]) -> dict[str, Any]:
    digest = file["sha256"] or stand_in_hash(file["file"])
    entry = {"filename": file["file"], "url": file["file"], "hashes": {"sha256": digest}}
    if file.get("size"):
        entry["size"] = file["size"]
    if project.get("requires_python"):
        entry["requires-python"] = project["requires_python"]
    return entry


def metadata_toml(table: dict[str, Any]) -> str:
    """uv's ``dependency-metadata`` for the tabled files, whose content is not at hand."""
    text = ""
    for index in table["indexes"]:
        for project in index["projects"]:
            for version, requires in project["requires"].items():
                text += f'[[dependency-metadata]]\nname = "{project["name"]}"\nversion = "{version}"\n'
                text += f"requires-dist = {json.dumps(requires)}\n"
    return text


def lockable(spec: Spec, table: dict[str, Any]) -> list[str]:
    """The platforms of a spec all of whose files PyPI has, or have a row in the table."""
    if spec.installer != "pip":
        return []
    rows = {(index["url"], p["name"]): p["files"] for index in table["indexes"] for p in index["projects"]}
    pins = [Requirement(text) for text in spec.packages]
    return [
        platform
        for platform in spec.platforms
        if all(
            any(
                wheel_rank(file["file"], platform, spec.python) is not None
                and pin.specifier.contains(parse_wheel_filename(file["file"])[1])
                for file in rows.get((source.url, pin.name), ())
            )
            for pin in pins
            if (source := spec.on(platform).source_of(pin.name)) is not None
        )
    ]


def make(spec: Spec, table: dict[str, Any], addresses: dict[str, str], *, upgrade: bool) -> Lock:
    """The lock of one shipped spec."""
    path = lock_path_of(Path(spec.path))
    old = parse_lock(path.read_text(encoding="utf-8"), str(path)) if path.is_file() else None
    sources = (replace(item, url=addresses[item.url]) for item in spec.sources if item.url in addresses)
    near = replace(spec, sources=tuple(sources))
    known = {file["file"]: file["known"] for item in table["indexes"] for p in item["projects"] for file in p["files"]}
    real = {near_url: url for url, near_url in addresses.items()}
    platforms = {}
    for platform in lockable(spec, table):
        before = old.platforms.get(platform) if old is not None else None
        packages = resolve(
            near,
            platform,
            config=PipConfig(),
            preferred=before.packages if before is not None else (),
            upgrade=upgrade,
            metadata_toml=metadata_toml(table),
        )
        placed = tuple(_placed(package, real, known) for package in packages)
        platforms[platform] = lock_platform(spec, platform, placed)
    return make_lock(spec, platforms, str(path))


def _placed(package: LockedPackage, real: dict[str, str], known: dict[str, str]) -> LockedPackage:
    if package.source is None:
        return package
    status = known[package.file] if package.sha256 is not None else None
    return replace(package, source=real[package.source], known=status)


def main() -> int:
    """Write or check all locks; the exit status is 1 when --check finds one that differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="specs, by default all")
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that the specs allow")
    options = parser.parse_args()
    for variable in [name for name in os.environ if name.startswith("UV_") and name != "UV_CACHE_DIR"]:
        del os.environ[variable]
    os.environ["UV_NO_CONFIG"] = "1"  # the locks shall not depend on who makes them
    table = yaml.safe_load((REPOSITORY / "scripts/wheels.yaml").read_text(encoding="utf-8"))
    different = 0
    with serve_known_files(table) as addresses:
        for path in sorted(LOCKFILES.glob("*.yaml")):
            if path.name.endswith(".lock.yaml") or (options.names and path.stem not in options.names):
                continue
            spec = parse_spec(path.read_text(encoding="utf-8"), str(path))
            if not lockable(spec, table):
                continue
            text, lock_path = render_lock(make(spec, table, addresses, upgrade=options.upgrade)), lock_path_of(path)
            same = lock_path.is_file() and lock_path.read_text(encoding="utf-8") == text
            print(f"{lock_path.name}: {'as it should be' if same else 'differs' if options.check else 'written'}")
            different += not same
            if not same and not options.check:
                fs.write_text(lock_path, text)
    return 1 if options.check and different else 0


if __name__ == "__main__":
    sys.exit(main())
