"""The uv program, and how envkit calls it."""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from envkit import process
from envkit.errors import NotFoundError
from envkit.installers.uv_settings import read_uv_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEPT = re.compile(
    r"UV_(?:CACHE_DIR|NO_CACHE|OFFLINE|LOCK_TIMEOUT|CREDENTIALS_DIR|INSECURE_HOST|KEYRING_PROVIDER|NATIVE_TLS|"
    r"SYSTEM_CERTS|REQUEST_TIMEOUT|HTTP_TIMEOUT|HTTP_CONNECT_TIMEOUT|HTTP_RETRIES|(?:HTTP|HTTPS|NO)_PROXY|"
    r"CONCURRENT_\w+|LINK_MODE|PYTHON_INSTALL_DIR|INDEX_\w+_(?:USERNAME|PASSWORD))",
    re.ASCII,
)
"""uv's variables that say how an index is reached and where things are kept."""
_LINK_MODES = {"clone", "copy", "hardlink"}
"""Ways to install that leave whole files; with ``symlink`` the environment breaks when uv's cache is cleaned."""


def uv_environment(environ: Mapping[str, str] | None = None) -> dict[str, str | None]:
    """Changes of variables under which uv does what it is told; caches, certificates and time limits stay the user's.

    Everything else that begins with ``UV_`` goes, since each new uv has settings that change what a locked call does.
    Indexes go too: they are given to each call by itself.
    """
    environ = os.environ if environ is None else environ
    changes: dict[str, str | None] = {"UV_PYTHON_DOWNLOADS": "never"}
    for name in environ:
        if name.startswith("UV_") and _KEPT.fullmatch(name) is None:
            changes.setdefault(name, None)
    if environ.get("UV_LINK_MODE") not in {None, *_LINK_MODES}:
        changes["UV_LINK_MODE"] = None
    if environ.get("UV_CACHE_DIR"):
        changes["UV_CACHE_DIR"] = str(Path(environ["UV_CACHE_DIR"]).absolute())  # uv starts in a folder of its own
    return changes


@functools.cache
def uv_program() -> Path:
    """The uv that was installed with envkit, or the one on PATH.

    Raises:
        NotFoundError: there is none.
    """
    try:
        import uv  # noqa: PLC0415 - only needed here, and its absence is an answer

        return Path(uv.find_uv_bin())
    except (ImportError, FileNotFoundError):
        found = shutil.which("uv")
        if found is None:
            raise NotFoundError(
                "The program uv was not found.", hint="Install uv beside envkit, or use --engine pip."
            ) from None
        return Path(found)


def literal_dollars(prefix: Path) -> dict[str, str | None]:
    """Variables under which each ``$NAME`` in a prefix's path stands for itself.

    distutils of Python 3.10 and older expands variables in the paths that it is asked for, and uv and pip ask it: into
    ``a$HOME`` they would install elsewhere (tried with uv 0.13.9 and Python 3.9).
    """
    text = str(prefix)
    names = re.findall(r"\$(?:(\w+)|\{(\w+)\})", text)
    variables: dict[str, str | None] = {
        plain or braced: f"${plain}" if plain else f"${{{braced}}}" for plain, braced in names
    }
    if "HOME" in variables and "UV_CACHE_DIR" not in os.environ:
        variables["UV_CACHE_DIR"] = str(uv_cache_dir())
    return variables


def uv_cache_dir() -> Path:
    """The folder of uv's cache, as the user's settings have it.

    Raises:
        ProgramError: uv does not tell.
    """
    uv = uv_program()  # in whose folder no settings of a project lie
    return Path(process.run([uv, "cache", "dir"], timeout_s=30.0, env=uv_environment(), cwd=uv.parent).stdout.strip())


def uv_cache_place(environ: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path:
    """The same without starting uv: its variable, its settings, or its usual place; the folder need not exist.

    https://docs.astral.sh/uv/concepts/cache/ (checked 2026-12-01)

    Raises:
        InvalidFileError: a ``uv.toml`` is broken.
    """
    environ = os.environ if environ is None else environ
    given = environ.get("UV_CACHE_DIR") or read_uv_settings(environ).connection.get("cache-dir")
    if isinstance(given, str):
        return Path(given).expanduser().absolute()
    if platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "uv" / "cache"
    cache_home = environ.get("XDG_CACHE_HOME", "")
    return (Path(cache_home) if os.path.isabs(cache_home) else Path.home() / ".cache") / "uv"  # noqa: PTH117 - text
