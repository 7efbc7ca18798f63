"""Channels over HTTP on loopback; the server logs what it is asked and can misbehave."""

from __future__ import annotations

import base64
import contextlib
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from tests.support.channel import corrupted
from tests.support.loopback import Handler, listening

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator
    from pathlib import Path


@dataclass
class ChannelServer:
    """A running server of channels. It answers a client that takes it for an HTTP proxy too, whatever the host.

    A fault is told by the end of a path: ``repodata.json``, ``pytorch/noarch/repodata.json``, ``demo-1.0-0.conda``;
    ``""`` is every path.

    Attributes:
        folder: holds channels, each by its name; may change while the server runs.
        url: ``http://127.0.0.1:PORT``, fit for ``channel_alias``.
        auth: user and password that it asks for (HTTP Basic), or None.
        token: asked for in the path, ``/t/TOKEN/CHANNEL/...``, or as ``Authorization: Bearer TOKEN``; None for none.
        requests: "GET /conda-forge/noarch/repodata.json", in order, as they came; with the host's address from a client
            that takes it for a proxy.
    """

    folder: Path
    url: str = ""
    auth: tuple[str, str] | None = None
    token: str | None = None
    requests: list[str] = field(default_factory=list)
    _hanging: set[str] = field(default_factory=set)
    _failing: dict[str, int] = field(default_factory=dict)
    _replaced: dict[str, bytes] = field(default_factory=dict)
    _trickling: dict[str, tuple[int, float]] = field(default_factory=dict)
    _cut: dict[str, int] = field(default_factory=dict)
    _stop: threading.Event = field(default_factory=threading.Event)

    def hang(self, path: str = "") -> None:
        """Accept such requests and answer never (until the server stops)."""
        self._hanging.add(path)

    def fail(self, path: str, status: int) -> None:
        """Answer with that HTTP status."""
        self._failing[path] = status

    def trickle(self, path: str, *, size: int = 1, every_s: float = 0.5) -> None:
        """Send such a file ``size`` bytes at a time, with pauses."""
        self._trickling[path] = size, every_s

    def cut(self, path: str, after: int) -> None:
        """Close the connection when that many bytes of such a file are out."""
        self._cut[path] = after

    def replace(self, path: str, data: bytes) -> None:
        """Serve other bytes."""
        self._replaced[path] = data

    def corrupt(self, package: str) -> None:
        """Serve a package with one byte changed, as long as it was."""
        self.replace(package, corrupted(next(self.folder.rglob(package))))

    def heal(self) -> None:
        """Behave again."""
        for faults in (self._hanging, self._failing, self._trickling, self._cut, self._replaced):
            faults.clear()

    def asked_for(self, path: str) -> list[str]:
        """The requests whose path ends like this."""
        return [request for request in self.requests if request.endswith(path)]

    def with_auth(self) -> str:
        """The address with user and password in it."""
        assert self.auth is not None
        return self.url.replace("://", f"://{self.auth[0]}:{self.auth[1]}@")

    def with_token(self) -> str:
        """The address with the token in it, as anaconda.org has it."""
        return f"{self.url}/t/{self.token}"


class _Handler(Handler):
    def answer(self, *, body: bool) -> None:
        channels: ChannelServer = self.server.subject
        path = unquote(urlsplit(self.path).path)
        channels.requests.append(f"{self.command} {unquote(self.path)}")
        status, path = self._let_in(channels, path)
        if status is None:
            status = _fault(channels._failing, path)
        if any(path.endswith(end) for end in channels._hanging):
            channels._stop.wait()
            self.close_connection = True
        elif status is not None:
            self._send(status, b"", body=body)
        else:
            self._file(channels, path, body=body)

    def _let_in(self, channels: ChannelServer, path: str) -> tuple[int | None, str]:
        """The status of a refusal, and the path without a token."""
        given = self.headers.get("Authorization")
        if channels.auth is not None:
            expected = base64.b64encode(":".join(channels.auth).encode()).decode()
            return (None if given == f"Basic {expected}" else 401), path
        if channels.token is not None:
            inside = path.startswith(f"/t/{channels.token}/")
            allowed = inside or given in (f"Bearer {channels.token}", f"token {channels.token}")
            return (None if allowed else 403), path.removeprefix(f"/t/{channels.token}")
        return None, path

    def _file(self, channels: ChannelServer, path: str, *, body: bool) -> None:
        file = channels.folder / path.strip("/")
        if ".." in file.parts or not file.is_file():
            return self._send(404, b"", body=body)
        replaced = _fault(channels._replaced, path)
        data = file.read_bytes() if replaced is None else replaced
        slow, cut = _fault(channels._trickling, path), _fault(channels._cut, path)
        if slow is not None and body:
            return self._trickle(data, *slow, channels._stop)
        return self._send(200, data, body=body, cut=cut)

    def _trickle(self, data: bytes, size: int, every_s: float, stop: threading.Event) -> None:
        self._head(200, len(data))
        for start in range(0, len(data), size):
            self.wfile.write(data[start : start + size])
            if stop.wait(every_s):
                self.close_connection = True
                return

    def _send(self, status: int, data: bytes, *, body: bool, cut: int | None = None) -> None:
        self._head(status, len(data))
        if body:
            self.wfile.write(data[:cut])
        if cut is not None:
            self.close_connection = True

    def _head(self, status: int, length: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="channels"')
        self.end_headers()


def _fault(faults: dict[str, Any], path: str) -> Any:
    """What was said of paths that end like this one; the longest end counts."""
    ends = sorted((end for end in faults if path.endswith(end)), key=len)
    return faults[ends[-1]] if ends else None


@contextlib.contextmanager
def serve_channels(
    folder: Path,
    *,
    auth: tuple[str, str] | None = None,
    token: str | None = None,
    tls: ssl.SSLContext | None = None,
) -> Iterator[ChannelServer]:
    """Serve the channels in ``folder`` while the block runs.

    Args:
        folder: holds channels, indexed.
        auth: user and password for HTTP Basic.
        token: that clients must have.
        tls: a server-side context, for https (``localhost`` is its name then).
    """
    channels = ChannelServer(folder, auth=auth, token=token)
    with listening(_Handler, channels, tls) as channels.url:
        try:
            yield channels
        finally:
            channels._stop.set()
