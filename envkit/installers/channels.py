"""From the name of a channel to its URL, as conda does it, with the credentials kept apart.

conda's rules: ``conda/models/channel.py`` of conda 26.7 (checked 2026-12-01).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_TOKEN = re.compile(r"/t/([a-zA-Z0-9-]*)")
_SCHEME = re.compile(r"[a-z][a-z0-9]{0,11}://", re.IGNORECASE)


DEFAULT_ALIAS = "https://conda.anaconda.org"


def is_url(text: str) -> bool:
    """Whether a channel is named by its URL."""
    return _SCHEME.match(text) is not None


@dataclass(frozen=True, slots=True)
class Channel:
    """Where a channel lies.

    Attributes:
        url: without credentials and without a slash at the end.
        access: the URL to ask, with user name, password and token where there are such. Never shown, never stored.
    """

    url: str
    access: str

    @property
    def is_secret(self) -> bool:
        """Whether asking it needs credentials."""
        return self.url != self.access


@dataclass(frozen=True, slots=True)
class _Place:
    """A URL in its parts: scheme, ``user:password``, the rest without token, token."""

    scheme: str
    auth: str
    location: str
    token: str

    @classmethod
    def of(cls, url: str) -> _Place:
        match = _TOKEN.search(url)
        clean = (url.replace(match[0], "", 1) if match is not None else url).rstrip("/")
        scheme, _, rest = clean.partition("://")
        host, slash, path = rest.partition("/")
        auth, _, host = host.rpartition("@")
        return cls(scheme, auth, f"{host}{slash}{path}", match[1] if match is not None else "")

    def channel(self, name: str) -> Channel:
        name = name.strip("/")
        tail = f"/{name}" if name else ""
        token = f"/t/{self.token}" if self.token else ""
        user = f"{self.auth}@" if self.auth else ""
        location = self.location.rstrip("/")
        return Channel(f"{self.scheme}://{location}{tail}", f"{self.scheme}://{user}{location}{token}{tail}")


@dataclass(frozen=True, slots=True)
class Channels:
    """conda's settings on channels.

    Attributes:
        alias: where a plain name lies.
        custom: by name, the URL of the folder that the channel lies in.
        defaults: the parts of ``defaults``; ``pkgs/main`` names the one whose URL ends so.
        migrated_aliases, migrated_custom: earlier places of both.
    """

    alias: str
    custom: Mapping[str, str] = field(default_factory=dict)
    defaults: tuple[str, ...] = ()
    migrated_aliases: tuple[str, ...] = ()
    migrated_custom: Mapping[str, str] = field(default_factory=dict)

    def resolve(self, name: str) -> Channel:
        """The place of a channel that is named by a plain name or by its URL; not of a multichannel."""
        if name.startswith(("/", "./", "../", "~/")):
            return self._of_url(Path(name).expanduser().absolute().as_uri())
        return self._of_url(name) if is_url(name) else self._of_name(name.strip("/"))

    def at_alias(self, name: str) -> Channel:
        """The place of a plain name at the alias, whatever ``custom`` says."""
        return _Place.of(self.alias).channel(name)

    def with_tokens(self, channel: Channel, tokens: Mapping[str, str]) -> Channel:
        """The channel with the token that one of ``tokens`` (by the beginning of its URL) has for it."""
        if channel.is_secret:
            return channel
        scheme, _, location = channel.url.partition("://")
        for start, token in tokens.items():
            if start.startswith(f"{scheme}://") and _behind(location, start.partition("://")[2]) is not None:
                place = self._known(_Place.of(channel.url))
                return _Place(scheme, "", place.location, token).channel(_behind(location, place.location) or "")
        return channel

    def name_of(self, url: str) -> str:
        """The plain name of a channel that has one here or on the default host; else its URL."""
        location = _Place.of(url).location
        part = "/".join(location.split("/")[-2:])
        if _is_part(part) and self.resolve(part).url == self.resolve(url).url:
            return part
        for name in sorted(self.custom, key=len, reverse=True):
            rest = _behind(location, f"{self._custom_place(name).location}/{name.strip('/')}")
            if rest is not None:
                return f"{name}/{rest}".rstrip("/")
        for alias in (self.alias, *self.migrated_aliases, DEFAULT_ALIAS):
            rest = _behind(location, _Place.of(alias).location)
            if rest and self.resolve(rest).url == self.resolve(url).url:
                return rest
        return self.resolve(url).url

    def _of_name(self, name: str) -> Channel:
        part = name
        while part:
            if part in self.custom:
                return self._custom_place(part).channel(name)
            part = part.rpartition("/")[0]
        for url in self.defaults:
            if _is_part(name) and is_url(url) and url.rstrip("/").endswith(f"/{name}"):
                return self._of_url(url)
        return self.at_alias(name)

    def _custom_place(self, name: str) -> _Place:
        url = self.custom[name]
        if is_url(url):
            return _Place.of(url)
        return _Place.of(self.alias)

    def _of_url(self, url: str) -> Channel:
        asked = _Place.of(url)
        for name, earlier in sorted(self.migrated_custom.items(), key=lambda item: -len(item[0])):
            rest = _behind(asked.location, _Place.of(earlier).channel(name).url.partition("://")[2])
            if rest is not None:
                return self._of_name(f"{name}/{rest}".strip("/"))
        for earlier in self.migrated_aliases:
            rest = _behind(asked.location, _Place.of(earlier).location)
            if rest:
                return _Place.of(self.alias).channel(rest)
        known = self._known(asked)
        lends = asked.scheme in {known.scheme, "https"}  # no password over a plain connection that was not set up so
        auth = asked.auth or (known.auth if lends else "")
        token = asked.token or (known.token if lends else "")
        rest = _behind(asked.location, known.location)
        if rest is None:
            return _Place(asked.scheme, auth, asked.location, token).channel("")
        return _Place(asked.scheme, auth, known.location, token).channel(rest)

    def _known(self, asked: _Place) -> _Place:
        """The configured place that a URL lies in: it says where a token goes, and has the credentials."""
        for name in sorted(self.custom, key=len, reverse=True):
            place = self._custom_place(name)
            if _behind(asked.location, f"{place.location}/{name.strip('/')}") is not None:
                return place
        alias = _Place.of(self.alias)
        if _behind(asked.location, alias.location) is not None:
            return alias
        return _Place("", "", asked.location.partition("/")[0], "")


def _is_part(name: str) -> bool:
    """``pkgs/main``, ``pkgs/r``: what Anaconda's channels are called, on every mirror."""
    return name.startswith("pkgs/") and name.count("/") == 1


def _behind(location: str, start: str) -> str | None:
    """What is behind ``start`` in ``location``, by whole parts of the path; None when it does not begin so."""
    parts, first = location.split("/"), start.rstrip("/").split("/")
    return "/".join(parts[len(first) :]) if parts[: len(first)] == first else None
