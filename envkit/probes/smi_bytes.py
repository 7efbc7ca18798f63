"""The text in a file that somebody saved nvidia-smi's output to, in whatever encoding."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),  # what `>` of Windows PowerShell writes
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_OF_CONSOLES = ("gb18030", "cp932", "cp949", "cp950", "cp866", "cp1251", "cp850", "cp1252")
"""What consoles of Windows write in other countries; only the words of a shell differ by them."""
_WINDOW = 1 << 18
_TELLING = re.compile(
    r"NVIDIA-SMI|NVSMI LOG|nvidia_smi_log|nvidia-smi|\bGPU \d+: .{1,80} \((?:UUID|S/N):|No devices were found"
    r"|Failed to initialize NVML|device handle for|memory\.total \[|, driver_version"
)


def texts_in(data: bytes) -> Iterator[str]:
    """The text, in the likeliest encoding first; none for a file that is no text, or an empty one.

    Of a long text it is the part around the first words that nvidia-smi or its users write.
    """
    encoding = _encoding(data)
    if encoding != "utf-8":
        yield from _checked(data.decode(encoding, errors="replace"))
        return
    text = data.decode("utf-8-sig", errors="replace")
    yield from _checked(text)
    if "\ufffd" in text and "\0" not in text:
        for other in _OF_CONSOLES:
            yield from _checked(data.decode(other, errors="replace"))


def _encoding(data: bytes) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    head = data[:4096]
    half = len(head) // 2
    if half and head[1::2].count(0) > 0.9 * half and not head[0::2].count(0):
        return "utf-16-le"
    if half and head[0::2].count(0) > 0.9 * half and not head[1::2].count(0):
        return "utf-16-be"
    return "utf-8"


def _checked(text: str) -> Iterator[str]:
    text = text.removeprefix("\ufeff")
    if text.strip() and "\0" not in text:
        yield _telling_part(text)


def _telling_part(text: str) -> str:
    if len(text) <= _WINDOW:
        return text
    found = _TELLING.search(text)
    start = 0 if found is None else text.rfind("\n", 0, max(0, found.start() - _WINDOW // 16)) + 1
    end = text.rfind("\n", start, start + _WINDOW) + 1
    return text[start : end if end > start else start + _WINDOW]
