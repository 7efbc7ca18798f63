"""What is installed in an environment, read from its files; and its ``pip freeze``, fit to leave the machine."""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from envkit import process
from envkit.errors import InvalidFileError
from envkit.installers.conda_meta import files_of_record, is_conda_prefix, record_paths
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


BUILD_TOOLS = {"pip", "setuptools", "wheel"}
"""What builds and installs packages; whoever put it there, it belongs to neither installer."""


def site_packages(prefix: Path) -> Path | None:
    """The folder of a prefix's packages, or None where there is no Python.

    Where conda has changed Python's minor version, the folder of the old one may still be there.
    """
    if os.name == "nt":
        found = prefix / "Lib" / "site-packages"
        return found if found.is_dir() else None
    folders = [path for path in sorted(prefix.glob("lib/python3.*/site-packages")) if not path.parent.is_symlink()]
    python = conda_packages(prefix).get("python", "") if len(folders) > 1 else ""
    of_python = "python" + ".".join(python.split(" ")[0].split(".")[:2])
    return next((path for path in folders if path.parent.name == of_python), next(iter(folders), None))


def installed_packages(prefix: Path) -> dict[str, str]:
    """Version by canonical name of each package in a prefix, from the names of its dist-info folders.

    conda's Python packages have such folders, too.
    """
    return {name: version for name, version, _ in distributions(prefix)}


def pip_packages(prefix: Path) -> dict[str, str]:
    """The same without those that conda has installed."""
    return {name: version for name, version, folder in distributions(prefix) if not is_by_conda(folder)}


def is_by_conda(dist_info: Path) -> bool:
    """Whether conda has installed a Python package: it says so, or says nothing; pip and uv always say who they are.

    https://packaging.python.org/en/latest/specifications/recording-installed-packages/#the-installer-file
    """
    try:
        installer = (dist_info / "INSTALLER").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        installer = ""
    return installer in {"", "conda"} and is_conda_prefix(dist_info.parents[3 if os.name != "nt" else 2])


def conda_packages(prefix: Path) -> dict[str, str]:
    """Version and build by name of each conda package in a prefix, as in "1.26.4 py39_0", from its records' names."""
    found = {}
    for path in record_paths(prefix):
        parts = path.name.removesuffix(".json").rsplit("-", 2)
        if len(parts) == 3:  # noqa: PLR2004 - name, version, build
            found[parts[0]] = f"{parts[1]} {parts[2]}"
    return found


def distributions(prefix: Path) -> Iterator[tuple[str, str, Path]]:
    """Canonical name, version and dist-info folder of each package in a prefix."""
    folder = site_packages(prefix)
    if folder is not None and not folder.is_file():
        yield from dist_infos(folder)


def dist_infos(folder: Path) -> Iterator[tuple[str, str, Path]]:
    """The same of a folder of packages."""
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
    owned = _recorded(prefix) | _recorded_by_conda(prefix)
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


def _recorded_by_conda(prefix: Path) -> set[str]:
    """The same of conda's records; the files of one that is damaged count as nobody's."""
    owned = set()
    for path in record_paths(prefix):
        with contextlib.suppress(InvalidFileError):
            owned |= {file.path for file in files_of_record(path)[1]}
    return owned


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
