"""Tokens that ``anaconda login`` has put down, as conda reads them (``conda/gateways/anaconda_client.py`` of 26.7)."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

if TYPE_CHECKING:
    from collections.abc import Mapping

_SUFFIX = ".token"


def read_anaconda_tokens(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """By the URL that it is for, the token; one for ``https://api.HOST`` is for ``https://conda.HOST`` too."""
    found: dict[str, str] = {}
    try:
        entries = sorted(_folder(os.environ if environ is None else environ).iterdir())
    except OSError:
        return found
    for entry in entries:
        if entry.name.endswith(_SUFFIX) and (token := _read(entry)):
            url = unquote_plus(entry.name.removesuffix(_SUFFIX)).rstrip("/")
            found[url] = found[re.sub(r"([./])api([./]|$)", r"\1conda\2", url, count=1)] = token
    return found


def _folder(environ: Mapping[str, str]) -> Path:
    if environ.get("BINSTAR_CONFIG_DIR"):
        return Path(environ["BINSTAR_CONFIG_DIR"]) / "data"
    import platformdirs  # noqa: PLC0415 - not needed where the variable is set

    return Path(platformdirs.user_config_dir("binstar", "ContinuumIO"))


def _read(path: Path) -> str:
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):  # not for us
        return ""
    return token if re.fullmatch(r"[A-Za-z0-9-]+", token) else ""
