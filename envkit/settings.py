"""The user's and the site's ``config.yaml``."""

from __future__ import annotations

import os
from pathlib import Path

from envkit.errors import InvalidFileError
from envkit.model.settings import Settings, merged, parse_settings


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


def read_settings() -> Settings:
    """What both files say, the user's before the site's; no file is an empty one.

    Raises:
        InvalidFileError: a file is not what envkit reads, or cannot be read.
    """
    return merged(_settings_in(file) for file in (config_file(), site_config_file()))


def _settings_in(file: Path) -> Settings:
    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFileError(str(file), f"the configuration cannot be read: {error}.") from error
    return parse_settings(text, str(file)) if text.strip() else Settings()
