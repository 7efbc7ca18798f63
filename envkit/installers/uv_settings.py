"""uv's own settings, variables and ``uv.toml``, as far as they say where packages come from.

uv's rules: https://docs.astral.sh/uv/concepts/configuration-files/ (checked 2026-11-30).
"""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envkit.errors import InvalidFileError
from envkit.model.addresses import checked_address

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_CONNECTION_KEYS = (
    "allow-insecure-host",
    "cache-dir",
    "http-proxy",
    "https-proxy",
    "keyring-provider",
    "native-tls",
    "no-proxy",
    "offline",
    "system-certs",
)
"""Settings of ``uv.toml`` that say how uv reaches an index; the others would change what is resolved."""


@dataclass(frozen=True, slots=True)
class UvSettings:
    """What the user told uv; None and empty: nothing.

    Attributes:
        index_url: the default index.
        extra_index_urls: further indexes, in uv's order, as ``URL`` or ``NAME=URL``.
        find_links: folders and pages.
        no_index: whether indexes are off.
        connection: settings of how to reach an index, by uv's names.
    """

    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    no_index: bool = False
    connection: Mapping[str, Any] = field(default_factory=dict)

    def connection_toml(self) -> str:
        """The text of a ``uv.toml`` with the connection settings alone."""
        return "".join(f"{key} = {json.dumps(value)}\n" for key, value in sorted(self.connection.items()))


def read_uv_settings(environ: Mapping[str, str] | None = None) -> UvSettings:
    """uv's settings for the default index: the system's ``uv.toml``, the user's over it, variables over both.

    Raises:
        InvalidFileError: a ``uv.toml`` is broken.
    """
    environ = os.environ if environ is None else environ
    tables: dict[str, Any] = {}
    of_pip: dict[str, Any] = {}
    for path in uv_config_files(environ):
        read = _read(path)
        of_pip |= read.pop("pip", {})
        tables |= read
    tables |= of_pip  # for `uv pip` its own table wins, whichever file it stands in
    named = [entry for entry in tables.get("index") or [] if isinstance(entry, dict) and not entry.get("explicit")]
    default = next((entry.get("url") for entry in named if entry.get("default")), None) or tables.get("index-url")
    others = [_label(entry) for entry in named if not entry.get("default") and entry.get("url")]
    others += tables.get("extra-index-url") or []
    links = tables.get("find-links") or []
    variable_links = [part for part in environ.get("UV_FIND_LINKS", "").split(",") if part]
    extra = [*environ.get("UV_INDEX", "").split(), *environ.get("UV_EXTRA_INDEX_URL", "").split()] or others
    index_url = environ.get("UV_DEFAULT_INDEX") or environ.get("UV_INDEX_URL") or default
    for address in (index_url or "", *extra, *variable_links, *links):
        checked_address(re.sub(r"^[\w-]+=(?=\w+://)", "", address), "uv's settings")
    return UvSettings(
        index_url=index_url,
        extra_index_urls=tuple(extra),
        find_links=tuple(variable_links or links),
        no_index=environ.get("UV_NO_INDEX", str(tables.get("no-index", ""))).lower() in {"1", "true", "yes", "on"},
        connection={key: tables[key] for key in _CONNECTION_KEYS if key in tables},
    )


def write_connection_settings(folder: Path, *, more: str = "") -> list[str]:
    """Write a ``uv.toml`` that says how indexes are reached, and not which; gives uv's arguments to read it alone.

    Args:
        folder: where it is put.
        more: TOML that goes behind it.
    """
    path = folder / "uv.toml"
    path.write_text(read_uv_settings().connection_toml() + more, encoding="utf-8")
    return ["--config-file", str(path)]


def uv_config_files(environ: Mapping[str, str], platform: str = sys.platform) -> tuple[Path, ...]:
    """uv's configuration files outside of projects, the user's last; they need not exist."""
    if environ.get("UV_NO_CONFIG", "").lower() in {"1", "true"}:
        return ()
    if environ.get("UV_CONFIG_FILE"):
        return (Path(environ["UV_CONFIG_FILE"]),)
    if platform == "win32":
        home = Path(environ.get("USERPROFILE") or Path.home())
        roaming = Path(environ.get("APPDATA") or home / "AppData/Roaming")
        return (Path(environ.get("PROGRAMDATA", r"C:\ProgramData")) / "uv/uv.toml", roaming / "uv/uv.toml")
    home = Path(environ.get("HOME") or Path.home())
    folders = [Path(folder) for folder in (environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":") if folder]
    system = next((path for folder in folders if (path := folder / "uv/uv.toml").is_file()), Path("/etc/uv/uv.toml"))
    return (system, Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "uv/uv.toml")


def _label(entry: dict[str, Any]) -> str:
    return f"{entry['name']}={entry['url']}" if entry.get("name") else str(entry["url"])


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        from envkit.installers.toml import parse_toml  # noqa: PLC0415 - start-up counts, and most have no such file

        tables = parse_toml(text)
    except OSError:
        return {}
    except (ValueError, RecursionError) as error:  # no TOML, or no UTF-8
        place = re.search(r"line (\d+)", str(error))  # without what stands there: it may be a password
        raise InvalidFileError(
            str(path), "uv's configuration is no TOML.", line=int(place[1]) if place is not None else None
        ) from error
    of_pip = tables.get("pip", {})
    if not isinstance(of_pip, dict):
        raise InvalidFileError(str(path), "uv's configuration: pip is no table.")
    for table in (tables, of_pip):
        wrong = [key for key, is_right in _RIGHT.items() if key in table and not is_right(table[key])]
        if wrong:
            raise InvalidFileError(str(path), f"uv's configuration: {wrong[0]} has a value of the wrong kind.")
    return tables


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _are_indexes(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(entry, dict) and isinstance(entry.get("url"), str) and isinstance(entry.get("name", ""), str)
        for entry in value
    )


_RIGHT: dict[str, Callable[[object], bool]] = dict.fromkeys(
    _CONNECTION_KEYS, lambda value: isinstance(value, str | bool) or _are_texts(value)
) | {
    "index": _are_indexes,
    "index-url": lambda value: isinstance(value, str),
    "extra-index-url": _are_texts,
    "find-links": _are_texts,
    "no-index": lambda value: isinstance(value, bool),
}
"""What each setting that is read here must be."""
