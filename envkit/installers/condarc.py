"""The user's conda configuration: mirrors, proxies, certificates, folders; never channels that a spec does not name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DEFAULT_ALIAS = "https://conda.anaconda.org"


@dataclass(frozen=True, slots=True)
class CondaSettings:
    """What ``.condarc`` files and ``CONDA_*`` variables say. URLs in here may hold credentials: see ``redacted``."""

    channel_alias: str = DEFAULT_ALIAS
    custom_channels: Mapping[str, str] = field(default_factory=dict)
    custom_multichannels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    default_channels: tuple[str, ...] = ()
    mirrors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    proxy_servers: Mapping[str, str] = field(default_factory=dict)
    ssl_verify: bool | str = True
    client_ssl_cert: str | None = None
    client_ssl_cert_key: str | None = None
    offline: bool = False
    connect_timeout_s: float = 9.15
    read_timeout_s: float = 60.0
    envs_dirs: tuple[Path, ...] = ()
    pkgs_dirs: tuple[Path, ...] = ()
    files: tuple[Path, ...] = ()

    def channel_urls(self, name: str) -> tuple[str, ...]:
        """The URLs of a channel: a URL gives itself, ``defaults`` several."""
        raise NotImplementedError


def read_conda_settings(environ: Mapping[str, str] | None = None) -> CondaSettings:
    """conda's settings: its files in conda's order, variables over them.

    Raises:
        InvalidFileError: a file is broken; names file and line.
    """
    raise NotImplementedError
