"""The user's default index: what pip's configuration and uv's own settings say, and how both programs are told.

pip's rules: https://pip.pypa.io/en/stable/topics/configuration/ (checked 2026-11-30).
"""

from __future__ import annotations

import configparser
import os
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from envkit.errors import InvalidFileError
from envkit.installers.uv_settings import read_uv_settings
from envkit.model.addresses import checked_address, has_credentials

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from envkit.installers.uv_settings import UvSettings

_SECTIONS = ("global", "install")
_SYSTEM_FILE = Path("/etc/pip.conf")
_TRUE = {"1", "true", "yes", "on", "y", "t"}


@dataclass(frozen=True, slots=True)
class PipConfig:
    """Where the user gets packages from that no source claims, as pip is configured for ``pip install``.

    Attributes:
        index_url: the default index, or None for PyPI. May hold credentials: never print it, see ``redacted``.
        extra_index_urls: further indexes, as configured.
        find_links: folders and pages with files, as configured; they need not exist.
        no_index: whether indexes are off, so that ``find_links`` alone counts.
        cert: file of certificates, or None.
        proxy: address of the proxy, or None.
        trusted_hosts: hosts whose certificate is not checked.
    """

    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    no_index: bool = False
    cert: str | None = None
    proxy: str | None = None
    trusted_hosts: tuple[str, ...] = ()


def read_pip_config(environ: Mapping[str, str] | None = None) -> PipConfig:
    """The user's pip configuration: files, then ``[install]`` over ``[global]``, then ``PIP_*`` variables.

    Raises:
        InvalidFileError: a configuration file cannot be read.
    """
    environ = os.environ if environ is None else environ
    values: dict[str, str] = {}
    sections: dict[str, dict[str, str]] = {name: {} for name in _SECTIONS}
    for path in pip_config_files(environ):
        for section, entries in read_sections(path).items():
            sections[section] |= entries
    for name in _SECTIONS:
        values |= sections[name]
    for variable, value in environ.items():
        if variable.startswith("PIP_") and value:
            values[_key(variable[4:])] = value
    return PipConfig(
        index_url=_as_url(values.get("index-url", values.get("pypi-url", ""))),
        extra_index_urls=tuple(url for item in values.get("extra-index-url", "").split() if (url := _as_url(item))),
        find_links=tuple(map(_as_link, values.get("find-links", "").split())),
        no_index=values.get("no-index", "").lower() in _TRUE,
        cert=str(Path(values["cert"]).expanduser().absolute()) if values.get("cert") else None,
        proxy=values.get("proxy") or None,
        trusted_hosts=tuple(values.get("trusted-host", "").split()),
    )


def pip_config_files(environ: Mapping[str, str], platform: str = sys.platform) -> tuple[Path, ...]:
    """pip's configuration files in the order in which later ones win; they need not exist.

    ``PIP_CONFIG_FILE`` set to the null device turns all files off; set to a file, it replaces the user's own.
    """
    chosen = environ.get("PIP_CONFIG_FILE")
    if chosen == os.devnull:
        return ()
    home = Path(environ.get("USERPROFILE" if platform == "win32" else "HOME") or Path.home())
    if platform == "win32":
        site = [Path(environ.get("PROGRAMDATA", r"C:\ProgramData")) / "pip/pip.ini"]
        roaming = Path(environ.get("APPDATA") or home / "AppData/Roaming")
        user = [home / "pip/pip.ini", roaming / "pip/pip.ini"]
    elif platform == "darwin":
        site = [Path("/Library/Application Support/pip/pip.conf")]
        library = home / "Library/Application Support/pip"
        user = [home / ".pip/pip.conf", (library if library.is_dir() else home / ".config/pip") / "pip.conf"]
    else:
        folders = [folder for folder in (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":") if folder]
        site = [*(Path(folder) / "pip/pip.conf" for folder in folders), _SYSTEM_FILE]
        config_home = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
        user = [home / ".pip/pip.conf", config_home / "pip/pip.conf"]
    if chosen and Path(chosen).exists():
        return (*site, Path(chosen))
    return (*site, *user)


def read_sections(path: Path) -> dict[str, dict[str, str]]:
    """What one of pip's configuration files says for ``pip install``, by section; empty where it cannot be opened.

    Raises:
        InvalidFileError: it is no such file.
    """
    parser = configparser.RawConfigParser()
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:  # absent, or not for us to read: pip goes on without it, too
        return {}
    try:
        parser.read_string(text, source=str(path))
    except configparser.Error as error:
        raise InvalidFileError(  # without what stands there: it may be a password
            str(path),
            f"pip's configuration cannot be read: {type(error).__name__.removesuffix('Error')}.",
            line=_line_of(error),
            hint="Correct it with `pip config edit`.",
        ) from error
    return {
        section: {_key(name): value for name, value in parser.items(section)}
        for section in _SECTIONS
        if parser.has_section(section)
    }


def _line_of(error: configparser.Error) -> int | None:
    """The line of the first mistake."""
    mistakes = getattr(error, "errors", None)
    line: int | None = mistakes[0][0] if mistakes else getattr(error, "lineno", None)
    return line


def _key(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix("--")


def _as_url(value: str) -> str | None:
    value = value.strip()
    if not value:
        return None
    if "://" in value or has_credentials(value):
        return checked_address(value, "pip's configuration")
    return Path(value).expanduser().absolute().as_uri()


def _as_link(value: str) -> str:
    """A page or folder of find-links; a folder as an absolute path, since installers start in a folder of their own."""
    checked_address(value, "pip's configuration")
    return value if "://" in value else str(Path(value).expanduser().absolute())


def local_path(address: str) -> Path | None:
    """The path on this disk that a ``file:`` address or a path names; None for another address."""
    parts = urlsplit(address)
    if parts.scheme == "file":
        path = unquote(parts.path)
        return Path(path[1:] if re.match(r"/[A-Za-z]:", path) else path)
    if "://" in address:
        return None
    return Path(address).expanduser().absolute()


def find_local_wheel_dirs(config: PipConfig, wheelhouse: Path | None = None) -> list[Path]:
    """Folders on this disk that may hold locked files: the wheelhouse first, then those of find-links that exist."""
    folders = [wheelhouse] if wheelhouse is not None else []
    folders += [path for path in map(local_path, config.find_links) if path is not None and path.is_dir()]
    return list(dict.fromkeys(folders))


def existing(addresses: Iterable[str]) -> tuple[str, ...]:
    """``addresses`` without those that name something on this disk that is not there."""
    kept = []
    for address in addresses:
        path = local_path(address.partition("=")[2] if re.match(r"[\w-]+=\w+://", address) else address)
        if path is None or path.exists():
            kept.append(address)
    return tuple(kept)


def uv_index_arguments(config: PipConfig, settings: UvSettings | None = None) -> list[str]:
    """Arguments that lead ``uv pip`` to the user's default index; those with a secret are left to the environment.

    Goes together with ``uv_index_environment``. uv reads nothing of pip's configuration by itself; what the user told
    uv itself (``settings``, read when not given) wins over it.
    """
    config = for_uv(config, settings)
    arguments = ["--no-index"] if config.no_index else []
    if not config.no_index:
        if config.index_url is not None and not _is_secret([config.index_url]):
            arguments += ["--default-index", config.index_url]
        extra = existing(config.extra_index_urls)
        if not _is_secret(extra):
            arguments += [part for url in extra for part in ("--index", url)]
    links = existing(config.find_links)
    if not _is_secret(links):
        arguments += [part for link in links for part in ("--find-links", link)]
    return arguments + [part for host in config.trusted_hosts for part in ("--allow-insecure-host", host)]


def uv_default_arguments(config: PipConfig) -> list[str]:
    """``uv_index_arguments`` for what is told apart otherwise, by its hash or its place, and not by the index."""
    return ["--index-strategy", "unsafe-best-match", *uv_index_arguments(config)]


def uv_index_environment(config: PipConfig, settings: UvSettings | None = None) -> dict[str, str | None]:
    """Variables for ``uv pip``: addresses with credentials (not for a command line), proxy, certificates."""
    config = for_uv(config, settings)
    extra, links = existing(config.extra_index_urls), existing(config.find_links)
    index = [config.index_url] if config.index_url is not None else []
    changes: dict[str, str | None] = {}
    if not config.no_index and _is_secret(index):
        changes["UV_DEFAULT_INDEX"] = config.index_url
    if not config.no_index and _is_secret(extra):
        changes["UV_INDEX"] = " ".join(extra)
    if _is_secret(links):
        changes["UV_FIND_LINKS"] = ",".join(links)
    if config.cert is not None and Path(config.cert).is_file() and "SSL_CERT_FILE" not in os.environ:
        changes["SSL_CERT_FILE"] = config.cert
    if config.proxy is not None:
        changes |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), config.proxy)
    return changes


def for_uv(config: PipConfig, settings: UvSettings | None = None) -> PipConfig:
    """``config`` as it counts for uv: what uv itself was told, by variables or ``uv.toml``, replaces pip's."""
    own = settings if settings is not None else read_uv_settings()
    if own.index_url is not None or own.extra_index_urls or own.no_index:
        config = replace(
            config,
            index_url=own.index_url or config.index_url,
            extra_index_urls=own.extra_index_urls,
            no_index=own.no_index,
        )
    return replace(config, find_links=own.find_links or config.find_links)


def pip_index_arguments(config: PipConfig) -> list[str]:
    """Arguments that lead pip to the user's default index, whatever pip would read by itself.

    Goes together with ``pip_index_environment``, which has the addresses with a secret.
    """
    arguments = ["--no-index"] if config.no_index else []
    if not config.no_index:
        if config.index_url is not None and not _is_secret([config.index_url]):
            arguments += ["--index-url", config.index_url]
        extra = existing(config.extra_index_urls)
        if not _is_secret(extra):
            arguments += [part for url in extra for part in ("--extra-index-url", url)]
    links = existing(config.find_links)
    if not _is_secret(links):
        arguments += [part for link in links for part in ("--find-links", link)]
    if config.cert is not None:
        arguments += ["--cert", config.cert]
    if config.proxy is not None and not _is_secret([config.proxy]):
        arguments += ["--proxy", config.proxy]
    return arguments + [part for host in config.trusted_hosts for part in ("--trusted-host", host)]


def pip_index_environment(config: PipConfig) -> dict[str, str | None]:
    """Variables for pip: addresses with credentials, which do not belong on a command line."""
    changes: dict[str, str | None] = {}
    if not config.no_index and config.index_url is not None and _is_secret([config.index_url]):
        changes["PIP_INDEX_URL"] = config.index_url
    extra, links = existing(config.extra_index_urls), existing(config.find_links)
    if not config.no_index and _is_secret(extra):
        changes["PIP_EXTRA_INDEX_URL"] = " ".join(extra)
    if _is_secret(links):
        changes["PIP_FIND_LINKS"] = " ".join(links)
    if config.proxy is not None and _is_secret([config.proxy]):
        changes["PIP_PROXY"] = config.proxy
    return changes


def _is_secret(addresses: Sequence[str]) -> bool:
    return any(has_credentials(address) for address in addresses)
