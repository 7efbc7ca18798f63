"""An HTTP or HTTPS server on loopback, in a thread of its own."""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator


class Server(ThreadingHTTPServer):
    """``subject`` is what its handlers serve."""

    daemon_threads = True
    subject: Any = None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no news."""


class Handler(BaseHTTPRequestHandler, ABC):
    """Keeps connections open and says nothing on stderr; ``answer`` is its own for each kind of server."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    @abstractmethod
    def answer(self, *, body: bool) -> None:
        """Answer a request, a HEAD without the body."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name in http.server
        """The subject has a list of all requests."""


@contextlib.contextmanager
def listening(handler: type[Handler], subject: Any, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve ``subject`` while the block runs; gives the address, which names ``localhost`` with TLS."""
    server = Server(("127.0.0.1", 0), handler)
    server.subject = subject
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"https://localhost:{port}" if tls is not None else f"http://127.0.0.1:{port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
