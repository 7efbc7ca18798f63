"""Complete records of packages that somebody has named by their addresses, as conda's explicit files do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from envkit import paths
from envkit.errors import InvalidFileError, UsageError
from envkit.installers.channels import is_url
from envkit.installers.rattler.child import ask
from envkit.installers.rattler.failures import failure_of
from envkit.installers.rattler.network import plan_network
from envkit.model.addresses import redacted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from envkit.installers.condarc import CondaSettings
    from envkit.model.progress import Progress

_PACKAGE = re.compile(
    r"(?P<channel>[a-zA-Z0-9+]+://\S+)/(?P<subdir>noarch|[a-z]+-[a-z0-9]+)/(?P<file>[^/#?\s]+-[^/#?\s]+-[^/#?\s]+)"
    r"(?:#(?P<hash>\S*))?"
)
_EXTENSIONS = (".conda", ".tar.bz2")
_HASH = re.compile(r"(?:(?:md5[:=])?(?P<md5>[0-9a-fA-F]{32})|(?:sha256[:=])?(?P<sha256>[0-9a-fA-F]{64}))")


def fetched_packages() -> Path:
    """The folder of packages that had to be fetched to read their records; an installation takes them from there."""
    return paths.cache_dir() / "conda-packages"


def find_records(
    wanted: Sequence[str | tuple[str, str, str]],
    *,
    settings: CondaSettings,
    platform: str,
    offline: bool,
    timeout_s: float,
    progress: Progress,
) -> tuple[dict[str, Any], ...]:
    """Complete records of packages named by URL, ``URL#md5`` or ``URL#sha256:...``, or by (channel, subdir, file).

    They come from the channels' repodata; of a package that is not in there (any more), from the file itself. A channel
    that has a name in conda's settings is named by it.

    Raises:
        DownloadError: a package cannot be had, or has another hash.
        UsageError: a URL does not name a conda package.
    """
    if not wanted:
        return ()
    resolver = settings.channels()
    asked = [_asked(item) for item in wanted]
    network = plan_network([entry["channel"] for entry in asked], settings, platform)
    for entry in asked:
        given = entry["channel"]
        if len(network.channels[given]) > 1:
            raise UsageError(f"{given} stands for several channels; name the one that has {entry['file']}.")
        url = network.channels[given][0].url
        entry |= {"channel": resolver.name_of(url) if is_url(given) else given, "channel_url": url}
        entry["url"] = f"{url}/{entry['subdir']}/{entry['file']}"
    named = {entry["channel"]: entry["channel_url"] for entry in asked}
    request = {
        "call": "find",
        "channels": [{"name": name, "urls": {url: name}} for name, url in named.items()],
        "wanted": asked,
        "platform": platform,
        "offline": offline or settings.offline,
        "fetched": str(fetched_packages()),
        "folders": [str(folder) for folder in [fetched_packages(), *settings.pkgs_dirs]],
    }
    answer = ask(request, network, settings, timeout_s=timeout_s, progress=progress)
    if "error" in answer:
        raise failure_of(answer["error"], network, asked, offline=offline or settings.offline)
    return tuple(answer["records"])


def _asked(item: str | tuple[str, str, str]) -> dict[str, Any]:
    """Channel, subdir, file, name and hash of what is wanted."""
    text = item if isinstance(item, str) else "/".join((item[0] if is_url(item[0]) else f"x://{item[0]}", *item[1:]))
    match = _PACKAGE.fullmatch(text.strip())
    if match is None or not match["file"].endswith(_EXTENSIONS):
        raise UsageError(
            f"{redacted(text.removeprefix('x://'))} does not name a conda package.",
            hint="It ends in CHANNEL/SUBDIR/NAME-VERSION-BUILD.conda, or .tar.bz2.",
        )
    file = unquote(match["file"])
    digest = _HASH.fullmatch(match["hash"] or "")
    if match["hash"] and digest is None:
        raise InvalidFileError(redacted(match["channel"]), f"the hash of {file} is neither md5 nor sha256.")
    stem = file.removesuffix(".conda").removesuffix(".tar.bz2")
    name, version, build = stem.rsplit("-", 2)
    return {
        "channel": match["channel"].removeprefix("x://"),
        "subdir": match["subdir"],
        "file": file,
        "name": name.lower(),
        "version": version,
        "build": build,
        "md5": digest["md5"].lower() if digest is not None and digest["md5"] else None,
        "sha256": digest["sha256"].lower() if digest is not None and digest["sha256"] else None,
    }
