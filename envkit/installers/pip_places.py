"""Settings of pip that lead an installation out of the environment that pip runs in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from envkit.installers.indexes import pip_config_files, read_sections

if TYPE_CHECKING:
    from collections.abc import Mapping

_OFF = {"", "0", "false", "no", "off", "n", "f"}
_LEADING = ("user", "target", "prefix", "root", "python", "require-virtualenv")
"""https://pip.pypa.io/en/stable/cli/pip_install/ (checked 2026-12-01)"""


class PlaceSetting(NamedTuple):
    """A setting that is in force.

    Attributes:
        name: "user".
        value: as it stands there.
        source: the file, or the variable.
    """

    name: str
    value: str
    source: str

    def __str__(self) -> str:
        return f"{self.name} = {self.value} ({self.source})"


def place_settings(environ: Mapping[str, str] | None = None) -> tuple[PlaceSetting, ...]:
    """Those of the user's configuration for ``pip install``; variables win over files.

    Raises:
        InvalidFileError: a configuration file cannot be read.
    """
    environ = os.environ if environ is None else environ
    found: dict[str, PlaceSetting] = {}
    read = [(path, read_sections(path)) for path in pip_config_files(environ)]
    for section in ("global", "install"):
        for path, sections in read:
            for name, value in sections.get(section, {}).items():
                if name in _LEADING:
                    found[name] = PlaceSetting(name, value.strip(), str(path))
    for name in _LEADING:
        variable = f"PIP_{name.upper().replace('-', '_')}"
        if environ.get(variable):
            found[name] = PlaceSetting(name, environ[variable], variable)
    return tuple(setting for setting in found.values() if setting.value.lower() not in _OFF)
