"""The matrix as one page that works by itself, from a file and without any network."""

from __future__ import annotations

import json
import re
from html import escape
from typing import TYPE_CHECKING, Any

from envkit import __version__, fs, resources
from envkit.errors import StorageError
from envkit.operations.wanted_build import CPU

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from envkit.operations.machine import Machine
    from envkit.operations.matrix import MatrixResult, Row

SYSTEMS = {"linux-64": "Linux", "win-64": "Windows", "linux-aarch64": "Linux on ARM"}
_MARKS = {True: ("yes", "fits"), False: ("no", "does not fit"), None: ("unsure", "cannot be told")}


def write_page(result: MatrixResult, path: Path) -> None:
    """Write the page; a file that is there is replaced, as by every ``-o``.

    Raises:
        StorageError: it cannot be written.
    """
    try:
        fs.write_text(path, matrix_page(result))
    except OSError as error:
        problem = StorageError.from_os_error(error)
        raise problem or StorageError.cannot_write(path, why=error.strerror or str(error)) from error


def matrix_page(result: MatrixResult) -> str:
    """The page: a chooser, and below it a table that needs no script.

    Args:
        result: of everything; what it was asked for is chosen when the page opens.
    """
    parts = {
        "VERSION": escape(__version__),
        "MACHINE": _machine(result.machine),
        "TABLE": "\n".join(_line(index, row) for index, row in enumerate(result.rows)),
        "DATA": _script_text(_data(result)),
    }
    template = resources.data_file("matrix.html").read_text(encoding="utf-8")
    return re.sub("@([A-Z]+)@", lambda found: parts[found[1]], template)


def _data(result: MatrixResult) -> dict[str, Any]:
    wanted = {"torch": result.wanted.torch, "cuda": result.wanted.cuda, "python": result.wanted.python}
    return {
        "rows": [{**row.to_json(), "is_sure": row.is_well_known} for row in result.rows],
        "platform": result.machine.platform,
        "has_driver": result.machine.driver is not None,
        "systems": SYSTEMS,
        "wanted": {name: value for name, value in wanted.items() if value is not None},
    }


def _script_text(value: object) -> str:
    """JSON that ends no script and opens no comment: https://html.spec.whatwg.org/#restrictions-for-contents-of-script-elements."""
    text = json.dumps(value, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _machine(machine: Machine) -> str:
    """What is told of the machine: no name of it or of its user."""
    system = SYSTEMS.get(machine.platform, machine.platform)
    if machine.driver is None:
        return (
            f"<p>{escape(system)}. No NVIDIA driver answered, so which CUDA builds fit could not be told; "
            "<code>envkit matrix --html FILE</code> on the machine with the GPU tells it.</p>"
        )
    gpus: dict[str, int] = {}
    for gpu in machine.gpus:
        gpus[gpu.name or "a GPU without a name"] = gpus.get(gpu.name or "a GPU without a name", 0) + 1
    named = ", ".join(f"{count} x {name}" if count > 1 else name for name, count in gpus.items()) or "none was listed"
    return f"<p>{escape(system)}, NVIDIA driver {escape(str(machine.driver))}, GPU: {escape(named)}.</p>"


def _line(index: int, row: Row) -> str:
    kind, word = _MARKS[row.fits]
    why = f"<small>{escape(row.why)}</small>" if row.why else ""
    sure = "" if row.is_well_known else "<small>not sure</small>"
    cells = (
        f"<td>{escape(row.build.cuda or CPU)}{sure}</td>",
        f"<td>{escape(row.installer)}</td>",
        f'<td class="keep">{escape(pythons_text(row))}</td>',
        f"<td>{escape(_systems(row.known))}</td>",
        f"<td>{_command(row)}</td>",
        f'<td><span class="mark {kind}">{word}</span>{why}</td>',
    )
    return f'<tr data-row="{index}"><th scope="row">{escape(row.release.torch)}</th>{"".join(cells)}</tr>'


def _command(row: Row) -> str:
    if row.command is None or row.spec is None:
        return "<small>no spec ships</small>"
    served = set(row.spec.platforms)
    only = "" if served >= set(row.known) else f"<small>on {escape(_systems(row.spec.platforms))} alone</small>"
    return f"<code>{escape(row.command)}</code>{only}"


def _systems(platforms: Iterable[str]) -> str:
    return ", ".join(SYSTEMS.get(name, name) for name in platforms)


def pythons_text(row: Row) -> str:
    """The versions of Python for people: "3.7 - 3.10"; where platforms differ, that of the first."""
    found = next((versions for versions in row.pythons.values() if versions), None)
    if found is None:
        return row.spec.python if row.spec is not None else "?"
    return versions_text(found)


def versions_text(versions: Iterable[str]) -> str:
    """Ascending versions, shortened: "3.7 - 3.10"."""
    first, *others = list(versions)
    return f"{first} - {others[-1]}" if others else first
