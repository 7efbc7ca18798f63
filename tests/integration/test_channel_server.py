"""The server of channels that other tests use: it serves, counts and misbehaves as told."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import ssl
import time
import urllib.error
import urllib.request

import pytest
import trustme

from tests.support.channel import Channel
from tests.support.channel_server import serve_channels


@pytest.fixture
def channel(tmp_path):
    made = Channel(tmp_path / "channels" / "demo")
    made.add("one", "1.0", files={"share/one": b"1" * 1000})
    return made.index()


PACKAGE = "/demo/linux-64/one-1.0-0.conda"


def get(url: str, *, timeout_s: float = 10, context=None, **headers: str) -> bytes:
    handlers = [urllib.request.ProxyHandler({})]
    if context is not None:
        handlers.append(urllib.request.HTTPSHandler(context=context))
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - of the server above
    with contextlib.closing(urllib.request.build_opener(*handlers).open(request, timeout=timeout_s)) as answer:
        return answer.read()


def status(url: str, **headers: str) -> int:
    try:
        get(url, **headers)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    return 200


def test_it_serves_what_lies_in_the_folder_and_lists_the_requests(channel):
    with serve_channels(channel.folder.parent) as server:
        data = get(server.url + PACKAGE)
        assert status(f"{server.url}/demo/linux-64/none.conda") == 404
        assert server.requests == [f"GET {PACKAGE}", "GET /demo/linux-64/none.conda"]
        assert len(server.asked_for(".conda")) == 2
    assert hashlib.sha256(data).hexdigest() == channel.records()["one-1.0-0.conda"]["sha256"]


def test_faults_last_until_it_heals(channel):
    with serve_channels(channel.folder.parent) as server:
        good = get(server.url + PACKAGE)
        server.corrupt("one-1.0-0.conda")
        bad = get(server.url + PACKAGE)
        assert len(bad) == len(good)
        assert sum(a != b for a, b in zip(good, bad, strict=True)) == 1
        server.fail("linux-64/repodata.json", 403)
        assert status(f"{server.url}/demo/linux-64/repodata.json") == 403
        assert status(f"{server.url}/demo/noarch/repodata.json") == 200
        server.heal()
        assert get(server.url + PACKAGE) == good
        assert status(f"{server.url}/demo/linux-64/repodata.json") == 200


def test_it_hangs_and_stops_all_the_same(channel):
    with serve_channels(channel.folder.parent) as server:
        server.hang("repodata.json")
        with pytest.raises(TimeoutError):
            get(f"{server.url}/demo/noarch/repodata.json", timeout_s=0.3)
        assert get(server.url + PACKAGE)
        since = time.monotonic()
    assert time.monotonic() - since < 5


def test_it_trickles(channel):
    with serve_channels(channel.folder.parent) as server:
        server.trickle(".conda", size=400, every_s=0.1)
        since = time.monotonic()
        assert len(get(server.url + PACKAGE)) == channel.records()["one-1.0-0.conda"]["size"]
        assert time.monotonic() - since >= 0.2


def test_it_cuts_a_file_off(channel):
    with serve_channels(channel.folder.parent) as server:
        server.cut(".conda", 100)
        with pytest.raises(http.client.IncompleteRead):
            get(server.url + PACKAGE)


def test_it_asks_for_a_password(channel):
    with serve_channels(channel.folder.parent, auth=("me", "secret")) as server:
        assert status(server.url + PACKAGE) == 401
        assert status(server.url + PACKAGE, Authorization="Basic bWU6c2VjcmV0") == 200
        assert server.with_auth().startswith("http://me:secret@127.0.0.1:")


@pytest.mark.parametrize("given", ["path", "bearer", "conda"])
def test_it_asks_for_a_token(channel, given):
    with serve_channels(channel.folder.parent, token="tok-1") as server:  # noqa: S106 - made up
        assert status(server.url + PACKAGE) == 403
        headers = {"bearer": {"Authorization": "Bearer tok-1"}, "conda": {"Authorization": "token tok-1"}}.get(
            given, {}
        )
        assert status((server.with_token() if given == "path" else server.url) + PACKAGE, **headers) == 200


def test_it_speaks_tls(channel):
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with serve_channels(channel.folder.parent, tls=context) as server:
        assert server.url.startswith("https://localhost:")
        assert get(server.url + PACKAGE, context=trusting)
        with pytest.raises(urllib.error.URLError, match="certificate verify failed"):
            get(server.url + PACKAGE, context=ssl.create_default_context())


def test_it_serves_as_a_proxy(channel):
    with serve_channels(channel.folder.parent) as server:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": server.url}))
        with contextlib.closing(opener.open(f"http://channels.invalid{PACKAGE}", timeout=10)) as answer:
            assert len(answer.read()) == channel.records()["one-1.0-0.conda"]["size"]
        assert server.requests == [f"GET http://channels.invalid{PACKAGE}"]
