"""The user's and the site's ``config.yaml``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from envkit.model.settings import Settings


def config_file() -> Path:
    """The user's file: ``ENVKIT_CONFIG``, or ``config.yaml`` in platformdirs' user configuration folder."""
    value = os.environ.get("ENVKIT_CONFIG")
    if value:
        return Path(os.path.abspath(os.path.expanduser(value)))  # noqa: PTH100,PTH111 - keeps symbolic links
    import platformdirs  # noqa: PLC0415 - start-up counts

    return Path(platformdirs.user_config_dir("envkit", appauthor=False)) / "config.yaml"


def site_config_file() -> Path:
    """The file of this machine's administrators: ``/etc/envkit/config.yaml``; on Windows in ``ProgramData``."""
    if os.name == "nt":
        return Path(os.environ.get("PROGRAMDATA", r"C:\ProgramData")) / "envkit" / "config.yaml"
    return Path("/etc/envkit/config.yaml")


def are_there() -> bool:
    """Whether there is any such file: a look that costs nothing, where most have none."""
    return any(os.path.lexists(file) for file in (config_file(), site_config_file()))


def read_settings() -> Settings:
    """What both files say, the user's before the site's; no file is an empty one.

    Raises:
        InvalidFileError: a file is not what envkit reads, or cannot be read.
    """
    from envkit.model.settings import merged  # noqa: PLC0415 - reading YAML costs start-up time

    return merged(_settings_in(file) for file in (config_file(), site_config_file()))


def _settings_in(file: Path) -> Settings:
    from envkit.errors import InvalidFileError  # noqa: PLC0415 - as above
    from envkit.model.settings import Settings, parse_settings  # noqa: PLC0415 - as above

    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFileError(str(file), f"the configuration cannot be read: {error}.") from error
    return parse_settings(text, str(file)) if text.strip() else Settings()
