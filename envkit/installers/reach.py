"""Whether an address can be reached, and if not, what stands between: one request, with a short time limit."""

from __future__ import annotations

import errno
import http.client
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from envkit.model.addresses import redacted

if TYPE_CHECKING:
    from collections.abc import Sequence

Kind = Literal[
    "reached",
    "name",
    "refused",
    "no-route",
    "time-out",
    "certificate",
    "tls",
    "proxy",
    "proxy-login",
    "login",
    "not-there",
    "server",
    "other",
]
_TIMEOUT_S = 4.0
"""For each wait on the network."""
_LIMIT_S = 10.0
"""For all addresses together: to look a name up has no limit of its own."""
_BY_STATUS: dict[int, Kind] = {401: "login", 403: "login", 404: "not-there", 410: "not-there", 407: "proxy-login"}
_BY_ERRNO: dict[int | None, Kind] = {
    errno.ECONNREFUSED: "refused",
    errno.ENETUNREACH: "no-route",
    errno.EHOSTUNREACH: "no-route",
    errno.ETIMEDOUT: "time-out",
}


@dataclass(frozen=True, slots=True)
class Question:
    """An address, and how it is asked.

    Attributes:
        request: with user name and password where it has such.
        opener: with proxy and certificates.
        proxy: address of the proxy that is in force for it, or None.
    """

    request: urllib.request.Request
    opener: urllib.request.OpenerDirector
    proxy: str | None


@dataclass(frozen=True, slots=True)
class Answer:
    """How a request ended.

    Attributes:
        kind: what stands between; "reached": nothing.
        detail: what was said, for people; without passwords.
    """

    kind: Kind
    detail: str


def ask_all(questions: Sequence[Question]) -> list[Answer]:
    """Ask all at once; what does not end in time is a "time-out"."""
    found = [Answer("time-out", f"no answer within {_LIMIT_S:g} s")] * len(questions)

    def _look(index: int) -> None:
        found[index] = ask(questions[index])

    # daemons: a name server that never answers must not hold up the end of the process
    threads = [threading.Thread(target=_look, args=(index,), daemon=True) for index in range(len(questions))]
    until = time.monotonic() + _LIMIT_S
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=max(until - time.monotonic(), 0.0))
    return list(found)


def ask(question: Question) -> Answer:
    """Ask for one address and read no more than the headers; what a network does wrong is an answer, too."""
    try:
        with question.opener.open(question.request, timeout=_TIMEOUT_S) as response:
            return Answer("reached", f"HTTP {response.status}")
    except urllib.error.HTTPError as error:
        error.close()
        kind = _BY_STATUS.get(error.code, "server" if error.code >= http.HTTPStatus.INTERNAL_SERVER_ERROR else "other")
        return Answer(kind, redacted(f"HTTP {error.code} {error.reason}".rstrip()))
    except http.client.HTTPException as error:
        return Answer("other", f"what answers speaks no HTTP ({type(error).__name__})")
    except (OSError, ValueError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        return _failed(reason if isinstance(reason, Exception) else OSError(reason), question.proxy)


def _failed(error: Exception, proxy: str | None) -> Answer:
    text = redacted(str(error)) or type(error).__name__
    if isinstance(error, ssl.SSLCertVerificationError):
        return Answer("certificate", error.verify_message or text)
    if isinstance(error, ssl.SSLError):
        return Answer("tls", error.reason or text)
    if text.startswith("Tunnel connection failed"):
        return Answer("proxy-login" if "407" in text else "proxy", text)
    kind: Kind = "other"
    if isinstance(error, socket.gaierror):
        kind = "name"
    elif isinstance(error, TimeoutError):
        kind = "time-out"
    elif isinstance(error, OSError):
        kind = _BY_ERRNO.get(error.errno, "other")
    if proxy is not None and kind in {"name", "refused", "no-route"}:
        return Answer("proxy", f"{redacted(proxy)}: {text}")
    return Answer(kind, text)
