"""The table that plain nvidia-smi prints, in every layout since driver 325.

Read by words and bars, not by columns: widths have changed with driver 396, 530, 545 and 580, and pastes shift them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from envkit.model.driver import Gpu
from envkit.probes.smi_part import (
    BUS_ID,
    Part,
    cuda_in,
    driver_in,
    is_cut_name,
    is_placeholder,
    name_in,
    without_repeats,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEADER = re.compile(
    r"NVIDIA-SMI[:\s]+(?P<smi>[^\s|,;]+)(?:[\s|,;]+(?:Driver|KMD)\s+Version\s*:\s*(?P<driver>[^\s|,;]+))?"
    r"(?:[\s|,;]+CUDA\s+(?:UMD\s+)?Version\s*:\s*(?P<cuda>[^\n|]*))?"
    r"|(?:Driver|KMD) Version: *(?P<cut_driver>[^\s|]+) {2,}CUDA (?:UMD )?Version: *(?P<cut_cuda>[^\n|]*)"
)
"""Also where a terminal has broken the line, or the left half is lost."""
_FIRST = re.compile(
    rf"(?:^|\|)\s*(?P<index>\d{{1,3}})\s+(?P<name>[^|]+?)\s*\|"
    rf"\s*(?:{BUS_ID}(?:\s+(?:On|Off|N/A|ERR!))?|(?:N/A|ERR!)\s+(?:On|Off|N/A|ERR!))\s*(?:\||$)"
)
_FIRST_CUT = re.compile(r"\|\s*(?P<index>\d{1,3})\s+(?P<name>[^\s|][^|]*)(?P<bar>\|[^|]*)?$")
_MODE = re.compile(r"(?P<name>.*?)\s+(?:On|Off|N/A|WDDM|TCC|MCDM|ERR!|Unknown|Enabled|Disabled)\*?$")
_MEMORY = re.compile(r"(?<!\d)(\d{1,9})\s*Mi?B\s*/(?:\s*(\d{1,9})\s*Mi?B)?")
_RULE = re.compile(r"[\s|+=-]*")
_GPU_HEADING = re.compile(r"\bGPU\s+Name\b")
_OTHER_HEADING = re.compile(r"\bprocesses:|\bMIG devices:|\bPID\b|\bGI\s+CI\b", re.IGNORECASE)
_MARK = re.compile(
    r"NVIDIA-SMI \d{3}\.|Volatile Uncorr\. ECC|GPU-Util +Compute M\.|\| Processes: .*\||\| MIG devices: .*\|"
    r"|\d+MiB / +\d+MiB +\|"
)
_MIG_CELLS = 3


@dataclass
class _Rows:
    """The GPUs below one header, and the lines of the last of them that have come."""

    gpus: list[Gpu] = field(default_factory=list)
    is_complete: bool = True
    is_open: bool = True
    has_heading: bool = False
    has_mode: bool = True
    has_mig: bool = False
    awaited: int = 0

    def heading(self, line: str) -> bool:
        """Take a heading; processes and MIG devices follow the GPUs, and have rows that are none."""
        if _OTHER_HEADING.search(line):
            self.is_open = False
        elif _GPU_HEADING.search(line):
            self.is_open = self.has_heading = True
            self.has_mode = re.search(r"Name\s*\|", line) is None
        elif "MIG M." in line:
            self.has_mig = True
        elif "Bus-Id" not in line and "Pwr:Usage" not in line:
            return False
        self.close()
        return True

    def close(self) -> None:
        """The GPU's lines are over; the second one was missing."""
        if self.awaited == 2:  # noqa: PLR2004 - the second line
            self.is_complete = False
        self.awaited = 0

    def first(self, index: int, name: str) -> None:
        self.close()
        told = _name(name, has_mode=self.has_mode)
        self.gpus.append(Gpu(index, told, name_truncated=is_cut_name(told)))
        self.is_complete &= told is not None
        self.awaited = 2

    def second(self, line: str) -> bool:
        """Fan, temperature, power, memory: the memory, or what stands there instead of it."""
        memory = _MEMORY.search(line)
        if memory is not None:
            total = None if memory[2] is None else int(memory[2])
            self.gpus[-1] = replace(self.gpus[-1], memory_used_mib=int(memory[1]), memory_total_mib=total)
            self.is_complete &= total is not None
            self.awaited = 3
            return True
        cells = [cell.strip() for cell in line.split("|")]
        if any("/" in cell and is_placeholder(after) for cell, after in pairwise(cells)):
            self.awaited = 3
            return True
        return False

    def further(self, line: str) -> None:
        """A line below a GPU's first one."""
        if self.awaited == _MIG_CELLS:
            self.third(line)
        elif self.awaited and not self.second(line):
            self.close()

    def third(self, line: str) -> None:
        """The MIG mode, in the last of three cells."""
        cells = [cell.strip() for cell in line.split("|")]
        found = re.fullmatch(r"(Enabled|Disabled)\*?", next(filter(None, reversed(cells)), ""))
        if found is not None and len(cells) > _MIG_CELLS:
            self.gpus[-1] = replace(self.gpus[-1], mig=found[1])
        self.awaited = 0


def parse_table(lines: list[str]) -> Part | None:
    """The first table that lists a GPU, or else the first header, or what tells of a table; None: there is none."""
    found = [part for part in _tables(lines) if part is not None]
    if not found and any(_MARK.search(line) for line in lines):
        return Part(is_complete=False)
    with_gpus = [part for part in found if part.gpus]
    whole = [part for part in with_gpus if part.driver_version is not None]
    return next(iter([*whole, *with_gpus, *found]), None)


def _tables(lines: list[str]) -> Iterator[Part | None]:
    """One part for each header, and one for what stands before the first."""
    text = "\n".join(lines)
    headers = [header for header in _HEADER.finditer(text) if any(header.group(2, 3, 4))]
    yield _rows_part(None, text[: headers[0].start()] if headers else text, is_last=not headers)
    for number, header in enumerate(headers):
        is_last = number + 1 == len(headers)
        body = text[header.end() : None if is_last else headers[number + 1].start()]
        yield _rows_part(header, body, is_last=is_last)


def _rows_part(header: re.Match[str] | None, body: str, *, is_last: bool) -> Part | None:
    rows = _read_rows(body.split("\n"), is_last=is_last)
    gpus = without_repeats(rows.gpus)
    if header is None:
        return Part(gpus, is_complete=False) if gpus else None
    told, told_cuda = header["driver"] or header["cut_driver"] or "", header["cuda"] or header["cut_cuda"]
    driver, cuda = driver_in(told), cuda_in(told_cuda or "")
    if not body and told_cuda is None and told != header["smi"]:
        driver = None  # the text ends here: the number may be cut
    is_told = (driver is not None or is_placeholder(told)) and (
        told_cuda is None or cuda is not None or is_placeholder(told_cuda)
    )
    return Part(gpus, driver, cuda, is_complete=bool(gpus) and is_told and rows.is_complete)


def _read_rows(lines: list[str], *, is_last: bool) -> _Rows:
    rows = _Rows()
    for number, line in enumerate(lines):
        if rows.heading(line) or not rows.is_open:
            continue
        if _RULE.fullmatch(line):
            if "+" in line or "--" in line:
                rows.close()
            continue
        first = _FIRST.search(line)
        if first is not None:
            rows.first(int(first["index"]), first["name"])
        elif is_last and number + 1 == len(lines):
            _last_line(rows, line)
        elif "|" in line:  # anything else is a message in between
            rows.further(line)
    if rows.awaited == _MIG_CELLS and rows.has_mig and is_last:
        rows.is_complete = False
    rows.close()
    return rows


def _last_line(rows: _Rows, line: str) -> None:
    """A line that ends with the text, and may be cut: what a bar or a unit closes is whole."""
    if rows.awaited == 2 and rows.second(line):  # noqa: PLR2004 - the second line of a GPU
        rows.is_complete &= not rows.has_mig
    elif rows.awaited == _MIG_CELLS:
        rows.third(line)
        rows.is_complete &= line.rstrip().endswith("|") or rows.gpus[-1].mig is not None
    elif not rows.awaited and rows.has_heading and (cut := _FIRST_CUT.search(line)):
        rows.is_complete = False
        if cut["bar"] is not None:
            rows.first(int(cut["index"]), cut["name"])
        elif int(cut["index"]) not in {gpu.index for gpu in rows.gpus}:
            rows.gpus.append(Gpu(int(cut["index"]), None))


def _name(cell: str, *, has_mode: bool) -> str | None:
    """The name out of a cell that ends, but in old layouts, with the persistence mode or the driver model."""
    if not has_mode:
        return name_in(cell)
    found = _MODE.fullmatch(cell.strip())
    if found is not None:
        return name_in(found["name"])
    apart = re.split(r"\s{2,}", cell.strip())  # a mode that is not known
    return name_in(" ".join(apart[:-1])) if len(apart) > 1 else None
