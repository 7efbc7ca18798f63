"""What an installer's failure means: which file, from where, and what to do about it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from envkit.errors import DownloadError, StorageError
from envkit.model.addresses import redacted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from envkit.errors import EnvkitError
    from envkit.model.locked import LockedPackage

_MISMATCH = re.compile(r"hash mismatch|do not match the hashes", re.IGNORECASE)
_UNREACHABLE = re.compile(
    r"failed to fetch|error sending request|connection (?:refused|reset|broken)|dns error|timed? ?out|"
    r"failed to establish|max retries|name or service not known|temporary failure in name resolution|"
    r"certificate|tunnel|proxy error|unauthorized|forbidden|(?:status|http)\D{0,40}50[0234]\b",
    re.IGNORECASE,
)
_ABSENT = re.compile(r"not found in|no version of|no solution found|no matching distribution|\b404\b", re.IGNORECASE)
_BLAMES = re.compile(r"\s*(?:error|cause|caused by|warning: retrying|\u00d7|\u2570|because)", re.IGNORECASE)
"""Lines in which uv and pip say what went wrong; others, such as a build's log, may hold the same words."""
_OFFLINE = re.compile(r"network was disabled|offline", re.IGNORECASE)
_FULL = re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE)
_INCOMPLETE = re.compile(
    r"end of file before message length|incomplete-download|not enough bytes were received", re.IGNORECASE
)
_NO_WHEEL = re.compile(r"failed to extract archive|invalid zip file structure", re.IGNORECASE)
_NO_LOCKS = re.compile(r"failed to lock .*\((?:os error (?:37|38|95))\)", re.IGNORECASE)
"""ENOLCK, ENOSYS and EOPNOTSUPP of Linux, as uv writes them."""
_NOT_WRITABLE = re.compile(
    r"read-only file system(?: \(os error|:)|permission denied \(os error 13\)|\[errno (?:13|30)\]", re.IGNORECASE
)
"""What uv (Rust) and pip (Python) write about a file system that does not let them write."""


def download_error(error: EnvkitError, packages: Sequence[LockedPackage], place: str, *, offline: bool) -> EnvkitError:
    """The error to show for an installer's ``error`` about ``packages`` that were to come from ``place``."""
    said = f"{getattr(error, 'stderr', '')}\n{getattr(error, 'stdout', '')}"
    named = named_packages(packages, said)
    storage = storage_error(error)
    if storage is not None:
        return storage
    if _MISMATCH.search(said):
        found = re.findall(r"\b[0-9a-f]{64}\b", said)
        return hash_mismatch(named[0], place, next((digest for digest in found if digest != named[0].sha256), None))
    return (
        _absence(named, said, place, offline=offline) or _bad_answer(named, said, place) or _other(error, named, place)
    )


def _absence(named: Sequence[LockedPackage], said: str, place: str, *, offline: bool) -> DownloadError | None:
    """Files that could not be had at all."""
    files, telling = _files(named), _telling_lines(said)
    if offline or _OFFLINE.search(said):
        return DownloadError(
            f"Offline, and not on this disk: {files}.",
            why=telling,
            hint="Name a folder that holds them with --wheelhouse DIR, or go online once.",
        )
    blamed = "\n".join(line for line in said.splitlines() if _BLAMES.match(line)) or said
    if _UNREACHABLE.search(blamed):
        return DownloadError(f"Could not get {files} from {place}.", why=telling, hint=advice(named))
    if _ABSENT.search(blamed):
        return DownloadError(f"{place} does not have {files}.", why=telling, hint=advice(named))
    return None


def _bad_answer(named: Sequence[LockedPackage], said: str, place: str) -> DownloadError | None:
    """Files of which not all came, or something else."""
    files, telling = _files(named), _telling_lines(said)
    if _INCOMPLETE.search(said):
        expected = ", ".join(f"{item.file} has {item.size} bytes" for item in named[:3] if item.size is not None)
        why = f"{telling}\n{expected}".strip()
        return DownloadError(f"Incomplete download of {files} from {place}.", why=why, hint=advice(named))
    if _NO_WHEEL.search(said):
        return DownloadError(f"What {place} sent for {files} is no wheel.", why=telling, hint=advice(named))
    return None


def _other(error: EnvkitError, named: Sequence[LockedPackage], place: str) -> EnvkitError:
    error.hint = error.hint or f"It was to install {_files(named)} from {place}."
    return error


def advice(packages: Sequence[LockedPackage]) -> str:
    """What to do about packages that cannot be had."""
    if any(item.source for item in packages):
        return (
            "Check the network and proxy. Or download the file elsewhere, from a mirror of that index for instance, "
            "put it into a folder and run again with --wheelhouse DIR: the hash in the lock decides, not the place."
        )
    return "Check the network, proxy and index-url, or put the file into a folder and run again with --wheelhouse DIR."


def named_packages(packages: Sequence[LockedPackage], said: str) -> list[LockedPackage]:
    """The packages that a message speaks of; all of them when it names none."""
    text = said.lower().replace("_", "-")
    named = [item for item in packages if re.search(rf"(?<![\w.-]){re.escape(item.name)}(?![\w-])", text)]
    return named or list(packages)


def _files(packages: Sequence[LockedPackage]) -> str:
    shown = ", ".join(item.file for item in packages[:3])
    more = len(packages) - 3
    return f"{shown} and {more} more" if more > 0 else shown


def _telling_lines(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    start = next((i for i, line in enumerate(lines) if re.match(r"(error|ERROR|\u00d7|Caused by)", line)), 0)
    return redacted("\n".join(lines[start:][:10]))


def hash_mismatch(package: LockedPackage, place: str, got: str | None, address: str | None = None) -> DownloadError:
    """A file is not the locked one; ``got`` is the hash that it has and ``address`` its own, where they are known."""
    found_at = f", from {address}" if address is not None else ""
    single = (
        " The lock knows this hash from a single place, so it may be the wrong one."
        if package.known == "single"
        else ""
    )
    return DownloadError(
        f"Hash mismatch: {package.file} from {place} is not the locked file.",
        why=f"Expected sha256 {package.sha256}, got {got or 'another one'}{found_at}.{single}",
        hint="Do not install it. Remove a broken copy from the cache (`uv cache clean "
        + package.name
        + "`) or wheelhouse, "
        "try another mirror, or compare the hash with the one that the project publishes.",
    )


def storage_error(error: EnvkitError) -> StorageError | None:
    """What a program's failure says of the disk; None when it says nothing of it."""
    said = f"{getattr(error, 'stderr', '')}\n{getattr(error, 'stdout', '')}"
    if _NO_LOCKS.search(said):
        return StorageError(
            "uv cannot lock its cache.",
            why=_telling_lines(said),
            hint="The cache lies on a file system without working locks. Set UV_CACHE_DIR to a folder on a local disk.",
        )
    why, where = _telling_lines(said), "ENVKIT_HOME and UV_CACHE_DIR elsewhere"
    if _FULL.search(said):
        return StorageError("The disk or your quota is full.", why=why, hint=f"Free space, or set {where}.")
    if _NOT_WRITABLE.search(said):
        return StorageError(
            "Files cannot be written there.", why=why, hint=f"Choose another place with --prefix DIR, or set {where}."
        )
    return None
