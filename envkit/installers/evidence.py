"""What a server really sends: asked once more when an installer could make nothing of it, so that the cause is told.

uv names neither sizes nor address of a file that broke off, and calls one with other content "no zip" before it looks
at the hash (uv 0.13.9); a broken download and a changed file want different answers.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from envkit.errors import DownloadError
from envkit.installers.diagnose import advice, hash_mismatch, named_packages
from envkit.model.addresses import redacted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from envkit.errors import EnvkitError
    from envkit.installers.indexes import PipConfig
    from envkit.model.locked import LockedPackage

_WORTH_ASKING = re.compile(
    r"end of file before message length|error decoding response body|error reading a body|incompleteread|"
    r"incomplete-download|not enough bytes were received|failed to extract|invalid zip|not a zip|hash mismatch|"
    r"do not match the hashes",
    re.IGNORECASE,
)
_ASKED = 3
"""As many files are looked at: a server that breaks off does so with each."""


def examine(
    error: EnvkitError, packages: Sequence[LockedPackage], indexes: Sequence[str], config: PipConfig
) -> DownloadError | None:
    """The cause of an installer's ``error``, as asking for the file once more shows it; None when that shows none.

    Args:
        error: of the installer.
        packages: what it was to install.
        indexes: addresses of the indexes that it asked.
        config: how they are reached.
    """
    said = f"{getattr(error, 'stderr', '')}\n{getattr(error, 'stdout', '')}"
    if not _WORTH_ASKING.search(said):
        return None
    for package in named_packages(packages, said)[:_ASKED]:
        try:
            found = _ask(package, indexes, config)
        except DownloadError:  # out of reach now: the installer's own words are all there is
            continue
        if found is not None:
            return found
    return None


def _ask(package: LockedPackage, indexes: Sequence[str], config: PipConfig) -> DownloadError | None:
    from envkit.installers.pages import PageReader  # noqa: PLC0415 - rarely needed, and start-up counts

    reader = PageReader(config)
    for index in indexes:
        file = next((item for item in reader.files(index, package.name) or () if item.name == package.file), None)
        if file is None:
            continue
        sent = reader.measure(str(file["url"]))
        place = redacted(str(file["url"]))
        expected = sent.stated_bytes if sent.stated_bytes is not None else package.size
        if expected is not None and sent.received_bytes < expected:
            return DownloadError(
                f"Incomplete download of {package.file}: the connection was cut.",
                why=f"{sent.received_bytes} of {expected} bytes came from {place}, after several attempts.",
                hint=advice([package]),
            )
        if package.sha256 is not None and sent.sha256 not in {None, package.sha256}:
            return hash_mismatch(package, redacted(index), sent.sha256, address=place)
    return None
