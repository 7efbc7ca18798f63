"""A channel for benchmarks: a real Python and 59 made-up packages, as many and as large as those beside PyTorch."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from tests.support.channel import Channel
from tests.support.conda_archive import PLACEHOLDER, Content, Link
from tests.support.conda_pythons import python_package

if TYPE_CHECKING:
    from pathlib import Path

PYTHON = "3.11"
SITE = f"lib/python{PYTHON}/site-packages"
SIZES = (
    ("tensors", 1, 6000, 3, 60_000_000),  # as pytorch: headers, modules, few large libraries
    ("terminals", 1, 3000, 2, 300_000),  # as ncurses: thousands of tiny files
    ("kernels", 1, 10, 6, 30_000_000),  # as mkl: little but libraries
    ("toolbox", 8, 500, 1, 2_000_000),
    ("library", 19, 100, 2, 400_000),
    ("framework", 5, 600, 0, 0),  # as sympy, networkx, setuptools, pip
    ("module", 24, 25, 0, 0),
)
"""Kind of package, how many, small files of each, libraries of each, bytes of a library.

Packages that are not noarch bring compiled modules, as conda-build makes them.
"""
NOARCH = ("framework", "module")


def make_channel(folder: Path, *, cache: Path) -> Channel:
    """Make and index the channel, the same bytes each time; take it as it is when it is there.

    Args:
        folder: the channel.
        cache: where the package of Python is kept.
    """
    channel = Channel(folder)
    if not (folder / "linux-64" / "repodata.json").is_file():
        python_package(channel, PYTHON, cache=cache)
        for kind, count, small, large, size in SIZES:
            for number in range(count):
                _add(channel, f"{kind}-{number:02}", small, large, size)
        channel.index()
    return channel


def _add(channel: Channel, name: str, small: int, large: int, size: int) -> None:
    chance = random.Random(name)  # noqa: S311 - the same each time
    pure = name.startswith(NOARCH)
    site = "site-packages" if pure else SITE
    module = name.replace("-", "_")
    files: dict[str, Content] = {f"{site}/{module}/__init__.py": f'__version__ = "1.{chance.randrange(20)}"\n'}
    for number in range(small):
        text = f"def function_{number}(value):\n    return value + {chance.random()}\n\n" * chance.randint(1, 40)
        part = f"{site}/{module}/part{number % 20:02}"
        files[f"{part}/m{number:04}.py"] = text
        if not pure and number % 2:  # each second file is no module
            files[f"{part}/__pycache__/m{number:04}.cpython-311.pyc"] = chance.randbytes(len(text) // 2)
    for number in range(large):
        files |= _library(chance, f"lib{module}{number}", size)
    if not pure:
        files[f"lib/pkgconfig/{name}.pc"] = f"prefix={PLACEHOLDER}\nlibdir=${{prefix}}/lib\n"
        files[f"bin/{name}"] = f"#!{PLACEHOLDER}/bin/python\nimport {module}\n"
    info = f"{site}/{module}-1.0.dist-info"
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    files[f"{info}/INSTALLER"] = "conda\n"
    kind: dict[str, Any] = {"noarch": "python", "entry_points": [f"{name} = {module}:main"]} if pure else {}
    depends = ["python >=3.9"] if pure else [f"python {PYTHON}.*"]
    channel.add(name, "1.0", build="pyhd8ed1ab_0" if pure else "py311_0", depends=depends, files=files, **kind)


def _library(chance: random.Random, name: str, size: int) -> dict[str, Content]:
    """A shared library with its links; each third has the prefix in it, as conda's often have."""
    data = b"\x7fELF\0" + chance.randbytes(size // 2) + b"\0" * (size // 2)
    if chance.random() < 1 / 3:
        data += PLACEHOLDER.encode() + b"/lib\0"
    full = f"{name}.so.1.0"
    return {f"lib/{full}": data, f"lib/{name}.so.1": Link(full), f"lib/{name}.so": Link(full)}
