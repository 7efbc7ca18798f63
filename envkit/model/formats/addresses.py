"""Addresses of conda packages and channels, both ways: as a record names them and as other tools' files do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from envkit.model.addresses import has_credentials

if TYPE_CHECKING:
    from collections.abc import Mapping

    from envkit.model.conda_record import CondaRecord

PUBLIC_ALIAS = "https://conda.anaconda.org"
"""Where plain channel names lead unless a machine is set up otherwise."""
PUBLIC_DEFAULTS = "https://repo.anaconda.com"
"""Where conda's own ``pkgs/main`` and the like lie (https://docs.conda.io/projects/conda/en/stable/user-guide/configuration/settings.html)."""
ARCHIVES = (".conda", ".tar.bz2")
_CREDENTIALS = re.compile(r"(?<=://)[^/@]*@|/t/[A-Za-z0-9._-]+(?=/)")
"""User names, passwords and anaconda.org's tokens in an address."""
_TOKEN = re.compile(r"/t/[A-Za-z0-9._-]+/")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*", re.ASCII)


@dataclass(frozen=True, slots=True)
class PackageAddress:
    """A conda package by its address.

    Attributes:
        channel: the channel's name, or its address where it has none.
        subdir, file: as in a record.
        name, version, build: as the file's name has them.
    """

    channel: str
    subdir: str
    file: str
    name: str
    version: str
    build: str


def package_address(url: str) -> PackageAddress | None:
    """The parts of ``https://HOST/CHANNEL/SUBDIR/NAME-VERSION-BUILD.conda``; None where it has another form."""
    base, _, file = url.rpartition("/")
    file = unquote(file)
    channel, _, subdir = base.rpartition("/")
    end = next((end for end in ARCHIVES if file.endswith(end)), None)
    parts = file.removesuffix(end).rsplit("-", 2) if end is not None else []
    if len(parts) != 3 or not all(parts) or "://" not in channel:  # noqa: PLR2004 - name, version, build
        return None
    return PackageAddress(channel_name(channel, {}), subdir, file, *parts)


def is_secret(url: str) -> bool:
    """Whether the address of a conda package holds a user name, a password or a token of anaconda.org."""
    return has_credentials(url) or (not url.startswith("file:") and _TOKEN.search(urlsplit(url).path) is not None)


def without_credentials(address: str) -> str:
    """An address of conda's without user name, password and token, and without a slash at the end."""
    return (address if address.startswith("file:") else _CREDENTIALS.sub("", address)).rstrip("/")


def channel_name(address: str, names: Mapping[str, str], aliases: tuple[str, ...] = (PUBLIC_ALIAS,)) -> str:
    """What a channel goes by: the name that ``names`` gives, else the part below an alias, else its address."""
    address = without_credentials(address)
    if address in names:
        return names[address]
    for alias in aliases:
        rest = address.removeprefix(f"{alias}/")
        if rest != address and _PLAIN_NAME.fullmatch(rest):
            return rest
    rest = address.removeprefix(f"{PUBLIC_DEFAULTS}/pkgs/")
    return f"pkgs/{rest}" if rest != address and "/" not in rest else address


def public_channel(channel: str) -> str:
    """The address of a channel that everybody can use; never that of a mirror."""
    if "://" in channel:
        return channel
    if channel == "defaults":
        return f"{PUBLIC_DEFAULTS}/pkgs/main"
    return f"{PUBLIC_DEFAULTS if channel.startswith('pkgs/') else PUBLIC_ALIAS}/{channel}"


def public_address(record: CondaRecord) -> str:
    """The address of a package for files that leave this machine."""
    return f"{public_channel(record.channel)}/{record.subdir}/{quote(record.file, safe='!+._-~')}"
