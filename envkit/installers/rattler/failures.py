"""A failure of the worker in envkit's words: which channel or package, what the server said, what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envkit.errors import DownloadError, ProgramError, StorageError, UnsatisfiableError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from envkit.errors import EnvkitError
    from envkit.installers.rattler.network import Network

_STATUS = re.compile(r"\((\d{3}) [^)]*\) for url \(([^)]*)\)")
_MISMATCH = re.compile(r"hash mismatch.*?expected ([0-9a-f]+), got ([0-9a-f]+)", re.DOTALL)
_FULL = re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE)
_OS_ERROR = re.compile(r"(?:\(os error |\[Errno )(\d+)")
_ELSEWHERE = "choose another place: `--prefix DIR`, or RATTLER_CACHE_DIR for the packages' cache."
_CUT = re.compile(r"end of file|\bEOF\b|connection (?:closed|reset)|error reading a body|incomplete", re.IGNORECASE)
_MEANINGS = (
    (r"dns error|lookup address", "its host is not known"),
    (r"connection refused", "nobody answers there"),
    (r"certificate|\btls\b|\bssl\b", "its certificate is not trusted"),
    (r"request failed after \d+ retries$", "it does not answer"),
    (r"proxy|tunnel", "the proxy refuses"),
    (r"timed out", "it did not answer in time"),
    (_CUT.pattern, "the connection was cut"),
    (
        r"decode|frame descriptor|header missing|expected value|invalid|magic|zip|key must be|trailing",
        "what it sent is something else, perhaps a login page",
    ),
)
_REASON_LINES = 12
_SHOWN = 3
_RETRY = "Check the network, the proxy and conda's configuration (`.condarc`), or try a mirror."
_CREDENTIALS = (
    "It wants credentials, or other ones: put them into netrc or `rattler auth`, or into the channel's URL under "
    "custom_channels of conda's configuration."
)


@dataclass(frozen=True, slots=True)
class _Failure:
    error: Mapping[str, Any]
    said: str
    network: Network
    records: Sequence[Mapping[str, Any]]
    offline: bool


def failure_of(
    error: Mapping[str, Any], network: Network, records: Sequence[Mapping[str, Any]] = (), *, offline: bool = False
) -> EnvkitError:
    """The error to raise for what the worker answered."""
    failure = _Failure(error, network.hide(str(error.get("said", ""))), network, records, offline)
    storage = _storage(failure.said) if error["kind"] != "refused" else None
    return storage or _KINDS.get(error["kind"], _bug)(failure)


def _spec(failure: _Failure) -> EnvkitError:
    return UsageError(
        f"{failure.error['spec']!r} is no MatchSpec.",
        why=_lines(failure.said),
        hint='Write "numpy", "numpy>=1.26,<2" or "pytorch=2.1=*cuda*".',
    )


def _unsatisfiable(failure: _Failure) -> EnvkitError:
    if "has been cancelled" in failure.said:
        return ProgramError(
            "The solve did not end in time.",
            argv=("py-rattler",),
            returncode=None,
            why=failure.said,
            hint="Pin more of the versions in the spec: fewer choices are solved faster.",
        )
    lines = [line.rstrip() for line in failure.said.splitlines() if line.strip()]
    more = len(lines) - _REASON_LINES
    shown = lines[:_REASON_LINES] + ([f"... and {more} more lines"] if more > 0 else [])
    return UnsatisfiableError(
        "No set of packages satisfies this.",
        reason=failure.said,
        why="\n".join(shown),
        hint=_way_out(failure.said),
    )


def _way_out(said: str) -> str:
    virtual = re.search(r"(__\w+)[^\n]*, for which no candidates were found", said)
    if "strict channel priority" in said:
        return (
            "The first channel that has a package is the only one for it: put the channel that has this version first, "
            "or name it with the package, CHANNEL::PACKAGE."
        )
    loosen = "Check the spelling, loosen one of the versions that are named, or add the channel that has the package."
    if virtual is not None:
        return f"{virtual[1]} stands for what the machine offers: it is too old, or not there. {loosen}"
    return loosen


def _storage(said: str) -> StorageError | None:
    if _FULL.search(said):
        return StorageError("The disk or your quota is full.", why=_lines(said), hint=f"Free space, or {_ELSEWHERE}")
    number = _OS_ERROR.search(said)
    told = StorageError.from_os_error(OSError(int(number[1]), said)) if number is not None else None
    if told is None:
        return None
    return StorageError(
        "Files cannot be written there.", why=f"{told.why}\n{_lines(said)}", hint=_ELSEWHERE[0].upper() + _ELSEWHERE[1:]
    )


def _stalled(failure: _Failure) -> EnvkitError:
    waiting = [str(name) for name in failure.error["waiting"]]
    files = {str(record["name"]): str(record["file"]) for record in failure.records}
    names = [name for name in waiting if name in failure.network.channels]
    urls = sorted({url for name in names for url in failure.network.urls(name)} - set(names))
    where = f" ({', '.join(urls)})" if urls else ""
    return DownloadError(
        f"Nothing came for {_some([files.get(name, name) for name in waiting])}{where} within "
        f"{failure.error['idle_s']:g} s.",
        why="The server does not answer, or stands still.",
        hint=f"{_RETRY} The limit is remote_read_timeout_secs there.",
    )


def _offline_files(failure: _Failure) -> EnvkitError:
    return DownloadError(
        f"Offline, and not on this disk: {_some(failure.error['files'])}.",
        why="They are in no package cache of py-rattler or conda, and in no folder that was named.",
        hint="Name a folder that holds them with --wheelhouse DIR, or go online once.",
    )


def _channel(failure: _Failure) -> EnvkitError:
    network, said = failure.network, failure.said
    named = (key for key in network.channels if any(f"{url}/" in said for url in network.urls(key)))
    name: str | None = failure.error["channel"] or next(named, None)
    urls = network.urls(name) if name is not None else []
    place = f"channel {name}" if name else "channel"
    place += f" ({', '.join(urls)})" if urls and urls != [name] else ""
    if failure.offline:
        return DownloadError(
            f"Offline, and the index of the {place} is not in the cache.", why=_lines(said), hint="Go online once."
        )
    if "could not find subdir" in said:
        return DownloadError(
            f"There is no {place}.",
            why=_lines(said),
            hint="Check its name, and channel_alias and custom_channels of conda's configuration.",
        )
    return DownloadError(f"Cannot use the {place}: {_meaning(said)}.", why=_lines(said), hint=_hint(said))


def _package(failure: _Failure) -> EnvkitError:
    said = failure.said
    record = next((item for item in failure.records if str(item["file"]) in said), None)
    if record is None or not re.search("failed to fetch", said):
        return _too_long(failure, record) or ProgramError(
            "py-rattler could not install.", argv=("py-rattler",), returncode=None, stderr=said, why=_lines(said)
        )
    name, channel = str(record["file"]), record["channel"]
    mismatch = _MISMATCH.search(said)
    if mismatch is not None:
        return _mismatch(name, channel, mismatch[1], mismatch[2])
    if failure.offline:
        return DownloadError(
            f"Offline, and the copy of {name} in the package cache is damaged.",
            why=_lines(said),
            hint="Go online once, or name a folder that holds it with --wheelhouse DIR.",
        )
    sent = failure.error.get("sent")
    if sent is not None and record.get("sha256"):
        return _other_content(record, sent, said)
    received, size = failure.error.get("received", {}).get(record["name"]), record.get("size")
    if _CUT.search(said) and received is not None and size and received < size:
        return DownloadError(
            f"Incomplete download of {name} from {channel}.",
            why=f"{received} of {size} bytes came.\n{_lines(said)}",
            hint=_RETRY,
        )
    return DownloadError(f"Cannot get {name} from {channel}: {_meaning(said)}.", why=_lines(said), hint=_hint(said))


def _too_long(failure: _Failure, record: Mapping[str, Any] | None) -> UsageError | None:
    if "longer than the placeholder" not in failure.said:
        return None
    package = record["file"] if record is not None else "one of its packages"
    return UsageError(
        f"The path of this environment is too long for {package}.",
        why="Programs of conda packages hold the path, and have no room for a longer one.",
        hint="Choose a shorter one with --prefix DIR.",
    )


def _other_content(record: Mapping[str, Any], sent: Mapping[str, Any], said: str) -> EnvkitError:
    """What the server sends for a package, seen whole, is not the package."""
    name, channel, size = record["file"], record["channel"], record.get("size")
    if sent["sha256"] == record["sha256"]:
        return DownloadError(
            f"{name} from {channel} came damaged, and whole when it was asked for again.",
            why=_lines(said),
            hint="Run the command again; something on the way, perhaps a proxy, damages downloads.",
        )
    if sent["is_page"]:
        return DownloadError(
            f"What {channel} sent for {name} is a web page of {sent['size']} bytes, no package.",
            why=_lines(said),
            hint=f"Perhaps a login or a block page of a proxy. {_RETRY}",
        )
    if size is not None and sent["size"] < size:
        return DownloadError(
            f"Incomplete download of {name} from {channel}.", why=f"{sent['size']} of {size} bytes came.", hint=_RETRY
        )
    return _mismatch(name, channel, record["sha256"], sent["sha256"])


def _mismatch(name: str, channel: str, expected: str, found: str) -> DownloadError:
    return DownloadError(
        f"Hash mismatch: {name} from {channel} is not the locked file.",
        why=f"Expected {expected}, got {found}.",
        hint="Do not install it. Try another mirror, or compare the hash with the one that the channel publishes.",
    )


def _refused(failure: _Failure) -> EnvkitError:
    """A package that would do what no package does; its words may hold paths that look like faults of the disk."""
    return DownloadError(
        f"{failure.error['file']} from {failure.error['channel']} is refused.",
        why=f"{failure.said[:1].upper()}{failure.said[1:]}.",
        hint="Do not install it; ask whoever runs the channel. A spec may take another version or channel.",
    )


def _bug(failure: _Failure) -> EnvkitError:
    text = failure.network.hide(str(failure.error.get("text", "")))
    return ProgramError("py-rattler failed.", argv=("py-rattler",), returncode=None, stderr=text, why=failure.said)


_KINDS = {
    "spec": _spec,
    "unsatisfiable": _unsatisfiable,
    "stalled": _stalled,
    "offline": _offline_files,
    "channel": _channel,
    "install": _package,
    "refused": _refused,
}


def _meaning(said: str) -> str:
    status = _STATUS.search(said)
    if status is not None:
        return f"the server answered {status[1]}"
    found = (meaning for pattern, meaning in _MEANINGS if re.search(pattern, said, re.IGNORECASE))
    return next(found, "it cannot be read")


def _hint(said: str) -> str:
    status = _STATUS.search(said)
    if status is not None and status[1] in {"401", "403", "407"}:
        return _CREDENTIALS
    if status is not None and status[1] == "404":
        return "The package may have been removed there: lock again, or use a mirror that still has it."
    if re.search("certificate", said, re.IGNORECASE):
        return "Name your site's certificates with ssl_verify in conda's configuration, or SSL_CERT_FILE."
    return _RETRY


def _some(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _lines(said: str) -> str:
    """The causes, a line each; py-rattler wraps them in one another."""
    lines = [line.removeprefix("Caused by: ").strip() for line in said.splitlines() if line.strip()]
    return "\n".join(dict.fromkeys(lines[:8]))
