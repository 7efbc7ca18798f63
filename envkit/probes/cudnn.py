"""cuDNN inside a toolkit's folder."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from envkit.model.toolkit import Cudnn
from envkit.probes.toolkit_files import header_in, matches, read_text

if TYPE_CHECKING:
    from pathlib import Path

_HEADERS = ("cudnn_version.h", "cudnn.h")
"""The version is in the first since cuDNN 8, before in the second."""
_PARTS = ("MAJOR", "MINOR", "PATCHLEVEL")
_UNIX = {"lib": ("lib64/libcudnn.*", "lib/libcudnn.*", "targets/*/lib/libcudnn.*")}
_WINDOWS = {"bin": ("bin/cudnn*.dll", "bin/x64/cudnn*.dll"), "lib": ("lib/x64/cudnn*.lib", "lib/cudnn*.lib")}
"""Where NVIDIA's own guide puts the parts: https://docs.nvidia.com/deeplearning/cudnn/installation/latest/windows.html"""


def find_cudnn(folder: Path, *, is_windows: bool = os.name == "nt") -> Cudnn | None:
    """cuDNN in a toolkit, or None where no part of it is there.

    Only what lies in the toolkit's own folder counts: Debian puts cuDNN into ``/usr/include`` and
    ``/usr/lib/x86_64-linux-gnu``, where every toolkit finds the same one.
    """
    headers = [path for name in _HEADERS if (path := header_in(folder, name)) is not None and ".." not in path.parts]
    places = _WINDOWS if is_windows else _UNIX
    there = {part: bool(matches(folder, *names)) for part, names in places.items()}
    there["include"] = bool(headers)
    if not any(there.values()):
        return None
    version = next((found for path in headers if (found := _version(read_text(path))) is not None), None)
    return Cudnn(version, tuple(part for part in ("bin", "include", "lib") if not there.get(part, True)))


def _version(text: str) -> str | None:
    found = [re.search(rf"^\s*#\s*define\s+CUDNN_{part}\s+(\d+)\b", text, re.MULTILINE | re.ASCII) for part in _PARTS]
    numbers = [match[1] for match in found if match is not None]
    return ".".join(numbers) if len(numbers) == len(_PARTS) else None
