"""The user's conda configuration: mirrors, proxies, certificates, folders; never channels that a spec does not name."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from envkit.errors import InvalidFileError
from envkit.installers.channels import DEFAULT_ALIAS, Channel, Channels, is_url
from envkit.installers.condarc_files import (
    Setting,
    as_text,
    config_files,
    expanded,
    find_root,
    home_path,
    merge,
    read_settings,
)
from envkit.model.addresses import is_address

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DEFAULT_CHANNELS = ("https://repo.anaconda.com/pkgs/main", "https://repo.anaconda.com/pkgs/r")
"""What ``defaults`` is where nothing else is said; on Windows with ``pkgs/msys2`` behind."""
_CUSTOM_CHANNELS = {"pkgs/pro": "https://repo.anaconda.com"}
_TRUE = {"true", "yes", "on", "y", "1"}
_FALSE = {"false", "no", "off", "n", "0", "none", ""}
_SEPARATORS = {
    "envs_dirs": os.pathsep,
    "pkgs_dirs": ",",
    "default_channels": ",",
    "migrated_channel_aliases": ",",
    "allowlist_channels": ",",
    "denylist_channels": ",",
}
_KEYS = (
    *_SEPARATORS,
    "channel_alias",
    "custom_channels",
    "custom_multichannels",
    "migrated_custom_channels",
    "mirrored_channels",
    "proxy_servers",
    "ssl_verify",
    "client_ssl_cert",
    "client_ssl_cert_key",
    "offline",
    "add_anaconda_token",
    "remote_connect_timeout_secs",
    "remote_read_timeout_secs",
    "remote_max_retries",
    "root_prefix",
)


@dataclass(frozen=True, slots=True)
class CondaSettings:
    """What ``.condarc`` files and ``CONDA_*`` variables say. URLs in here may hold credentials: see ``redacted``.

    Attributes:
        channel_alias: where a plain channel name lies.
        custom_channels: by channel name, the URL of the folder that it lies in.
        custom_multichannels: names that stand for several channels.
        default_channels: what ``defaults`` stands for; empty: conda's own.
        migrated_channel_aliases, migrated_custom_channels: earlier places, for channels named by URL.
        mirrors: by channel name, the URLs that serve it (``mirrored_channels``, which mamba and Miniforge have).
        allowlist_channels, denylist_channels: what may be used, and what may not.
        proxy_servers: by scheme, scheme and host, or ``all``.
        ssl_verify: whether certificates are checked; a file or folder of certificates; ``truststore``: the system's.
        client_ssl_cert, client_ssl_cert_key: files of a client certificate.
        add_anaconda_token: whether the tokens of ``anaconda login`` count.
        offline: whether the network is off.
        connect_timeout_s, read_timeout_s: how long a server may stand still.
        retries: how often a request is tried again.
        envs_dirs, pkgs_dirs: conda's folders, the first one being where it writes.
        files: the files that were read.
        sources: by setting, the file that it comes from, for messages.
    """

    channel_alias: str = DEFAULT_ALIAS
    custom_channels: Mapping[str, str] = field(default_factory=dict)
    custom_multichannels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    default_channels: tuple[str, ...] = ()
    migrated_channel_aliases: tuple[str, ...] = ()
    migrated_custom_channels: Mapping[str, str] = field(default_factory=dict)
    mirrors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    allowlist_channels: tuple[str, ...] = ()
    denylist_channels: tuple[str, ...] = ()
    proxy_servers: Mapping[str, str] = field(default_factory=dict)
    ssl_verify: bool | str = True
    client_ssl_cert: str | None = None
    client_ssl_cert_key: str | None = None
    add_anaconda_token: bool = True
    offline: bool = False
    connect_timeout_s: float = 9.15
    read_timeout_s: float = 60.0
    retries: int = 3
    envs_dirs: tuple[Path, ...] = ()
    pkgs_dirs: tuple[Path, ...] = ()
    files: tuple[Path, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)

    def channels(self) -> Channels:
        """How names become URLs."""
        return Channels(
            alias=self.channel_alias,
            custom=self.custom_channels or _CUSTOM_CHANNELS,
            defaults=self._defaults("win"),
            migrated_aliases=self.migrated_channel_aliases,
            migrated_custom=self.migrated_custom_channels,
        )

    def places(self, name: str, platform: str = "") -> tuple[Channel, ...]:
        """Where a channel lies: the parts of ``defaults`` and of other multichannels, one place of any other.

        The parts are named by URL, or lie at the alias, whatever ``custom_channels`` says.
        """
        resolver = self.channels()
        parts = self.custom_multichannels.get(name) or (self._defaults(platform) if name == "defaults" else None)
        if parts is None:
            return (resolver.resolve(name),)
        return tuple(resolver.resolve(part) if is_url(part) else resolver.at_alias(part) for part in parts)

    def _defaults(self, platform: str) -> tuple[str, ...]:
        msys = ("https://repo.anaconda.com/pkgs/msys2",) if (platform or sys.platform).startswith("win") else ()
        return self.default_channels or (*DEFAULT_CHANNELS, *msys)

    def channel_urls(self, name: str, platform: str = "") -> tuple[str, ...]:
        """The URLs of a channel, without credentials: a URL gives itself, ``defaults`` several.

        Raises:
            InvalidFileError: ``.condarc`` forbids the channel.
        """
        urls = tuple(place.url for place in self.places(name, platform))
        self._check_allowed(name, urls)
        return urls

    def _check_allowed(self, name: str, urls: tuple[str, ...]) -> None:
        for key, forbids in (("denylist_channels", True), ("allowlist_channels", False)):
            listed = {place.url for entry in getattr(self, key) for place in self.places(entry)}
            if listed and any((url in listed) is forbids for url in urls):
                raise InvalidFileError(
                    self.sources.get(key, ".condarc"),
                    f"the channel {name} must not be used here.",
                    why=f"It is {'among' if forbids else 'not among'} {key} of conda's configuration.",
                    hint="Use another channel in the spec, or ask who manages that file.",
                )


def read_conda_settings(environ: Mapping[str, str] | None = None) -> CondaSettings:
    """conda's settings: its files in conda's order, variables over them.

    Raises:
        InvalidFileError: a file is broken; names file and line.
    """
    environ = os.environ if environ is None else environ
    files = config_files(environ)
    rows = read_settings(files, environ, _KEYS, _SEPARATORS)
    reader = _Reader({key: setting for key, row in rows.items() if (setting := merge(row)) is not None}, environ)
    alias = reader.text("channel_alias") or DEFAULT_ALIAS
    if not is_url(alias) or not is_address(alias):
        raise reader.settings["channel_alias"].error("channel_alias", "is no URL")
    return CondaSettings(
        channel_alias=alias.rstrip("/"),
        custom_channels=reader.mapping("custom_channels"),
        custom_multichannels=reader.lists("custom_multichannels"),
        default_channels=reader.texts("default_channels"),
        migrated_channel_aliases=reader.texts("migrated_channel_aliases"),
        migrated_custom_channels=reader.mapping("migrated_custom_channels"),
        mirrors=reader.lists("mirrored_channels"),
        allowlist_channels=reader.texts("allowlist_channels"),
        denylist_channels=reader.texts("denylist_channels"),
        proxy_servers=reader.mapping("proxy_servers"),
        ssl_verify=reader.ssl_verify(),
        client_ssl_cert=reader.path("client_ssl_cert"),
        client_ssl_cert_key=reader.path("client_ssl_cert_key"),
        add_anaconda_token=reader.truth("add_anaconda_token", default=True),
        offline=reader.truth("offline", default=False),
        connect_timeout_s=reader.number("remote_connect_timeout_secs", 9.15),
        read_timeout_s=reader.number("remote_read_timeout_secs", 60.0),
        retries=int(reader.number("remote_max_retries", 3)),
        envs_dirs=_envs_dirs(reader),
        pkgs_dirs=_pkgs_dirs(reader),
        files=files,
        sources={key: setting.source for key, setting in reader.settings.items()},
    )


class _Reader:
    """Values of the right kind; a wrong kind is an error that names the file."""

    def __init__(self, settings: dict[str, Setting], environ: Mapping[str, str]) -> None:
        self.settings = settings
        self.environ = environ

    def _value(self, key: str) -> Any:  # noqa: ANN401 - YAML holds any value
        return self.settings[key].value if key in self.settings else None

    def text(self, key: str) -> str | None:
        value = self._value(key)
        if value is None:
            return None
        text = as_text(value)
        if text is None:
            raise self.settings[key].error(key, "must be text")
        return expanded(text, self.environ)

    def path(self, key: str) -> str | None:
        text = self.text(key)
        return str(home_path(text, self.environ)) if text else None

    def texts(self, key: str) -> tuple[str, ...]:
        return self._texts(key, self._value(key) or [])

    def _texts(self, key: str, value: object) -> tuple[str, ...]:
        items = [as_text(item) for item in value] if isinstance(value, list) else [None]
        if None in items:
            raise self.settings[key].error(key, "must be a list of texts")
        return tuple(self._expanded(key, item) for item in items if item is not None)

    def _expanded(self, key: str, item: str) -> str:
        text = expanded(item, self.environ)
        if is_url(text) and not is_address(text):
            raise self.settings[key].error(key, "holds an address that cannot be taken apart")
        return text

    def mapping(self, key: str) -> dict[str, str]:
        value = self._value(key) or {}
        if not isinstance(value, dict):
            raise self.settings[key].error(key, "must be a mapping of texts")
        found = {name: as_text(item) for name, item in value.items() if item is not None}
        if None in found.values():
            raise self.settings[key].error(key, "must be a mapping of texts")
        return {name: self._expanded(key, item) for name, item in found.items() if item is not None}

    def lists(self, key: str) -> dict[str, tuple[str, ...]]:
        value = self._value(key) or {}
        if not isinstance(value, dict):
            raise self.settings[key].error(key, "must be a mapping of lists")
        return {name: self._texts(key, items or []) for name, items in value.items()}

    def truth(self, key: str, *, default: bool) -> bool:
        text = self.text(key)
        if text is None:
            return default
        if text.lower() not in _TRUE | _FALSE:
            raise self.settings[key].error(key, "must be true or false")
        return text.lower() in _TRUE

    def number(self, key: str, default: float) -> float:
        text = self.text(key)
        try:
            number = float(text) if text is not None else default
        except ValueError:
            number = -1.0
        if not 0 <= number < float("inf"):
            raise self.settings[key].error(key, "must be a number")
        return number

    def ssl_verify(self) -> bool | str:
        text = self.text("ssl_verify")
        if text is None or text.lower() in _TRUE:
            return True
        if text.lower() in _FALSE:
            return False
        if text == "truststore":
            return text
        path = home_path(text, self.environ)
        if not path.exists():
            raise self.settings["ssl_verify"].error(
                "ssl_verify", "is none of true, false, truststore, and no file or folder of certificates"
            )
        return str(path)


def _root(reader: _Reader) -> Path | None:
    text = reader.text("root_prefix")
    return home_path(text, reader.environ) if text else find_root(reader.environ)


def _envs_dirs(reader: _Reader) -> tuple[Path, ...]:
    root = _root(reader)
    own = home_path("~/.conda/envs", reader.environ)
    fixed = [own] if root is None else [own, root / "envs"]
    if root is not None and os.access(root / "conda-meta" / "history", os.W_OK):
        fixed.reverse()
    given = [home_path(item, reader.environ) for item in reader.texts("envs_dirs")]
    return tuple(dict.fromkeys([*given, *fixed]))


def _pkgs_dirs(reader: _Reader) -> tuple[Path, ...]:
    given = [home_path(item, reader.environ) for item in reader.texts("pkgs_dirs")]
    root = _root(reader)
    fixed = [*([root / "pkgs"] if root is not None else []), home_path("~/.conda/pkgs", reader.environ)]
    return tuple(dict.fromkeys(given or fixed))
