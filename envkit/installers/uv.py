"""The uv program, and how envkit calls it."""

from __future__ import annotations

import functools
import os
import re
import shutil
from pathlib import Path

from envkit import process
from envkit.errors import NotFoundError

UV_ENVIRONMENT: dict[str, str | None] = {
    "UV_PYTHON_DOWNLOADS": "never",
    "UV_NO_PROGRESS": None,
    "UV_CONSTRAINT": None,
    "UV_OVERRIDE": None,
    "UV_EXCLUDE": None,
    "UV_BUILD_CONSTRAINT": None,
    "UV_REQUIRE_HASHES": None,
    "UV_SYSTEM_PYTHON": None,
    "UV_TORCH_BACKEND": None,
    "UV_PYTHON": None,
    "UV_PROJECT": None,
    "UV_WORKING_DIR": None,
    "UV_TARGET": None,
    "UV_PREFIX": None,
    "UV_VENV_SEED": None,
    "UV_PRERELEASE": None,
    "UV_RESOLUTION": None,
    "UV_EXCLUDE_NEWER": None,
}
"""Settings of the user that would change what a locked call does; indexes, caches and certificates stay his."""


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
        variables["UV_CACHE_DIR"] = process.run([uv_program(), "cache", "dir"], timeout_s=30.0).stdout.strip()
    return variables
