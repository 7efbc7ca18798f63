"""Where the files of a lock lie today: formats of other tools hold an address for each file, locks do not."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from envkit import process
from envkit.errors import DownloadError, ProgramError
from envkit.installers.indexes import for_uv, read_pip_config, uv_default_arguments, uv_index_environment
from envkit.installers.pages import PageReader
from envkit.installers.tags import UV_PLATFORMS
from envkit.installers.toml import parse_toml
from envkit.installers.uv import uv_environment, uv_program
from envkit.installers.uv_settings import write_connection_settings
from envkit.model.addresses import without_secrets
from envkit.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from envkit.installers.indexes import PipConfig
    from envkit.model.locked import LockedPackage

_TIMEOUT_S = 600.0


def file_addresses(
    packages: Sequence[LockedPackage], *, platform: str, python: str, config: PipConfig | None = None
) -> dict[str, str]:
    """The address of each package's file by the package's name, without credentials.

    Files of a source lie where its page says; others where the user's default index has them.

    Args:
        packages: of a lock.
        platform: conda's name.
        python: "3.9".
        config: the user's pip configuration; read when not given.

    Raises:
        DownloadError: an index is out of reach, or does not have a file (any more).
    """
    config = for_uv(config if config is not None else read_pip_config())
    found = _of_default([item for item in packages if item.source is None], platform, python, config)
    reader = PageReader(config)
    for item in packages:
        if item.source is not None:
            files = {file.name: file for file in reader.files(item.source, item.name) or ()}
            if item.file in files:
                found[item.name] = without_secrets(str(files[item.file]["url"]))
    for item in packages:
        if item.name not in found:
            raise DownloadError(
                f"{item.source or 'Your default index'} does not have {item.file}.",
                why="The format holds the address of each file, and nobody says where this one lies.",
                hint="Check the network and pip's configuration, or take a format without addresses: environment.yml.",
            )
    return found


def _of_default(packages: Sequence[LockedPackage], platform: str, python: str, config: PipConfig) -> dict[str, str]:
    """By uv, which knows the user's default index, PyPI included."""
    if not packages:
        return {}
    with scratch_folder() as folder:
        lines = "".join(f"{item.name}=={item.version}\n" for item in packages)
        (folder / "requirements.in").write_text(lines, encoding="utf-8")
        arguments = ["pip", "compile", "requirements.in", "-o", "pylock.toml", "--no-deps", "--no-header", "--quiet"]
        arguments += [*write_connection_settings(folder), "--python", sys.executable, "--python-version", python]
        arguments += ["--python-platform", UV_PLATFORMS[platform], *uv_default_arguments(config)]
        try:
            process.run(
                [uv_program(), *arguments],
                timeout_s=_TIMEOUT_S,
                env=uv_environment() | uv_index_environment(config),
                cwd=folder,
            )
        except ProgramError as error:
            raise DownloadError(
                "Your default index does not say where the files lie.",
                why=error.why or error.message,
                hint="Check the network and pip's configuration, or take a format without addresses: environment.yml.",
            ) from error
        entries = parse_toml((folder / "pylock.toml").read_text(encoding="utf-8")).get("packages", [])
        wanted = {item.file: item.name for item in packages}
        return {wanted[name]: address for entry in entries for name, address in _files(entry, folder) if name in wanted}


def _files(entry: Mapping[str, Any], folder: Path) -> list[tuple[str, str]]:
    """Names and addresses of the files of a package in a pylock.toml."""
    sdist = [entry["sdist"]] if "sdist" in entry else []
    found = []
    for file in [*entry.get("wheels", ()), *sdist]:
        place = file.get("url") or (folder / file["path"]).resolve().as_uri()
        found.append((unquote(urlsplit(place).path.rpartition("/")[2]), without_secrets(place)))
    return found
