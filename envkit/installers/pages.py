"""Project pages of package indexes (PEP 503, PEP 691), read over HTTP(S) or from this disk."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import netrc
import os
import ssl
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

from envkit.errors import DownloadError
from envkit.installers.indexes import local_path
from envkit.model.addresses import redacted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from envkit.installers.indexes import PipConfig

_ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
_TIMEOUT_S = 30.0
_MEASURE_LIMIT_S = 120.0
_ABSENT = {404, 410}
_ABSENT_403 = "download.pytorch.org"
"""Its storage answers 403 for what is not there; uv reads it so, too (https://docs.astral.sh/uv/concepts/indexes/)."""


class IndexFile(dict[str, Any]):
    """A file of a project page, with the keys of PEP 691; ``url`` is absolute."""

    @property
    def name(self) -> str:
        """The file's name."""
        return str(self["filename"])

    @property
    def sha256(self) -> str | None:
        """The hash that the index states, or None."""
        hashes: dict[str, str] = self.get("hashes") or {}
        return hashes.get("sha256")


@dataclass(frozen=True, slots=True)
class PageReader:
    """Reads project pages with the user's proxy, certificates and netrc.

    Attributes:
        config: the user's pip configuration.
        timeout_s: for each wait on the network.
    """

    config: PipConfig
    timeout_s: float = _TIMEOUT_S

    def files(self, index: str, project: str) -> list[IndexFile] | None:
        """The files that ``index`` has of a project, or None when it does not know the project.

        Raises:
            DownloadError: the index cannot be asked.
        """
        index = index.rstrip("/")
        folder = local_path(index)
        if folder is not None:
            page = folder / project / "index.html"
            if not page.is_file():
                return None
            return _html_files(page.read_text(encoding="utf-8", errors="replace"), page.absolute().as_uri())
        return self._fetch(f"{index}/{project}/")

    def measure(self, url: str) -> Sent:
        """What comes when a file is asked for: how much, how much the server says, and the hash of it.

        Raises:
            DownloadError: the server cannot be reached, or refuses.
        """
        plain, host, request = request_for(url, "*/*")
        digest, received, stated, until = hashlib.sha256(), 0, None, time.monotonic() + _MEASURE_LIMIT_S
        try:
            with self.opener(host).open(request, timeout=self.timeout_s) as response:
                length = response.headers.get("Content-Length", "")
                stated = int(length) if length.isdecimal() else None
                while time.monotonic() < until:
                    chunk = response.read(1 << 20)
                    if not chunk:
                        return Sent(received, stated, digest.hexdigest())
                    received += len(chunk)
                    digest.update(chunk)
            return Sent(stated or received, stated, None)  # it comes, slowly: nothing is wrong so far
        except urllib.error.HTTPError as error:
            error.close()
            raise _refused(plain, host, error) from error
        except http.client.IncompleteRead as error:
            return Sent(received + len(error.partial), stated, None)
        except (OSError, http.client.HTTPException) as error:
            if received:
                return Sent(received, stated, None)
            raise _unreachable(plain, host, error) from error

    def _fetch(self, url: str) -> list[IndexFile] | None:
        plain, host, request = request_for(url, _ACCEPT)
        try:
            with self.opener(host).open(request, timeout=self.timeout_s) as response:
                body: bytes = response.read()
                kind: str = response.headers.get_content_type()
                final: str = response.url
        except urllib.error.HTTPError as error:
            error.close()
            if error.code in _ABSENT or (error.code == http.HTTPStatus.FORBIDDEN and host == _ABSENT_403):
                return None
            raise _refused(plain, host, error) from error
        except (OSError, http.client.HTTPException) as error:
            raise _unreachable(plain, host, error) from error
        if kind.endswith("+json"):
            return _json_files(body, final)
        return _html_files(body.decode("utf-8", "replace"), final)

    def proxies(self, host: str) -> dict[str, str]:
        """The proxies to a host, by scheme."""
        proxy = self.config.proxy
        proxies = urllib.request.getproxies() if proxy is None else {"http": proxy, "https": proxy}
        return {} if urllib.request.proxy_bypass(host) else proxies

    def opener(self, host: str) -> urllib.request.OpenerDirector:
        """What asks a host, as the user's settings have it."""
        proxies = self.proxies(host)
        cert = self.config.cert
        context = ssl.create_default_context(cafile=cert if cert is not None and os.path.isfile(cert) else None)  # noqa: PTH113
        if host in {entry.partition(":")[0] for entry in self.config.trusted_hosts}:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return urllib.request.build_opener(
            urllib.request.ProxyHandler(proxies), urllib.request.HTTPSHandler(context=context)
        )


@dataclass(frozen=True, slots=True)
class Sent:
    """What a server sent of a file; the hash is None where that was not all."""

    received_bytes: int
    stated_bytes: int | None
    sha256: str | None


def page_json(project: str, files: Sequence[IndexFile]) -> bytes:
    """A project page as PEP 691 has it."""
    return json.dumps({"meta": {"api-version": "1.1"}, "name": project, "files": files}).encode()


def request_for(url: str, accept: str) -> tuple[str, str, urllib.request.Request]:
    """The address without user and password, its host, and the request with these."""
    plain, authorization = _split_credentials(url)
    request = urllib.request.Request(plain, headers={"Accept": accept, "User-Agent": "envkit"})  # noqa: S310 - http(s)
    if authorization is not None:
        request.add_unredirected_header("Authorization", authorization)
    return plain, urlsplit(plain).hostname or "", request


def _split_credentials(url: str) -> tuple[str, str | None]:
    """The address without user name and password, and the header that carries these, netrc's where it has none."""
    parts = urlsplit(url)
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if not user and not password:
        user, password = _netrc_entry(parts.hostname or "")
    plain = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    if not user and not password:
        return plain, None
    return plain, "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def _netrc_entry(host: str) -> tuple[str, str]:
    try:
        found = netrc.netrc(os.environ.get("NETRC")).authenticators(host)
    except (OSError, netrc.NetrcParseError):
        return "", ""
    return (found[0] or "", found[2] or "") if found is not None else ("", "")


def _refused(url: str, host: str, error: urllib.error.HTTPError) -> DownloadError:
    needs_login = error.code in {http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN}
    return DownloadError(
        f"{host} answered {error.code} {error.reason} for {url}.",
        hint=f"Put your user name and password for {host} into netrc." if needs_login else "Try again later.",
    )


def _unreachable(url: str, host: str, error: Exception) -> DownloadError:
    reason = getattr(error, "reason", None) or error
    return DownloadError(
        f"Could not reach {host} ({url}).",
        why=redacted(str(reason)) or type(error).__name__,
        hint="Check the network, proxy and certificates, and that the address is right.",
    )


def _json_files(body: bytes, base: str) -> list[IndexFile]:
    try:
        page = json.loads(body)
        return [IndexFile(entry, url=urljoin(base, entry["url"])) for entry in page["files"]]
    except (ValueError, KeyError, TypeError) as error:
        raise DownloadError(
            f"{redacted(base)} is no project page of a package index.", hint="Check the address of the index."
        ) from error


def _html_files(text: str, base: str) -> list[IndexFile]:
    parser = _Anchors(base)
    parser.feed(text)
    return parser.files


class _Anchors(HTMLParser):
    """Collects the links of a PEP 503 page."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self.base = base
        self.files: list[IndexFile] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        href = values.get("href")
        if not href:
            return
        if tag == "base":
            self.base = urljoin(self.base, href)
        elif tag == "a":
            self._add(urljoin(self.base, href), values)

    def _add(self, link: str, values: dict[str, str | None]) -> None:
        url, _, fragment = link.partition("#")
        algorithm, _, digest = fragment.partition("=")
        entry = IndexFile(
            filename=unquote(urlsplit(url).path.rpartition("/")[2]),
            url=url,
            hashes={algorithm: digest} if algorithm == "sha256" and digest else {},
        )
        if values.get("data-requires-python"):
            entry["requires-python"] = values["data-requires-python"]
        if "data-yanked" in values:
            entry["yanked"] = values["data-yanked"] or True
        metadata = values.get("data-core-metadata") or values.get("data-dist-info-metadata")
        if metadata:
            algorithm, _, digest = metadata.partition("=")
            entry["core-metadata"] = {algorithm: digest} if digest else True
        if entry.name:
            self.files.append(entry)
