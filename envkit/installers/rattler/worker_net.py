"""For the worker: a client by the user's settings, records of py-rattler, and a watch on servers that stand still."""

from __future__ import annotations

import contextlib
import datetime as dt
import hashlib
import json
import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rattler import Config, PackageRecord, RepoDataRecord
from rattler.networking import Client
from rattler.package import BuildString

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_TICK_S = 0.5
_LEAST_BYTES = 1024
"""Fewer bytes in the whole time limit are as good as none."""
_BUSY = 0.1
"""A process that uses more than this part of a core is computing, not waiting."""
_TCP_INFO_BYTES_RECEIVED = slice(128, 136)
"""``tcpi_bytes_received`` in Linux's ``struct tcp_info`` (include/uapi/linux/tcp.h, since 4.1)."""


class KnownFailureError(Exception):
    """A failure that the parent puts into words."""

    def __init__(self, kind: str, **facts: object) -> None:
        self.facts: dict[str, Any] = {"kind": kind, **facts}
        super().__init__(kind)


def make_client(request: Mapping[str, Any]) -> Client:
    """A client with the user's proxies, certificates, mirrors and credentials."""
    with _passwords_known(request["passwords"]):
        return Client.from_config(Config.from_toml(request["config"]), max_retries=request["retries"])


@contextlib.contextmanager
def _passwords_known(passwords: Mapping[str, Sequence[str]]) -> Iterator[None]:
    """While the block runs ``RATTLER_AUTH_FILE`` has the passwords too; a client reads it when it is made."""
    if not passwords:
        yield
        return
    own = os.environ.get("RATTLER_AUTH_FILE")
    known = json.loads(Path(own).read_text(encoding="utf-8")) if own else {}
    known |= {host: {"BasicHTTP": {"username": user, "password": word}} for host, (user, word) in passwords.items()}
    with tempfile.TemporaryDirectory(prefix="envkit-") as folder:  # for this user alone
        path = Path(folder) / "credentials.json"
        path.write_text(json.dumps(known), encoding="utf-8")
        os.environ["RATTLER_AUTH_FILE"] = str(path)
        yield
    if own is None:
        del os.environ["RATTLER_AUTH_FILE"]
    else:
        os.environ["RATTLER_AUTH_FILE"] = own


def make_record(entry: Mapping[str, Any]) -> RepoDataRecord:
    """A record of py-rattler from one of envkit's, which has its ``url`` and ``channel_url`` beside."""
    sha256, md5 = entry.get("sha256"), entry.get("md5")
    record = PackageRecord(
        entry["name"],
        entry["version"],
        BuildString.new_unchecked(entry["build"]),
        entry.get("build_number") or 0,
        entry["subdir"],
        noarch=entry.get("noarch"),
        depends=list(entry.get("depends") or ()),
        constrains=list(entry.get("constrains") or ()),
        sha256=bytes.fromhex(sha256) if sha256 else None,
        md5=bytes.fromhex(md5) if md5 else None,
        size=entry.get("size"),
        license=entry.get("license"),
        python_site_packages_path=entry.get("python_site_packages_path"),
    )
    if entry.get("track_features"):
        record.track_features = list(entry["track_features"])
    if entry.get("timestamp"):
        record.timestamp = dt.datetime.fromtimestamp(entry["timestamp"] / 1000, tz=dt.timezone.utc)
    return RepoDataRecord(record, entry["file"], entry["url"], f"{entry['channel_url']}/{entry['subdir']}")


def find_file(entry: Mapping[str, Any], folders: Sequence[str]) -> Path | None:
    """The file of a record in the first folder that has it with the right content.

    py-rattler itself checks no hash of local files.
    """
    places = [Path(folder) for folder in folders]
    candidates = (
        path for folder in places for path in (folder / entry["file"], folder / entry["subdir"] / entry["file"])
    )
    return next((path for path in candidates if _is_right(path, entry)), None)


def _is_right(path: Path, entry: Mapping[str, Any]) -> bool:
    try:
        if entry.get("size") not in (None, path.stat().st_size):
            return False
        return digest_of(path, _kind(entry)) == str(entry[_kind(entry)])
    except OSError:
        return False


def _kind(entry: Mapping[str, Any]) -> str:
    return "sha256" if entry.get("sha256") else "md5"


def check_own_file(entry: Mapping[str, Any]) -> None:
    """Compare the hash of a package of a channel that is a folder: py-rattler takes such a file as it is (0.28.0)."""
    kind = _kind(entry)
    try:
        found = digest_of(path_of(entry["url"]), kind)
    except OSError:
        return  # py-rattler tells why it cannot be read
    if found != entry[kind]:
        said = f"failed to fetch {entry['file']}\nhash mismatch: expected {entry[kind]}, got {found}"
        raise KnownFailureError("install", said=said)


def path_of(url: str) -> Path:
    """The file that a ``file:`` address leads to."""
    from urllib.request import url2pathname  # noqa: PLC0415 - rare, and slow to import

    return Path(url2pathname(url.removeprefix("file://")))


def digest_of(path: Path, kind: str) -> str:
    """The hash of a file's content, "sha256" or "md5"."""
    digest = hashlib.new(kind, usedforsecurity=kind != "md5")
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


class Watch:
    """Ends the process when nothing comes in any more: py-rattler's own limit is one for whole downloads.

    Args:
        idle_s: how long nothing may come.
        cache: folder of repodata, whose growth is progress.
        waiting: names what is waited for; empty: for nothing, so all is well.
        leave: ends the process with an answer.
        draw: told again and again how many bytes have come.
    """

    def __init__(
        self,
        idle_s: float,
        cache: Path,
        waiting: Callable[[], list[str]],
        leave: Callable[[dict[str, Any]], None],
        draw: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.bytes, self._total, self._draw = 0, 0, draw
        self._idle_s, self._cache, self._waiting, self._leave = idle_s, cache, waiting, leave
        self._sockets: dict[int, int] = {}
        threading.Thread(target=self._run, daemon=True).start()

    def stir(self) -> None:
        """Something has begun."""
        self.bytes += _LEAST_BYTES

    def _run(self) -> None:
        idle_s, moved, grown, used = 0.0, 0, self._size(), time.process_time()
        while True:
            time.sleep(_TICK_S)
            idle_s += _TICK_S  # by ticks: while the process was stopped, no time has passed
            received = self._received()
            moved += received
            self._total += received
            self._draw(self._total)
            size, waiting = self._size(), self._waiting()
            computing = time.process_time() - used > _BUSY * max(idle_s, 1.0)
            if not waiting or computing or moved + self.bytes + abs(size - grown) >= _LEAST_BYTES:
                idle_s, moved, self.bytes, grown, used = 0.0, 0, 0, size, time.process_time()
            elif idle_s >= self._idle_s:
                self._leave({"error": {"kind": "stalled", "waiting": waiting, "idle_s": self._idle_s}})

    def _size(self) -> int:
        total = 0
        try:
            with os.scandir(self._cache) as entries:
                for entry in entries:
                    total += entry.stat().st_size
        except OSError:  # not there yet, or changed meanwhile
            return total
        return total

    def _received(self) -> int:
        """Bytes that have come on this process's TCP connections since the last call; 0 where that cannot be told."""
        if sys.platform != "linux":
            return 0
        now: dict[int, int] = {}
        for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - the names alone, and often
            try:
                now.update(_received_on(int(name)))
            except OSError:  # noqa: PERF203 - closed meanwhile
                continue
        gained = sum(max(0, count - self._sockets.get(inode, 0)) for inode, count in now.items())
        self._sockets = now
        return gained


def _received_on(descriptor: int) -> dict[int, int]:
    import socket  # noqa: PLC0415
    import stat  # noqa: PLC0415

    status = os.fstat(descriptor)
    if not stat.S_ISSOCK(status.st_mode):
        return {}
    with socket.socket(fileno=os.dup(descriptor)) as copy:
        if copy.family not in {socket.AF_INET, socket.AF_INET6} or copy.type != socket.SOCK_STREAM:
            return {}
        info = copy.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return {status.st_ino: int.from_bytes(info[_TCP_INFO_BYTES_RECEIVED], sys.byteorder)}
