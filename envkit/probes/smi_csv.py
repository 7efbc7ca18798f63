"""What ``nvidia-smi --query-gpu=... --format=csv`` prints: any fields, with or without header and units."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from envkit.compat.gpus import gpu_fact
from envkit.model.driver import DriverVersion, Gpu
from envkit.probes.smi_part import Part, driver_in, is_placeholder, mib_in, name_in, number_in, without_repeats

if TYPE_CHECKING:
    from collections.abc import Sequence

_ASKED = re.compile(r"--query-gpu[= ]\s*[\"']?([\w.]+(?:\s*,\s*[\w.]+)*)")
_OTHER = re.compile(r"--query-(?!gpu\b)|--help-query")
_FIELD = re.compile(r"([a-z]\w*(?:\.\w+)*)(?: \[[^\]]*\])?")
_ALONE = re.compile(r"(?:gpu_)?name|driver_version|compute_cap|memory\.(?:total|used|free)")
_PLAIN = re.compile(r"index|name|uuid|serial|count|timestamp|pstate")
_SPECIFIC = re.compile(
    r"driver_version|kmd_version|compute_cap|compute_mode|gpu_(?:name|uuid|serial|bus_id)|vbios_version|persistence_mode"
    r"|(?:memory|temperature|utilization|clocks|power|fan|pci|pcie|ecc|mig|encoder|inforom|enforced)\.[\w.]+"
)
_NOT_OF_GPUS = re.compile(r"pid|process_name|used_(?:gpu_)?memory|vgpu_instance|retired_pages\.(?:address|cause)")
_NAME = re.compile(
    r"(?:NVIDIA|GeForce|Tesla|Quadro|TITAN|GRID|Jetson|Orin|Xavier|Thor|Graphics Device|NVS)\b.*"
    r"|[ABHLTV]\d{1,4}[A-Z]?(?:-[\w-]+)?"
)
_IDENTITIES = ("index", "uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "serial", "gpu_serial")
_CELL_ERRORS = (
    ("field-unknown-error", "unknown error"),
    ("gpu-lost", "gpu is lost"),
    ("gpu-requires-reset", "gpu requires reset"),
    ("insufficient-permissions", "insufficient permissions"),
)
_MIB = re.compile(r"\d+(?: MiB)?")
_VALUE = re.compile(
    r"-?\d+(?:\.\d+)*(?: (?:MiB|MHz|W|%))?|GPU-[\w-]*|[0-9A-F]{4,8}:[0-9A-F]{2}:[0-9A-F]{2}\.\d|P\d{1,2}"
    r"|Enabled|Disabled|Active|Not Active|Default|Exclusive_Process|[0-9A-F]{2}(?:\.[0-9A-F]{2}){4}|0x[0-9A-F]+"
    r"|\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}",
    re.IGNORECASE,
)
_VERSION = re.compile(r"\d{3}\.\d+\.\d+", re.ASCII)
_SMALLEST_MIB = 256
_RESERVED_MIB = 64
_MOST_GPUS = 64


@dataclass(frozen=True, slots=True)
class _Row:
    """One row, by the names of its fields."""

    values: dict[str, str]
    error_kind: str | None
    is_cut: bool = False

    @property
    def identity(self) -> str | None:
        return next((self.values[name] for name in _IDENTITIES if name in self.values), None)

    def gpu(self, number: int) -> Gpu:
        index, mig = number_in(self.values.get("index")), self.values.get("mig.mode.current")
        capability = self.values.get("compute_cap", "")
        return Gpu(
            number if index is None else index,
            name_in(self.values.get("name") or self.values.get("gpu_name") or ""),
            _mib(self.values.get("memory.total")),
            capability if re.fullmatch(r"\d{1,2}\.\d", capability, re.ASCII) else None,
            _mib(self.values.get("memory.used")),
            mig if mig in {"Enabled", "Disabled"} else None,
        )

    @property
    def driver(self) -> DriverVersion | None:
        return driver_in(self.values.get("driver_version", ""))


def read_row(line: str, fields: Sequence[str]) -> tuple[Gpu, DriverVersion | None] | None:
    """One line of the tool's own answer to a query of ``fields``; None for a line that is no row of it."""
    row = _row(line, fields)
    if row is None or number_in(row.values["index"]) is None:
        return None
    return row.gpu(0), row.driver


def parse_csv(lines: list[str]) -> Part | None:
    """The GPUs of the first query in a text; None: there is none with fields that are told."""
    fields: list[str] | None = None
    rows: list[_Row] = []
    for number, line in enumerate(lines):
        asked = _ASKED.search(line)
        header = None if asked else _header(line)
        if asked is not None or header is not None or _OTHER.search(line):
            if rows:
                break
            told = re.split(r"\s*,\s*", asked[1]) if asked else header
            fields = None if told is None or any(_NOT_OF_GPUS.fullmatch(name) for name in told) else told
        elif fields is not None and line.strip():
            row = _row(line, fields, is_last=number + 1 == len(lines))
            if row is not None:
                rows.append(row)
            elif rows:
                break
    return _part(rows) if rows else None


def parse_bare_csv(lines: list[str]) -> Part | None:
    """Rows without any header or command: what their values tell by themselves, and no more."""
    told = [line for line in lines if line.strip() and not re.match(r"\S*[$#>] ", line)]
    if not told:
        return None
    cells = [[cell.strip() for cell in line.split(",")] for line in told]
    fields = _guessed(cells)
    if fields is None:
        return None
    is_whole = not lines[-1].strip()
    rows = [_row(line, fields, is_last=not is_whole and number + 1 == len(told)) for number, line in enumerate(told)]
    found = [row for row in rows if row is not None]
    return _part(found) if len(found) == len(rows) else None


def _guessed(rows: list[list[str]]) -> list[str] | None:
    """Names for the cells of rows that tell by their values what they are; "?" for others; None: no such rows."""
    count = len(rows[0])
    if any(len(row) != count for row in rows):
        return None
    place = next((n for n in range(min(2, count)) if all(_is_name(row[n], count) for row in rows)), None)
    rest = [cell for row in rows for n, cell in enumerate(row) if n != place and cell]
    if not all(is_placeholder(cell) or _VALUE.fullmatch(cell) for cell in rest):
        return None
    fields = ["?"] * count
    if place is None:
        memory = _memory_fields(rows)
        is_memory = memory is not None and all(_looks_like_memory(row[0]) for row in rows)
        if not is_memory and (memory is not None or not any(cell.startswith("[") for cell in rest)):
            return None  # numbers of anything
    else:
        fields[place] = "name"
    if place == 1 and all((number_in(row[0]) or 0) < _MOST_GPUS and row[0].isdecimal() for row in rows):
        fields[0] = "index"
    versions = [n for n in range(count) if all(_VERSION.fullmatch(row[n]) for row in rows)]
    if place is not None and len(versions) == 1:
        fields[versions[0]] = "driver_version"
    behind = 0 if place is None else place + 1
    memory = _memory_fields([row[behind:] for row in rows]) or []
    fields[behind : behind + len(memory)] = memory
    return fields


def _is_name(cell: str, count: int) -> bool:
    """Whether a cell without any heading, one of ``count``, is surely the name of a GPU; alone it may be anything."""
    is_unknown = count > 1 and re.fullmatch(r"NVIDIA [A-Z]\S*.*\d.*", cell) is not None
    return is_unknown or gpu_fact(cell) is not None


def _looks_like_memory(cell: str) -> bool:
    """Whether a number is just below a whole number of GiB, as memory is and clocks hardly are."""
    return -(_mib(cell) or 0) % 1024 <= _RESERVED_MIB


def _memory_fields(rows: list[list[str]]) -> list[str] | None:
    """Memory at the beginning of rows: the first number is the sum of the two that follow.

    Of these, nothing tells which is which, but where one is 0: no card is ever used to its last MiB.
    """
    sizes = []
    for row in rows:
        total, *parts = [_mib(cell) for cell in row[:3]] or [None]
        if total is None or len(parts) != 2 or None in parts or total < _SMALLEST_MIB:  # noqa: PLR2004 - used and free
            return None
        sizes.append((total, parts[0] or 0, parts[1] or 0))
    if any(total != one + other for total, one, other in sizes):
        return None
    places = [place for place in (1, 2) if all(row[place] == 0 for row in sizes)]
    return ["memory.total", *("memory.used" if places == [place] else "?" for place in (1, 2))]


def _header(line: str) -> list[str] | None:
    """The fields that a header names; None: the line is none."""
    found = [_FIELD.fullmatch(cell.strip()) for cell in line.split(",")]
    if None in found:
        return None
    fields = [match[1] for match in found if match is not None]
    if len(fields) == 1:
        return fields if _ALONE.fullmatch(fields[0]) else None
    is_told = any(_SPECIFIC.fullmatch(name) or _NOT_OF_GPUS.fullmatch(name) for name in fields)
    return fields if is_told or all(_PLAIN.fullmatch(name) for name in fields) else None


def _row(line: str, fields: Sequence[str], *, is_last: bool = False) -> _Row | None:
    """A row by its fields; None where the line is none. A name may hold commas."""
    cells = [cell.strip() for cell in line.split(",")]
    more = len(cells) - len(fields)
    place = next((number for number, name in enumerate(fields) if name in {"name", "gpu_name"}), None)
    if more < 0 or (more and place is None):
        return None
    if more and place is not None:
        cells[place : place + more + 1] = [", ".join(cells[place : place + more + 1])]
    values = dict(zip(fields, cells, strict=True))
    if not _fits(values):
        return None
    if is_last and not cells[-1].endswith(("MiB", "]", "%", " W", "MHz")):
        values[fields[-1]] = ""  # the text ends within this cell
    errors = [kind for kind, text in _CELL_ERRORS if any(f"[{text}]" in cell.lower() for cell in cells)]
    return _Row(values, errors[0] if errors else None, is_cut=values[fields[-1]] == "")


def _fits(values: dict[str, str]) -> bool:
    """Whether each value can be one of its field."""
    for name, value in values.items():
        if name == "?" or is_placeholder(value):
            continue
        if (name in {"index", "count"} and number_in(value) is None) or (
            name.startswith("memory.") and not re.match(r"\d+(?: MiB)?(?!\S)", value)
        ):
            return False
        if name == "driver_version" and not value[:1].isdigit():
            return False
        if name in {"name", "gpu_name"} and not value:
            return False
    names = [values[name] for name in ("name", "gpu_name") if name in values and not is_placeholder(values[name])]
    is_plain = len(values) == 1 or all(_PLAIN.fullmatch(name) for name in values)
    return not is_plain or all(_NAME.fullmatch(name) for name in names)


def _part(rows: list[_Row]) -> Part:
    """The GPUs of the rows; of a query that was repeated, or asked on several hosts, those of its first turn."""
    identities = [row.identity for row in rows]
    turn = rows[: identities[1:].index(identities[0]) + 1] if identities[0] in identities[1:] else rows
    if identities[0] is None:
        turn = rows[:1] if "timestamp" in rows[0].values else rows
    gpus = without_repeats([row.gpu(number) for number, row in enumerate(turn)])
    drivers = {row.driver for row in turn}
    named = {(row.identity, row.gpu(0).name) for row in rows if row.identity is not None}
    is_one_host = len(named) == len({identity for identity, _ in named})
    kinds = [row.error_kind for row in turn if row.error_kind is not None]
    return Part(
        gpus,
        drivers.pop() if len(drivers) == 1 else None,
        is_complete=is_one_host and not kinds and not any(row.is_cut for row in turn),
        error_kind=kinds[0] if kinds else None,
    )


def _mib(value: str | None) -> int | None:
    found = _MIB.match((value or "").strip())
    return None if found is None else mib_in(found[0])
