"""What the user's conda settings mean for the worker: addresses, mirrors, proxies, certificates, and what is secret."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from envkit.errors import InvalidFileError
from envkit.installers.anaconda_tokens import read_anaconda_tokens
from envkit.installers.channels import is_url
from envkit.model.addresses import redacted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from envkit.installers.channels import Channel
    from envkit.installers.condarc import CondaSettings


_LEAST_SECRET = 4
"""Shorter ones would be found in the middle of words."""


@dataclass(frozen=True, slots=True)
class Network:
    """How the worker reaches the channels of one call.

    Attributes:
        channels: by name as the caller has it, the places.
        config: TOML for py-rattler, with mirrors and tokens.
        passwords: user name and password by host.
        environment: changes to the worker's variables.
        notes: what the user should know.
        secrets: texts that must not be shown.
    """

    channels: Mapping[str, tuple[Channel, ...]]
    config: str
    passwords: Mapping[str, tuple[str, str]]
    environment: Mapping[str, str | None]
    notes: tuple[str, ...]
    secrets: tuple[str, ...]

    def urls(self, name: str) -> list[str]:
        """The URLs of a channel, without credentials."""
        return [channel.url for channel in self.channels[name]]

    def described(self, name: str, settings: CondaSettings) -> dict[str, Any]:
        """A channel for the worker: its URLs, and by each the name that its records get.

        A record of ``defaults`` names the part that it comes from: the whole has several places, here or elsewhere.
        """
        is_several = name == "defaults" or name in settings.custom_multichannels
        resolver = settings.channels()
        return {"name": name, "urls": {url: resolver.name_of(url) if is_several else name for url in self.urls(name)}}

    def hide(self, text: str) -> str:
        """``text`` without anything secret."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return redacted(text)


def plan_network(names: Iterable[str], settings: CondaSettings, platform: str) -> Network:
    """The network for a call that needs the channels ``names``.

    Raises:
        InvalidFileError: ``.condarc`` forbids a channel, or asks for proxies that cannot be had.
    """
    resolver, tokens = settings.channels(), read_anaconda_tokens() if settings.add_anaconda_token else {}
    channels: dict[str, tuple[Channel, ...]] = {}
    for name in dict.fromkeys(names):
        settings.channel_urls(name, platform)  # is it allowed?
        row = settings.places(name, platform)
        channels[name] = tuple(resolver.with_tokens(place, tokens) for place in row)
    mirrors = _mirrors(channels, settings)
    places = [place for row in channels.values() for place in row]
    asked = [url for urls in mirrors.values() for url in urls] + [place.url for place in places]
    environment, notes = _environment(asked, settings)
    secrets = _secrets(places, mirrors, settings)
    passwords = _passwords([*(place.access for place in places), *(url for row in mirrors.values() for url in row)])
    plain = {url: [_without_user(other) for other in others] for url, others in mirrors.items()}
    plain = {url: others for url, others in plain.items() if others != [url]}
    return Network(channels, _toml(plain, settings), passwords, environment, notes, secrets)


def _mirrors(channels: Mapping[str, tuple[Channel, ...]], settings: CondaSettings) -> dict[str, list[str]]:
    """By the channel's address the ones to ask instead: those of mirrors, or its own with credentials.

    The name of a mirrored channel that ``custom_channels`` places somewhere is asked there first: conda knows no
    ``mirrored_channels``, and Miniforge has some for conda-forge.
    """
    found: dict[str, list[str]] = {}
    resolver = settings.channels()
    for name, places in channels.items():
        others = [resolver.resolve(url).access for url in settings.mirrors.get(name, ()) if is_url(url)]
        for place in places:
            own = [place.access] if name in settings.custom_channels or not others or len(places) > 1 else []
            addresses = list(dict.fromkeys([*own, *(others if len(places) == 1 else [])]))
            if addresses != [place.url]:
                found[place.url] = addresses
    return found


def _without_user(url: str) -> str:
    """py-rattler sends no user name and password that stand in a mirror's address (0.28.0), so they go another way."""
    scheme, _, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def _passwords(urls: Iterable[str]) -> dict[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for url in urls:
        parts = urlsplit(url)
        if parts.hostname is None or parts.username is None:
            continue
        pair = (unquote(parts.username), unquote(parts.password or ""))
        if found.setdefault(parts.hostname, pair) != pair:
            raise InvalidFileError(
                ".condarc",
                f"the channels of this spec have different passwords for {parts.hostname}.",
                why="py-rattler knows one for a host.",
                hint="Use one that may read all of them.",
            )
    return found


def _toml(mirrors: Mapping[str, Sequence[str]], settings: CondaSettings) -> str:
    lines = []
    if settings.ssl_verify is False:
        lines.append("tls-no-verify = true")
    lines.append('tls-root-certs = "system"')
    lines.append("[mirrors]")
    lines += [f"{json.dumps(url)} = {json.dumps(list(others))}" for url, others in mirrors.items()]
    return "\n".join(lines) + "\n"


def _environment(urls: Sequence[str], settings: CondaSettings) -> tuple[dict[str, str | None], tuple[str, ...]]:
    changes: dict[str, str | None] = _proxies(urls, settings)
    certificates = settings.ssl_verify if isinstance(settings.ssl_verify, str) else _bundle_of_requests()
    if certificates is not None and certificates != "truststore":
        kind = "SSL_CERT_DIR" if os.path.isdir(certificates) else "SSL_CERT_FILE"  # noqa: PTH112
        changes[kind] = certificates
    return changes, _notes(urls, settings)


def _notes(urls: Sequence[str], settings: CondaSettings) -> tuple[str, ...]:
    if settings.client_ssl_cert is None or not any(url.startswith("https:") for url in urls):
        return ()
    text = "which py-rattler cannot use: a channel that demands one will refuse"
    return (f"conda's configuration names a client certificate (client_ssl_cert), {text}.",)


def _bundle_of_requests() -> str | None:
    """The certificates that conda's own library, requests, takes from the environment; py-rattler has other names."""
    given = (os.environ.get(name) for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"))
    return next((path for path in given if path and os.path.exists(path)), None)  # noqa: PTH110


def _proxies(urls: Sequence[str], settings: CondaSettings) -> dict[str, str | None]:
    """Variables for ``proxy_servers``; a variable that is set wins, as it does with conda."""
    changes: dict[str, str | None] = {}
    for scheme in ("http", "https"):
        if any(
            os.environ.get(name) for name in (f"{scheme}_proxy", f"{scheme}_proxy".upper(), "ALL_PROXY", "all_proxy")
        ):
            continue
        hosts = {urlsplit(url).hostname or "" for url in urls if url.startswith(f"{scheme}:")}
        chosen = {proxy_of(scheme, host, settings.proxy_servers) for host in hosts}
        if len(chosen) > 1:
            raise InvalidFileError(
                settings.sources.get("proxy_servers", ".condarc"),
                f"proxy_servers has different proxies for the {scheme} hosts {', '.join(sorted(hosts))}.",
                why="py-rattler uses one proxy for all hosts.",
                hint=f"Set {scheme}_proxy and NO_PROXY for this command instead.",
            )
        proxy = next(iter(chosen), None)
        if proxy:
            changes[f"{scheme}_proxy"] = proxy
    return changes


def proxy_of(scheme: str, host: str, servers: Mapping[str, str]) -> str | None:
    """The proxy to a host.

    As requests chooses it: https://requests.readthedocs.io/en/latest/user/advanced/#proxies (checked 2026-12-01).
    """
    for key in (f"{scheme}://{host}", scheme, f"all://{host}", "all"):
        if key in servers:
            return servers[key] if "://" in servers[key] else f"http://{servers[key]}"
    return None


def _secrets(
    places: Sequence[Channel], mirrors: Mapping[str, Sequence[str]], settings: CondaSettings
) -> tuple[str, ...]:
    found: set[str] = set()
    for url in [*(place.access for place in places), *(url for urls in mirrors.values() for url in urls)]:
        parts = urlsplit(url)
        found |= {parts.netloc.rpartition("@")[0]} if "@" in parts.netloc else set()
        found |= {parts.password} if parts.password else set()
        _, mark, rest = parts.path.partition("/t/")
        found |= {rest.partition("/")[0]} if mark else set()
    for proxy in settings.proxy_servers.values():
        found |= {proxy.partition("://")[2].rpartition("@")[0]} if "@" in proxy else set()
    return tuple(sorted((secret for secret in found if len(secret) >= _LEAST_SECRET), key=len, reverse=True))


def rattler_cache() -> Path:
    """The folder of py-rattler's caches: ``RATTLER_CACHE_DIR``, or its place in the user's cache folder."""
    from pathlib import Path  # noqa: PLC0415

    if os.environ.get("RATTLER_CACHE_DIR"):
        return Path(os.environ["RATTLER_CACHE_DIR"]).absolute()
    import platformdirs  # noqa: PLC0415 - not needed where the variable is set

    return Path(platformdirs.user_cache_dir(appauthor=False)) / "rattler" / "cache"
