"""What is said where nvidia-smi gives no data: by the tool, by NVIDIA's libraries, by shells."""

from __future__ import annotations

import re
from typing import NamedTuple

from envkit.model.smi_failures import MISMATCH, NOT_FOUND
from envkit.probes.smi_shells import denied, not_found

OF_ONE_GPU = ("gpu-lost", "device-handle-unknown-error", "gpu-requires-reset", "insufficient-permissions")
"""Failures that may concern one GPU beside others that answer."""

_HANDLE = r"unable to determine the device handle for (?:gpu|device) ?(?:\d{1,3}: *)?[\w:.*]+:?\s*"
_PROCESS = (
    r"[\s|>]*\d{1,3}\s+(?:(?:n/a|\d+)\s+){0,2}(?:n/a|\d+)\s+(?:[a-z](?:\+[a-z])*\s+)?insufficient"  # in the table
    r"|\s*(?:process )?name\s*:"  # in the log
    r"|(?:gpu-[\w-]+, *)?\d{3,}, *\[?insufficient"  # in an answer to --query-compute-apps
)
"""The beginning of a row with a process of another user, whose name the tool may not show: no failure of the GPU."""
_OWN = (
    (MISMATCH, "driver/library version mismatch", ""),
    ("gpu-lost", "gpu is lost", ""),
    ("gpu-requires-reset", "gpu requires reset", ""),
    ("device-handle-unknown-error", "the device handle", rf"{_HANDLE}(?:unknown error|not found|no data|the nvidia|$)"),
    ("insufficient-permissions", "insufficient permissions", rf"^(?!{_PROCESS}).*insufficient permissions"),
    ("insufficient-permissions", "permission", r"not have (?:sufficient )?permissions? to communicate"),
    ("gpu-access-blocked", "gpu access blocked by the operating system", ""),
    ("driver-not-loaded", "couldn't communicate with", r"couldn't communicate with (?:the )?nvidia driver"),
    ("driver-not-loaded", "could not communicate with", r"could not communicate with (?:the )?nvidia driver"),
    ("driver-not-loaded", "driver not loaded", ""),
    ("driver-not-loaded", "nvidia driver is not loaded", ""),
    ("driver-not-loaded", "could not open the device file", r"could not open the device file .?/dev/nvidia"),
    ("nvml-not-found", "couldn't find", r"couldn't find (?:the )?[\"']?(?:libnvidia-ml\.so|nvml\.dll)"),
    ("nvml-unknown-error", "failed to initialize nvml: unknown error", ""),
    ("nvml-failed", "failed to initialize nvml: ", r"failed to initialize nvml: \w"),
    ("no-devices", "no devices were found", ""),
    ("no-devices", "no devices found", r"^\W*no devices found"),
    ("unknown-field", "is not a valid field to query", ""),
    ("container-without-gpu", "could not select device driver", r"driver \S* *with capabilities: \[\[gpu"),
    ("container-without-gpu", "nvidia-container-cli: ", r"container-cli: (?:initialization|device|mount) error"),
)
"""The word, what is written (in small letters), and an expression where that does not suffice.

https://docs.nvidia.com/deploy/nvml-api (nvmlErrorString) has how NVML's sentences end."""

_TOOL = r"nvidia-smi(?:\.exe)?"
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
    """The failure of the tool itself that a text tells of."""
    text = "\n".join(lines)
    small = text.lower().replace("\u2019", "'")
    if len(small) != len(text):  # of a few letters the small one is longer
        text = small
    for kind, words, pattern in _OWN:
        start = small.find(words)
        found = re.search(pattern, small, re.MULTILINE) if pattern and start >= 0 else None
        if start >= 0 and (found or not pattern):
            begin, end = found.span() if found else (start, start)
            last = text.find("\n", end)
            return Failure(kind, _shown(text[text.rfind("\n", 0, begin) + 1 : len(text) if last < 0 else last]))
    return None


def find_shell_failure(lines: list[str]) -> Failure | None:
    """What a shell says instead of the tool."""
    expressions = ((NOT_FOUND, not_found(_TOOL)), ("permission-denied", denied(_TOOL)))
    for line in (*lines, " ".join(line.strip() for line in lines[:_FIRST_LINES])):  # PowerShell breaks its lines
        if "nvidia-smi" in line.lower():
            for kind, expression in expressions:
                if expression.search(line):
                    return Failure(kind, _shown(line))
    return None


def library_version(lines: list[str]) -> str | None:
    """The version of NVIDIA's library, which newer tools print below a mismatch."""
    found = _LIBRARY.search("\n".join(lines))
    return None if found is None else found[1]


def _shown(text: str) -> str:
    return " ".join(text.split())[:_MOST_LETTERS]
