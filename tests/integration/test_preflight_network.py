"""Whether indexes and channels are reached: real servers, proxies and sockets, all on loopback."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import ssl
import threading
import time

import pytest
import trustme

from envkit.installers.reach import ask_all
from envkit.model.spec import parse_spec
from envkit.operations.system_checks import SystemNeed, system_checks
from tests.support.channel_server import serve_channels
from tests.support.index import serve_index
from tests.support.wheels import make_wheel


def spec_of(**changes):
    content = {
        "schema": 1,
        "name": "demo",
        "python": "3.9",
        "installer": "pip",
        "cuda": None,
        "packages": ["torch==1.12.1"],
        "platforms": ["linux-64"],
    } | changes
    content["cuda"] = content["cuda"] or "cpu"
    return parse_spec(json.dumps(content), "demo.yaml")


def from_source(url):
    return spec_of(sources=[{"url": url, "packages": ["torch"]}])


def looked(spec, name):
    found = system_checks(SystemNeed(spec, None, "linux-64", None, network=True))
    assert not [check for check in found if check.id == "network"], found
    return [check for check in found if check.id == name]


@pytest.fixture
def default(tmp_path, monkeypatch):
    """The user's own index, with pip on it."""
    make_wheel(tmp_path / "default", "pip", "22.0")
    with serve_index(tmp_path / "default") as index:
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        yield index


@pytest.fixture
def source(tmp_path):
    make_wheel(tmp_path / "source", "torch", "1.12.1", tags="cp39-cp39-linux_x86_64")
    with serve_index(tmp_path / "source") as index:
        yield index


@contextlib.contextmanager
def answering(text=None):
    """A socket that takes connections and answers each with ``text``; with None, never."""
    server = socket.create_server(("127.0.0.1", 0))
    taken = []

    def serve():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                taken.append(connection)
                if text is not None:
                    connection.recv(65536)
                    connection.sendall(text.encode())
                    connection.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.getsockname()[1]}"
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()
        for connection in taken:
            connection.close()


@pytest.fixture
def closed():
    """A port at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    return f"127.0.0.1:{port}"


def test_default_index_and_source_are_asked_for_one_page_each(default, source):
    found = looked(from_source(source.url), "index")
    assert [(check.status, check.found) for check in found] == [
        ("ok", f"{source.url}: reached"),
        ("ok", f"{default.url}: reached"),
    ]
    assert source.requests == ["GET /simple/torch/"]
    assert default.requests == ["GET /simple/pip/"]


def test_no_network_without_being_asked(default, source):
    system_checks(SystemNeed(from_source(source.url), None, "linux-64", None, network=False))
    assert default.requests == source.requests == []


@pytest.mark.parametrize(
    ("status", "part"),
    [(404, "no such page"), (403, "login"), (401, "login"), (503, "Its own error"), (418, "no index")],
)
def test_what_the_server_says(default, source, status, part):
    source.fail("torch", status)
    found = looked(from_source(source.url), "index")[0]
    assert found.status == "warn"
    assert f"HTTP {status}" in found.found
    assert part in found.why


def test_a_port_where_nobody_listens_and_a_name_that_does_not_exist(default, closed):
    refused = looked(from_source(f"http://{closed}/simple"), "index")[0]
    assert "refuses the connection" in refused.why
    unknown = looked(from_source("http://no-such-host.invalid/simple"), "index")[0]
    assert "name server" in unknown.why


def test_a_server_that_never_answers_ends_in_time(default, monkeypatch):
    monkeypatch.setattr("envkit.installers.reach._TIMEOUT_S", 0.3)
    with answering() as host:
        started = time.monotonic()
        found = looked(from_source(f"http://{host}/simple"), "index")[0]
    assert "does not answer in time" in found.why
    assert time.monotonic() - started < 10


def test_one_that_hangs_longer_than_all_may_take(monkeypatch):
    monkeypatch.setattr("envkit.installers.reach._LIMIT_S", 0.2)
    over = threading.Event()
    monkeypatch.setattr("envkit.installers.reach.ask", lambda question: over.wait(30))
    answers = ask_all([None, None])
    over.set()
    assert [answer.kind for answer in answers] == ["time-out", "time-out"]


def test_what_speaks_no_http(default):
    with answering("SSH-2.0-OpenSSH_9.2\r\n") as host:
        found = looked(from_source(f"http://{host}/simple"), "index")[0]
    assert "no index" in found.why


def test_tls(default, tmp_path, monkeypatch):
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    make_wheel(tmp_path / "tls", "torch", "1.12.1", tags="cp39-cp39-linux_x86_64")
    with serve_index(tmp_path / "tls", tls=context) as index:
        unknown = looked(from_source(index.url), "index")[0]
        assert "certificate is not trusted" in unknown.why
        assert "PIP_CERT" in unknown.hint
        authority.cert_pem.write_to_path(tmp_path / "ca.pem")
        monkeypatch.setenv("PIP_CERT", str(tmp_path / "ca.pem"))
        assert looked(from_source(index.url), "index")[0].status == "ok"
        plain = looked(from_source(default.url.replace("http:", "https:")), "index")[0]
    assert "no TLS" in plain.why


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_wants_a_login(monkeypatch, scheme):
    refusal = "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    with answering(refusal) as host:
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        monkeypatch.setenv(f"{scheme}_proxy", f"http://ann:secret@{host}")
        found = looked(from_source(f"{scheme}://index.invalid/simple"), "index")
        told = looked(None, "proxy")[0]
    assert found[0].found.startswith("none")
    assert "wants a login (407)" in found[1].why
    assert told.found == f"{scheme}_proxy=http://***@{host}"


def test_a_proxy_that_is_not_there(monkeypatch, closed):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_PROXY", f"http://ann:secret@{closed}")
    found = looked(from_source("https://index.invalid/simple"), "index")[1]
    assert "proxy cannot be reached" in found.why
    assert "secret" not in json.dumps(found.to_json())
    assert closed in found.found


def test_proxies_that_contradict_each_other(default, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("https_proxy", "http://one.example:3128")
    monkeypatch.setenv("HTTPS_PROXY", "http://other.example:3128")
    found = looked(None, "proxy")[0]
    assert (found.status, found.why.split()[0]) == ("warn", "https_proxy")


def test_folders_as_indexes(default, tmp_path, monkeypatch):
    (tmp_path / "simple").mkdir()
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", f"file://{tmp_path}/simple file://{tmp_path}/gone")
    found = looked(None, "index")
    assert [check.status for check in found] == ["ok", "warn", "ok"]


def test_pypi_without_an_index_is_asked_by_uv(monkeypatch, closed):
    """uv knows PyPI's address; a proxy that is not there keeps it from being reached."""
    monkeypatch.setenv("HTTPS_PROXY", f"http://{closed}")
    found = looked(None, "index")[0]
    assert (found.status, found.found) == ("warn", "PyPI: not reached")
    assert "uv cannot reach it" in found.why


@pytest.mark.network
def test_the_configured_index_of_this_machine():
    assert "ok" in [check.status for check in looked(None, "index")]


@pytest.fixture
def channel(tmp_path, monkeypatch):
    for subdir in ("noarch", "linux-64"):
        folder = tmp_path / "channels" / "pytorch" / subdir
        folder.mkdir(parents=True)
        (folder / "repodata.json").write_text('{"packages": {}}')
    with serve_channels(tmp_path / "channels") as server:
        monkeypatch.setenv("CONDA_CHANNEL_ALIAS", server.url)
        yield server


def conda_spec(*channels):
    return spec_of(installer="conda", channels=[*channels], packages=["pytorch=1.12.1"])


def test_channels_at_the_alias(channel):
    found = looked(conda_spec("pytorch", "nvidia"), "channel")
    assert [(check.status, check.found.split(" ")[0]) for check in found] == [("ok", "pytorch"), ("warn", "nvidia")]
    assert "no such page" in found[1].why
    assert sorted(channel.requests) == ["HEAD /nvidia/noarch/repodata.json", "HEAD /pytorch/noarch/repodata.json"]


def test_channels_through_condas_proxy_and_offline(channel, closed, monkeypatch):
    path = f"{os.environ['HOME']}/.condarc"
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"proxy_servers": {"http": f"http://ann:secret@{closed}"}}, file)
    found = looked(conda_spec("pytorch"), "channel")[0]
    assert "proxy cannot be reached" in found.why
    assert "secret" not in json.dumps(found.to_json())
    monkeypatch.setenv("CONDA_OFFLINE", "true")
    assert "offline" in looked(conda_spec("pytorch"), "channel")[0].found


def test_a_channel_as_a_folder(tmp_path, channel):
    found = looked(conda_spec(f"file://{tmp_path}/channels/pytorch", f"file://{tmp_path}/gone"), "channel")
    assert [check.status for check in found] == ["ok", "warn"]


def test_a_token_is_not_shown(channel, monkeypatch):
    monkeypatch.setenv("CONDA_CHANNEL_ALIAS", channel.url.replace("://", "://ann:secret@"))
    found = looked(conda_spec("pytorch"), "channel")[0]
    assert found.status == "ok"
    assert "secret" not in found.found
