"""What is installed in an environment, read from its files; and its ``pip freeze``, fit to leave the machine."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from envkit import process
from envkit.installers.record import NO_RECORD, record_rows
from envkit.installers.uv import literal_dollars, uv_environment, uv_program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SUFFIX = ".dist-info"
_OF_VIRTUALENV = {"_virtualenv.py", "_virtualenv.pth"}
"""virtualenv and uv put these into site-packages; no RECORD lists them."""
_OF_INSTALLERS = ("RECORD", "INSTALLER", "REQUESTED", "uv_cache.json", "uv_build.json", "direct_url.json")
"""Files that installers add to a dist-info, whether or not RECORD lists them."""
_ADDRESS = re.compile(r"^(?P<name>[A-Za-z0-9._-]+) @ file:")
_EDITABLE = re.compile(r"^(?:-e|# Editable)\b")


def site_packages(prefix: Path) -> Path | None:
    """The folder of a prefix's packages, or None where there is no Python."""
    if os.name == "nt":
        found = prefix / "Lib" / "site-packages"
        return found if found.is_dir() else None
    return next(iter(sorted(prefix.glob("lib/python3.*/site-packages"))), None)


def installed_packages(prefix: Path) -> dict[str, str]:
    """Version by canonical name of each package in a prefix, from the names of its dist-info folders."""
    return {name: version for name, version, _ in distributions(prefix)}


def distributions(prefix: Path) -> Iterator[tuple[str, str, Path]]:
    """Canonical name, version and dist-info folder of each package in a prefix."""
    folder = site_packages(prefix)
    if folder is None or folder.is_file():
        return
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries if entry.name.endswith(_SUFFIX))
    for entry in names:
        name, _, version = entry.removesuffix(_SUFFIX).partition("-")
        if version and not name.startswith("~"):  # pip leaves `~orch-...` behind when it is cut off
            yield canonicalize_name(name), version, folder / entry


def pip_freeze(prefix: Path, python: Path) -> tuple[str, str]:
    """What ``pip freeze`` says of an environment: as it may leave this machine, and raw.

    The first form names each package as ``name==version``: a file address of the machine that built it, or of a
    project folder here, leads nowhere elsewhere.

    Raises:
        ProgramError: uv failed.
    """
    done = process.run(
        [uv_program(), "pip", "freeze", "--python", python, "--no-config"],
        timeout_s=120.0,
        env=uv_environment() | literal_dollars(prefix),
    )
    installed = installed_packages(prefix)
    lines = set()
    for line in done.stdout.splitlines():
        address = _ADDRESS.match(line)
        if address is not None:
            name = canonicalize_name(address["name"])
            lines.add(f"{name}=={installed.get(name, '0')}")
        elif _EDITABLE.match(line):
            lines.update(f"{name}=={installed[name]}" for name in _editables(prefix))
        elif line.strip() and not line.startswith("#"):
            lines.add(line.strip())
    return "".join(f"{line}\n" for line in sorted(lines, key=str.lower)), done.stdout


def _editables(prefix: Path) -> Iterator[str]:
    for name, _, folder in distributions(prefix):
        try:
            text = (folder / "direct_url.json").read_text(encoding="utf-8")
        except OSError:
            continue
        if re.search(r'"editable"\s*:\s*true', text):
            yield name


def unowned_files(prefix: Path, own: set[str]) -> list[Path]:
    """Files in a prefix that neither a package nor envkit nor the venv itself owns, relative to it.

    Args:
        prefix: the environment's folder.
        own: relative paths, and folders with ``/`` at the end, that belong to the environment itself.
    """
    owned = _recorded(prefix)
    found = []
    for folder, folders, files in os.walk(prefix):
        relative = os.path.relpath(folder, prefix).replace(os.sep, "/")
        base = "" if relative == "." else relative + "/"
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]  # noqa: PTH114,PTH118 - text
        folders[:] = [
            name for name in folders if name not in {"__pycache__", *links} and base + name + "/" not in own
        ]  # fmt: skip
        found += [
            prefix / (base + name) for name in (*files, *links) if base + name not in own and base + name not in owned
        ]
    return sorted(path for path in found if path.suffix != ".pyc" and path.name not in _OF_VIRTUALENV)


def _recorded(prefix: Path) -> set[str]:
    """Relative paths of all files that the packages' RECORD files list."""
    return {path for _, _, folder in distributions(prefix) for path in files_of(folder, prefix)}


def files_of(dist_info: Path, prefix: Path) -> set[str]:
    """Relative paths of the files of one package, by its RECORD; some need not be there."""
    names = []
    try:
        for name, _, _ in record_rows(dist_info / "RECORD"):
            names.append(name)
    except OSError:
        return set()
    except NO_RECORD:
        pass
    site = os.path.relpath(dist_info.parent, prefix)
    names += [f"{dist_info.name}/{name}" for name in _OF_INSTALLERS]
    return {os.path.normpath(os.path.join(site, name)).replace(os.sep, "/") for name in names}  # noqa: PTH118
