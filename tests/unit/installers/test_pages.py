from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest
import trustme

from envkit.errors import DownloadError
from envkit.installers.indexes import PipConfig
from envkit.installers.pages import IndexFile, PageReader, _html_files, _json_files
from tests.support.index import serve_index
from tests.support.wheels import file_hash, make_wheel

if TYPE_CHECKING:
    from pathlib import Path


def test_files_of_an_http_index(tmp_path: Path):
    wheel = make_wheel(tmp_path / "i", "my-package", "1.0+cu113")
    with serve_index(tmp_path / "i") as index:
        reader = PageReader(PipConfig())
        found = reader.files(index.url, "my-package")
        assert reader.files(index.url, "absent") is None
    assert found is not None
    assert [(file.name, file.sha256) for file in found] == [(wheel.name, file_hash(wheel))]
    assert found[0]["url"] == f"http://{index.host}/files/my_package-1.0%2Bcu113-py3-none-any.whl"
    assert found[0]["core-metadata"] == {} or found[0]["core-metadata"] is True


def test_files_of_an_index_on_this_disk(tmp_path: Path):
    folder = tmp_path / "a b" / "torch"
    folder.mkdir(parents=True)
    (folder / "index.html").write_text('<a href="../../files/torch-1.0-py3-none-any.whl">x</a>', encoding="utf-8")
    reader = PageReader(PipConfig())
    found = reader.files((tmp_path / "a b").as_uri(), "torch")
    assert found is not None
    assert found[0]["url"] == (tmp_path / "files/torch-1.0-py3-none-any.whl").as_uri()
    assert reader.files((tmp_path / "a b").as_uri(), "h") is None
    assert reader.files((tmp_path / "nowhere").as_uri(), "h") is None


def test_files_with_netrc_or_credentials_in_the_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    make_wheel(tmp_path / "i", "p", "1.0")
    with serve_index(tmp_path / "i", auth=("me", "s3 cret")) as index:
        with pytest.raises(DownloadError, match="401") as caught:
            PageReader(PipConfig()).files(index.url, "p")
        assert "netrc" in (caught.value.hint or "")
        secret = index.url.replace("//", "//me:s3%20cret@")
        assert PageReader(PipConfig()).files(secret, "p")
        netrc = tmp_path / "netrc"
        netrc.write_text('machine 127.0.0.1 login me password "s3 cret"\n', encoding="utf-8")
        monkeypatch.setenv("NETRC", str(netrc))
        assert PageReader(PipConfig()).files(index.url, "p")


def test_files_over_tls_need_the_users_certificates(tmp_path: Path):
    make_wheel(tmp_path / "i", "p", "1.0")
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with serve_index(tmp_path / "i", tls=context) as index:
        assert PageReader(PipConfig(cert=str(tmp_path / "ca.pem"))).files(index.url, "p")
        assert PageReader(PipConfig(trusted_hosts=("localhost",))).files(index.url, "p")
        with pytest.raises(DownloadError, match="Could not reach localhost"):
            PageReader(PipConfig()).files(index.url, "p")


@pytest.mark.parametrize("status", [403, 500])
def test_files_other_answers_are_errors_that_name_the_host(tmp_path: Path, status):
    with serve_index(tmp_path / "i") as index:
        index.fail("p", status)
        with pytest.raises(DownloadError, match=rf"127\.0\.0\.1 answered {status}"):
            PageReader(PipConfig()).files(index.url, "p")


def test_files_index_out_of_reach_and_silent(tmp_path: Path):
    with pytest.raises(DownloadError, match=r"Could not reach 127\.0\.0\.1") as caught:
        PageReader(PipConfig()).files("http://127.0.0.1:9/simple", "p")
    assert "refused" in (caught.value.why or "")
    with serve_index(tmp_path / "i") as index:
        index.hang("p")
        with pytest.raises(DownloadError, match="Could not reach"):
            PageReader(PipConfig(), timeout_s=0.2).files(index.url, "p")


def test_files_through_a_proxy_that_is_not_there():
    with pytest.raises(DownloadError, match="Could not reach no-such-host"):
        PageReader(PipConfig(proxy="http://127.0.0.1:9")).files("http://no-such-host.invalid/simple", "p")


def test_html_page_base_yanked_requires_and_metadata():
    page = """<html><head><base href="/files/base/"></head><body>
    <a name="x">no link</a>
    <a href="p-1.0.tar.gz#md5=abc" data-yanked="broken" data-requires-python="&gt;=3.7">p</a>
    <a href="p-2.0-py3-none-any.whl#sha256=aa" data-dist-info-metadata="sha256=bb" data-yanked>p</a></body></html>"""
    first, second = _html_files(page, "https://h/simple/p/")
    assert first == {
        "filename": "p-1.0.tar.gz",
        "url": "https://h/files/base/p-1.0.tar.gz",
        "hashes": {},
        "requires-python": ">=3.7",
        "yanked": "broken",
    }
    assert second == {
        "filename": "p-2.0-py3-none-any.whl",
        "url": "https://h/files/base/p-2.0-py3-none-any.whl",
        "hashes": {"sha256": "aa"},
        "yanked": True,
        "core-metadata": {"sha256": "bb"},
    }


def test_json_page_keeps_fields_and_resolves_addresses():
    body = (
        b'{"files": [{"filename": "p-1.0-py3-none-any.whl", "url": "../f/p", "hashes": {"sha256": "aa"}, "size": 3}]}'
    )
    found = _json_files(body, "https://h/simple/p/")
    assert found == [
        IndexFile(filename="p-1.0-py3-none-any.whl", url="https://h/simple/f/p", hashes={"sha256": "aa"}, size=3)
    ]
    with pytest.raises(DownloadError, match="no project page"):
        _json_files(b"[]", "https://me:secret@h/simple/p/")
