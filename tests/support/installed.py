"""conda packages of what is installed in the Python that runs the tests."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.conda_archive import PLACEHOLDER, Content

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import Distribution

    from tests.support.channel import Channel

MINOR = f"{sys.version_info[0]}.{sys.version_info[1]}"


def add_installed(channel: Channel, names: Iterable[str]) -> None:
    """Put projects and all that they need into a channel, as linux-64 packages for this Python.

    Raises:
        PackageNotFoundError: one is not installed here.
    """
    waiting, done = [canonicalize_name(name) for name in names], set()
    while waiting:
        name = waiting.pop()
        if name in done:
            continue
        done.add(name)
        needs = _needs(distribution(name))
        waiting += needs
        _add(channel, name, distribution(name), needs)


def _needs(project: Distribution) -> list[str]:
    requirements = (Requirement(line) for line in project.requires or ())
    wanted = (item for item in requirements if item.marker is None or item.marker.evaluate({"extra": ""}))
    return [canonicalize_name(item.name) for item in wanted]


def _add(channel: Channel, name: str, project: Distribution, needs: list[str]) -> None:
    files: dict[str, Content] = {}
    if project.files is None:
        raise PackageNotFoundError(name)
    site = f"lib/python{MINOR}/site-packages"
    scripts = {entry.name: entry for entry in project.entry_points if entry.group == "console_scripts"}
    for file in project.files:
        path = Path(str(project.locate_file(file))).resolve()
        inside = path.is_relative_to(Path(sys.prefix).resolve())
        if not inside or not path.is_file() or path.suffix == ".pyc" or path.name in scripts:
            continue
        place = str(file) if not str(file).startswith("..") else f"bin/{path.name}"
        files[place if place.startswith("bin/") else f"{site}/{place}"] = path
    for script, entry in scripts.items():
        module, _, function = entry.value.partition(":")
        files[f"bin/{script}"] = (
            f"#!{PLACEHOLDER}/bin/python\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n"
        )
    channel.add(name, project.version, depends=[f"python {MINOR}.*", *needs], files=files)
