"""One place per name: a loopback index that tells uv where a package of a spec comes from, before it looks anywhere.

uv applies ``tool.uv.sources`` to direct requirements only (tried with 0.13.9: constraints, overrides, groups and
``uv lock`` do not extend it), so a claimed package that another one depends on would be looked up on the default index.
With this index in front of all others, and uv's first-index rule, that cannot happen: what it has an answer for is
never asked of another index.
"""

from __future__ import annotations

import functools
import hashlib
import re
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from envkit import resources
from envkit.errors import InvalidFileError
from envkit.installers.pages import IndexFile, PageReader, page_json
from envkit.installers.tags import wheel_rank
from envkit.model.addresses import redacted

if TYPE_CHECKING:
    from types import TracebackType

    from packaging.specifiers import SpecifierSet

    from envkit.installers.indexes import PipConfig
    from envkit.model.spec import Spec

_JSON = "application/vnd.pypi.simple.v1+json"


def stand_in_hash(file: str) -> str:
    """What stands for the hash that an https source does not state: uv would fetch the whole file to find one.

    One per file, since uv tells files with the same hash from each other by nothing else.
    """
    return hashlib.sha256(f"envkit knows no hash of {file}".encode()).hexdigest()


@functools.cache
def default_packages() -> frozenset[str]:
    """Well-known packages that come from the default index although indexes for other things carry copies."""
    return frozenset(name for group in resources.table("default_packages")["groups"] for name in group["packages"])


class Router:
    """Answers uv's questions for project pages while a spec is resolved.

    Attributes:
        url: address of the index; only known to who is told.
        ambiguous: packages that no source claims and that a source has, with that source's address.
        missing: claimed packages that their source does not have, with its address.
        offered: addresses of the files that were offered for a claimed package, by its name.
    """

    def __init__(self, spec: Spec, platform: str, config: PipConfig, past_extra: frozenset[str] = frozenset()) -> None:
        self.ambiguous: dict[str, str] = {}
        self.missing: dict[str, str] = {}
        self.offered: dict[str, set[str]] = {}
        self._spec, self._platform, self._config = spec, platform, config
        self._past_extra = past_extra
        self._wanted = _direct_requirements(spec)
        self._reader = PageReader(config)
        self._error: BaseException | None = None
        self._token = secrets.token_hex(8)
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.router = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/{self._token}/simple"

    def __enter__(self) -> Router:  # noqa: PYI034 - Self is in typing from 3.11 on
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def check(self) -> None:
        """Raise what stood in the way of an answer, and refuse a package that could come from two places.

        Raises:
            DownloadError: a source could not be asked.
            InvalidFileError: a package that no source claims is on a source, or a claimed one is not.
        """
        if self._error is not None:
            raise self._error
        for name, url in sorted(self.ambiguous.items()):
            raise InvalidFileError(
                self._spec.path,
                f"{name} could come from {url} or from the default index ({self._default_name()}).",
                why="No source claims it, and a package of that name on the default index may be somebody else's.",
                hint=f"Name {name} under the source it shall come from: packages: [..., {name}].",
            )
        for name, url in sorted(self.missing.items()):
            raise InvalidFileError(
                self._spec.path,
                f"{url} does not have the package {name}, which the spec claims for it.",
                why="A claimed package is not looked for anywhere else.",
                hint=f"Remove {name} from the packages of that source, or correct the source's url.",
            )

    def _default_name(self) -> str:
        return redacted(self._config.index_url) if self._config.index_url else "PyPI"

    def answer(self, project: str) -> list[IndexFile] | None:
        """The files that uv may choose from; None leaves the answer to the indexes of the user."""
        try:
            return self._answer(project)
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits for uv, by check()
            self._error = self._error or error
            return []

    def _answer(self, project: str) -> list[IndexFile] | None:
        source = self._spec.source_of(project)
        if source is not None:
            files = self._reader.files(source.url, project)
            if files is None:
                self.missing[project] = source.url
                return []
            self.offered[project] = {file["url"] for file in files}
            return [_with_hash(file) for file in files] if source.url.startswith("https:") else files
        if project not in default_packages():
            for other in self._spec.sources:
                if self._reader.files(other.url, project) is not None:
                    self.ambiguous[project] = other.url
                    return []
        return self._from_extra(project)

    def _from_extra(self, project: str) -> list[IndexFile] | None:
        """The files of the user's first further index that has one which can serve the spec on this platform."""
        if project in self._past_extra:
            return None
        for address in self._config.extra_index_urls:
            files = self._reader.files(_without_label(address), project)
            if any(self._fits(file) for file in files or ()):
                return files
        return None

    def _fits(self, file: IndexFile) -> bool:
        wanted = self._wanted.get(_project_of(file.name))
        if wanted is not None and not wanted.contains(_version_of(file.name), prereleases=True):
            return False
        if file.name.endswith(".whl"):
            return wheel_rank(file.name, self._platform, self._spec.python) is not None
        return _project_of(file.name) in self._spec.sdist

    def path_of(self, request: str) -> str | None:
        """The project that a request path asks for, or None when it is not one for this index."""
        prefix = f"/{self._token}/simple/"
        return request.removeprefix(prefix).strip("/") if request.startswith(prefix) else None


def _direct_requirements(spec: Spec) -> dict[str, SpecifierSet]:
    requirements = [Requirement(text) for text in spec.packages]
    return {canonicalize_name(requirement.name): requirement.specifier for requirement in requirements}


def _project_of(file: str) -> str:
    return canonicalize_name(file.partition("-")[0] if file.endswith(".whl") else file.rpartition("-")[0])


def _version_of(file: str) -> str:
    stem = file.removesuffix(".tar.gz").removesuffix(".zip")
    return file.split("-")[1] if file.endswith(".whl") else stem.rpartition("-")[2]


def _without_label(address: str) -> str:
    """The address of an index that may be written as uv's ``NAME=URL``."""
    return re.sub(r"^[\w-]+=(?=\w+://)", "", address)


def _with_hash(file: IndexFile) -> IndexFile:
    return file if file.sha256 is not None else IndexFile(file, hashes={"sha256": stand_in_hash(file.name)})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    router: Router


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        project = self.server.router.path_of(self.path)
        files = self.server.router.answer(project) if project else None
        body = page_json(project, files) if project and files is not None else b""
        self.send_response(200 if files is not None else 404)
        self.send_header("Content-Type", _JSON)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 - as in http.server
        """Nothing: this index is envkit's own business."""
