"""The grammar of environment names, both ways, and the names that are allowed at all.

``torch<major><minor>`` + ``_cu<major><minor>`` or ``_cpu`` + ``_py<major><minor>``. The first digit of torch and of
Python is the major version; the last digit of ``cu`` is the minor version: ``cu92`` is 9.2, ``cu130`` is 13.0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from envkit.errors import UsageError

_VERSION_NAME = re.compile(r"torch(\d)(\d+)_(?:cpu|cu(\d+)(\d))_py(\d)(\d+)", re.ASCII)
_FORBIDDEN = re.compile(r"[/\\:#\s\x00-\x1f\x7f]")
"""conda refuses ``/``, space, ``:`` and ``#`` in names (conda/base/context.py, validate_prefix_name)."""


@dataclass(frozen=True, slots=True)
class VersionName:
    """What a version name states: ``torch112_cu113_py39`` is torch 1.12 built for CUDA 11.3 with Python 3.9.

    Attributes:
        torch: major and minor version, "1.12".
        cuda: build CUDA, "11.3", or None for a CPU build.
        python: major and minor version, "3.9".
    """

    torch: str
    cuda: str | None
    python: str

    def __str__(self) -> str:
        torch = "".join(self.torch.split(".")[:2])
        build = "cpu" if self.cuda is None else "cu" + "".join(self.cuda.split(".")[:2])
        return f"torch{torch}_{build}_py{''.join(self.python.split('.')[:2])}"

    @classmethod
    def parse(cls, text: str) -> VersionName | None:
        """The versions that a name states, or None when it does not follow the grammar."""
        found = _VERSION_NAME.fullmatch(text)
        if found is None:
            return None
        torch_major, torch_minor, cuda_major, cuda_minor, python_major, python_minor = found.groups()
        cuda = None if cuda_major is None else f"{cuda_major}.{cuda_minor}"
        return cls(f"{torch_major}.{torch_minor}", cuda, f"{python_major}.{python_minor}")


def check_environment_name(name: str) -> str:
    """``name`` itself, when it may name an environment.

    Raises:
        UsageError: it is empty, has a character that conda does not take, or starts with a dash or a dot.
    """
    if not name:
        why = "It is empty."
    elif found := _FORBIDDEN.search(name):
        why = f"It contains {found.group()!r}."
    elif "@" in name:
        why = "What follows '@' in ENV@SNAPSHOT names a snapshot."
    elif name.startswith("-"):
        why = "A name that starts with '-' reads as an option."
    elif name.startswith("."):
        why = "A name that starts with '.' is hidden, or means a folder."
    elif name in {"base", "root"}:
        why = "conda calls its own base environment so."
    elif len(name.encode()) > 200:  # noqa: PLR2004 - file systems allow 255 bytes; envkit adds a few of its own
        why = "It is longer than 200 bytes."
    else:
        return name
    raise UsageError(
        f"{name!r} cannot name an environment.",
        why=why,
        hint="Use letters, digits, '_', '-' and '.', as in torch112_cu113_py39; for a place of your own, --prefix DIR.",
    )
