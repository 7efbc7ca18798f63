"""A package index (PEP 503, PEP 658) on loopback that logs what it is asked and can misbehave."""

from __future__ import annotations

import base64
import contextlib
import html
import re
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from tests.support.loopback import Handler, listening
from tests.support.wheels import file_hash, wheel_metadata

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator
    from pathlib import Path


@dataclass
class Index:
    """A running index.

    Attributes:
        folder: its files: wheels and sdists, those added later too.
        url: address of the simple index, ``http://127.0.0.1:PORT/simple``.
        with_hashes: whether links state sha256; may be changed while it runs.
        with_metadata: whether PEP 658 metadata is offered.
        with_ranges: whether a part of a file can be had, as a download that goes on after a break asks for.
        auth: user and password that it asks for, or None.
        requests: "GET /simple/torch/", in order, as they came.
    """

    folder: Path
    url: str = ""
    with_hashes: bool = True
    with_metadata: bool = True
    with_ranges: bool = True
    auth: tuple[str, str] | None = None
    requests: list[str] = field(default_factory=list)
    _cut: dict[str, tuple[int, int]] = field(default_factory=dict)
    _replaced: dict[str, bytes] = field(default_factory=dict)
    _hanging: set[str] = field(default_factory=set)
    _failing: dict[str, int] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)

    @property
    def host(self) -> str:
        """``127.0.0.1:PORT``."""
        return urlsplit(self.url).netloc

    def cut(self, name: str, after: int, *, times: int = 1 << 30) -> None:
        """Close the connection when that many bytes of the file ``name`` are out, in the next so many answers."""
        self._cut[name] = after, times

    def _cut_of(self, name: str) -> int | None:
        """Where this answer with the file ``name`` is cut off; None for a whole one."""
        after, times = self._cut.get(name, (0, 0))
        if times <= 0:
            return None
        self._cut[name] = after, times - 1
        return after

    def replace(self, name: str, data: bytes) -> None:
        """Serve other bytes than those whose hash is stated."""
        self._replaced[name] = data

    def hang(self, name: str) -> None:
        """Answer a request for the file or project ``name`` never (until the index stops)."""
        self._hanging.add(name)

    def fail(self, name: str, status: int) -> None:
        """Answer requests for the file or project ``name`` with that HTTP status."""
        self._failing[name] = status

    def heal(self) -> None:
        """Behave again."""
        for faults in (self._cut, self._replaced, self._hanging, self._failing):
            faults.clear()

    def asked_for(self, name: str) -> list[str]:
        """The requests about a project, its page and its files."""
        pattern = re.compile(
            rf"\w+ (/simple/{re.escape(name)}/|/files/{re.escape(name.replace('-', '_'))}-)", re.IGNORECASE
        )
        return [request for request in self.requests if pattern.match(request)]

    def projects(self) -> dict[str, list[Path]]:
        """Canonical project name to files."""
        found: dict[str, list[Path]] = {}
        for path in sorted(self.folder.iterdir()):
            if path.suffix == ".whl" or path.name.endswith(".tar.gz"):
                stem = path.name.split("-")[0] if path.suffix == ".whl" else path.name.rsplit("-", 1)[0]
                found.setdefault(re.sub(r"[-_.]+", "-", stem).lower(), []).append(path)
        return found


class _Handler(Handler):
    def answer(self, *, body: bool) -> None:
        index: Index = self.server.subject
        path = unquote(urlsplit(self.path).path)
        index.requests.append(f"{self.command} {path}")
        name = [part for part in path.split("/") if part][-1:]
        key = name[0] if name else ""
        if index.auth is not None and not self._authorized(index.auth):
            return self._send(401, b"", body=body, headers={"WWW-Authenticate": 'Basic realm="index"'})
        if key in index._hanging:
            index._stop.wait()
            self.close_connection = True
            return None
        if key in index._failing:
            return self._send(index._failing[key], b"", body=body)
        if path.startswith("/simple"):
            return self._page(index, path, body=body)
        return self._file(index, key, body=body)

    def _authorized(self, auth: tuple[str, str]) -> bool:
        expected = base64.b64encode(":".join(auth).encode()).decode()
        return self.headers.get("Authorization") == f"Basic {expected}"

    def _page(self, index: Index, path: str, *, body: bool) -> None:
        project = path.removeprefix("/simple").strip("/")
        projects = index.projects()
        if not project:
            links = [f'<a href="/simple/{name}/">{name}</a>' for name in projects]
        elif project not in projects:
            return self._send(404, b"", body=body)
        else:
            links = [self._link(index, file) for file in projects[project]]
        page = "<!DOCTYPE html><html><body>" + "<br>\n".join(links) + "</body></html>"
        return self._send(200, page.encode(), body=body, headers={"Content-Type": "text/html"})

    def _link(self, index: Index, file: Path) -> str:
        fragment = f"#sha256={file_hash(file)}" if index.with_hashes else ""
        offered = ' data-dist-info-metadata="true" data-core-metadata="true"'
        metadata = offered if index.with_metadata and file.suffix == ".whl" else ""
        return f'<a href="/files/{quote(file.name)}{fragment}"{metadata}>{html.escape(file.name)}</a>'

    def _file(self, index: Index, name: str, *, body: bool) -> None:
        if name.endswith(".metadata"):
            wheel = index.folder / name.removesuffix(".metadata")
            if not wheel.is_file():
                return self._send(404, b"", body=body)
            return self._send(200, wheel_metadata(wheel), body=body)
        if not (index.folder / name).is_file():
            return self._send(404, b"", body=body)
        data = index._replaced.get(name) or (index.folder / name).read_bytes()
        cut = index._cut_of(name)
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if asked is None or not index.with_ranges:
            told = {"Accept-Ranges": "bytes"} if index.with_ranges else {}
            return self._send(200, data, body=body, cut=cut, headers=told)
        start, end = int(asked[1]), int(asked[2] or len(data) - 1)
        part = data[start : end + 1]
        headers = {"Content-Range": f"bytes {start}-{start + len(part) - 1}/{len(data)}"}
        return self._send(206, part, body=body, cut=None if cut is None else max(0, cut - start), headers=headers)

    def _send(
        self, status: int, data: bytes, *, body: bool, cut: int | None = None, headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(data if cut is None else data[:cut])
        if cut is not None:
            self.close_connection = True


@contextlib.contextmanager
def serve_index(
    folder: Path,
    *,
    hashes: bool = True,
    metadata: bool = True,
    auth: tuple[str, str] | None = None,
    tls: ssl.SSLContext | None = None,
) -> Iterator[Index]:
    """Serve the wheels and sdists of ``folder`` on loopback while the block runs.

    Args:
        folder: made when missing; files may be added while the index runs.
        hashes: whether links state sha256.
        metadata: whether PEP 658 metadata is offered.
        auth: user and password for HTTP Basic.
        tls: a server-side context, for an https index (``localhost`` is its name then).
    """
    folder.mkdir(parents=True, exist_ok=True)
    index = Index(folder, with_hashes=hashes, with_metadata=metadata, auth=auth)
    with listening(_Handler, index, tls) as address:
        index.url = f"{address}/simple"
        try:
            yield index
        finally:
            index._stop.set()
