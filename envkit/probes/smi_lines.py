"""Takes away what surrounds nvidia-smi's output in a paste: colours, quoting, prefixes of logs, odd blanks."""

from __future__ import annotations

import re

_FORWARD = re.compile(r"\x1b\[(\d{0,3})C")
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI, colours among them
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"  # OSC, the title of a window
    r"|\x1b[()*+][0-9A-Za-z]|\x1b[=>78cDEHMNOZ]"
    r"|(?:\^\[|\u241b)?\[\d{1,3}(?:;\d{1,3})*m"  # colours whose escape character was lost
)
_BLANKS = dict.fromkeys(map(ord, "\u00a0\u1680\u2002\u2003\u2004\u2005\u2007\u2008\u2009\u202f\u205f\u3000\v\f"), " ")
_NOTHING = dict.fromkeys(map(ord, "\0\ufeff\u200b\u200c\u200d\u2060\u00ad"), None)
_BARS = dict.fromkeys(map(ord, "\u2502\u2503\u2551\uff5c"), "|")
_LETTERS = {**_BLANKS, **_NOTHING, **_BARS}
_ENTITIES = (("&nbsp;", " "), ("&#124;", "|"), ("&gt;", ">"), ("&lt;", "<"), ("&amp;", "&"))
_ESCAPED_END = re.compile(r"(?:\\r)?\\n")
_HARD_BREAK = re.compile(r" \\$", re.MULTILINE)
_BREAKS = 3
_JOINED = re.compile(r"(?<=[|+]) +(?=[|+])")
_PREFIX = re.compile(r"^(.{0,160}?)(?:\+-{20,}|\|[ ]*NVIDIA-SMI |={8,}NVSMI LOG=)")


def clean_lines(text: str) -> list[str]:
    """The lines of a paste; an empty last one says that the last line was whole."""
    text = _FORWARD.sub(lambda found: " " * int(found[1] or 1), text)
    text = _ESCAPES.sub("", text)
    for entity, letter in _ENTITIES:
        text = text.replace(entity, letter)
    if re.search(r"[|+=] *(?:\\r)?\\n", text):  # a string of a program, as it is written in code or in JSON
        text = _ESCAPED_END.sub("\n", text)
    text = re.sub(r"\r*\n|\r+", "\n", text).translate(_LETTERS).expandtabs(8)
    if len(_HARD_BREAK.findall(text)) >= _BREAKS:  # Markdown's; one is that of a shell
        text = _HARD_BREAK.sub("", text)
    return _without_prefix(_split(text.split("\n")))


def _split(lines: list[str]) -> list[str]:
    """A table that was pasted as one line, in its lines."""
    found: list[str] = []
    for line in lines:
        if "NVIDIA-SMI" not in line or "Bus-Id" not in line:
            found.append(line)
            continue
        start = ""
        for part in _JOINED.split(line):
            if part == "|":  # an empty cell
                start += "| "
            else:
                found.append(start + part)
                start = ""
        found.append(start)
    return found


def _without_prefix(lines: list[str]) -> list[str]:
    """The lines without what a log, a quotation or docker compose puts before each: its numbers may differ."""
    prefix = next((found[1] for line in lines if (found := _PREFIX.match(line)) and found[1].strip()), None)
    if prefix is None:
        return lines
    parts = (part for part in re.split(r"(\d+)", prefix.rstrip()))
    pattern = re.compile("".join(r"\d+" if part.isdigit() else re.escape(part) for part in parts) + " ?")
    return [line[found.end() :] if (found := pattern.match(line)) else line for line in lines]
