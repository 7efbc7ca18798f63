"""What is said where nvidia-smi gives no data: by the tool, by NVIDIA's libraries, by shells."""

from __future__ import annotations

import re
from typing import NamedTuple

from envkit.probes.smi_shells import denied, not_found

OF_ONE_GPU = ("gpu-lost", "device-handle-unknown-error", "gpu-requires-reset", "insufficient-permissions")
"""Failures that may concern one GPU beside others that answer."""

_HANDLE = r"Unable to determine the device handle for (?:gpu|device) ?[\w:.*]+:?\s*"
_OWN = (
    ("nvml-driver-library-mismatch", r"Driver/library version mismatch"),
    ("gpu-lost", r"GPU is lost"),
    ("gpu-requires-reset", r"GPU requires reset|requires? (?:a )?GPU reset"),
    ("device-handle-unknown-error", rf"{_HANDLE}(?:Unknown Error|Not Found|No data|The NVIDIA kernel module|$)"),
    ("insufficient-permissions", r"Insufficient Permissions|not have (?:sufficient )?permissions? to communicate"),
    ("gpu-access-blocked", r"GPU access blocked by the operating system"),
    ("driver-not-loaded", r"couldn't communicate with (?:the )?NVIDIA driver|nvml error: driver not loaded"),
    (
        "driver-not-loaded",
        r"Driver Not Loaded|NVIDIA driver is not loaded|could not open the device file .?/dev/nvidia",
    ),
    ("nvml-not-found", r"couldn't find (?:the )?(?:libnvidia-ml\.so|nvml\.dll)"),
    ("nvml-unknown-error", r"Failed to initialize NVML: Unknown Error"),
    ("nvml-failed", r"Failed to initialize NVML: \w"),
    ("no-devices", r"No devices were found"),
    ("unknown-field", r"is not a valid field to query"),
    ("container-without-gpu", r"could not select device driver \S* *with capabilities: \[\[gpu"),
    ("container-without-gpu", r"nvidia-container-cli: (?:initialization|device|mount) error"),
)
"""By the word for it, what is written; https://docs.nvidia.com/deploy/nvml-api (nvmlErrorString) has the ends."""

_TOOL = r"nvidia-smi(?:\.exe)?"
_NOT_FOUND, _DENIED = not_found(_TOOL), denied(_TOOL)
_LIBRARY = re.compile(r"NVML library version: *(\d{3,4}\.\d+(?:\.\d+)*)(?=\s)", re.ASCII)
_MOST_LETTERS = 300
_FIRST_LINES = 40


class Failure(NamedTuple):
    """A failure that a text tells of.

    Attributes:
        kind: the word for it, see ``SmiReport.error_kind``.
        message: the line, or what wrapped lines say.
    """

    kind: str
    message: str


def find_failure(lines: list[str]) -> Failure | None:
    """The failure in a text: of the tool itself, or else of a shell."""
    text = "\n".join(lines)
    for kind, pattern in _OWN:
        found = re.search(pattern, text, re.IGNORECASE | re.MULTILINE)
        if found is not None:
            end = text.find("\n", found.end())
            return Failure(kind, _shown(text[text.rfind("\n", 0, found.start()) + 1 : len(text) if end < 0 else end]))
    for line in (*lines, " ".join(line.strip() for line in lines[:_FIRST_LINES])):  # PowerShell breaks its lines
        for kind, pattern_here in (("command-not-found", _NOT_FOUND), ("permission-denied", _DENIED)):
            if pattern_here.search(line):
                return Failure(kind, _shown(line))
    return None


def library_version(lines: list[str]) -> str | None:
    """The version of NVIDIA's library, which newer tools print below a mismatch."""
    found = _LIBRARY.search("\n".join(lines))
    return None if found is None else found[1]


def _shown(text: str) -> str:
    return " ".join(text.split())[:_MOST_LETTERS]
