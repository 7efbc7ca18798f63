"""The matrix for people: an overview by release, or each build with its spec."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from envkit.cli.colours import paint
from envkit.cli.render import table
from envkit.operations.matrix_page import pythons_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from envkit.operations.machine import Machine
    from envkit.operations.matrix import MatrixResult, Row

_MARKS = {True: "*", False: "", None: "?"}
_WORDS = {True: "yes", False: "no", None: "?"}
_COLOURS = {"yes": "green", "no": "red", "?": "yellow"}


def matrix_lines(result: MatrixResult) -> list[str]:
    """One row per release, or, once a torch or a CUDA is asked for, one per build."""
    if result.page is not None:
        return [f"Wrote {result.page}: open it in a browser."]
    is_narrow = result.wanted.torch is not None or result.wanted.cuda is not None
    lines = (
        _builds(result.rows, result.machine.platform)
        if is_narrow
        else _overview(result.rows, has_driver=result.machine.driver is not None)
    )
    return [*lines, "", *_legend(result, is_narrow=is_narrow)]


def _overview(rows: Sequence[Row], *, has_driver: bool) -> list[str]:
    cells = []
    for release, group in groupby(rows, key=lambda row: row.release):
        found = list(group)
        pip = [row for row in found if row.installer == "pip"]
        cells.append(
            (
                release.torch,
                " ".join(_build(row, has_driver=has_driver) for row in reversed(pip)),
                " ".join(_build(row, has_driver=has_driver) for row in reversed(found) if row.installer == "conda"),
                pythons_text(pip[0] if pip else found[0]),
                release.torchvision,
                release.torchaudio or "",
            )
        )
    return table(("TORCH", "CUDA BUILDS (PIP)", "CUDA (CONDA)", "PYTHON", "TORCHVISION", "TORCHAUDIO"), cells)


def _build(row: Row, *, has_driver: bool) -> str:
    sure = "" if row.is_well_known else "~"
    return f"{sure}{row.build.cuda or 'cpu'}{_MARKS[row.fits] if has_driver else ''}"


def _builds(rows: Sequence[Row], platform: str) -> list[str]:
    cells = [
        (
            row.release.torch,
            ("" if row.is_well_known else "~") + (row.build.cuda or "cpu"),
            row.installer,
            pythons_text(row),
            " ".join(row.known),
            _WORDS[row.fits],
            _command(row, platform),
        )
        for row in rows
    ]
    head, *lines = table(("TORCH", "CUDA", "INSTALLER", "PYTHON", "PLATFORMS", "FITS", "COMMAND"), cells)
    place = head.index("FITS")
    return [head, *(_painted(line, _WORDS[row.fits], place) for line, row in zip(lines, rows, strict=True))]


def _command(row: Row, platform: str) -> str:
    if row.command is None or row.spec is None:
        return "no spec ships"
    return row.command if platform in row.spec.platforms else f"{row.command} (on {' '.join(row.spec.platforms)})"


def _painted(line: str, word: str, place: int) -> str:
    return f"{line[:place]}{paint(word, _COLOURS[word])}{line[place + len(word) :]}"


def _legend(result: MatrixResult, *, is_narrow: bool) -> Iterator[str]:
    yield machine_line(result.machine)
    if result.machine.driver is None:
        yield "Which CUDA builds fit cannot be told without one."
    elif not is_narrow:
        yield "* fits this machine   ? cannot be told   without a mark: does not fit, and --torch V says why."
    if is_narrow:
        told = [row for row in result.rows if row.why and (row.fits is not None or result.machine.driver is not None)]
        for why, group in groupby(sorted(told, key=_why), key=_why):
            builds = dict.fromkeys(f"{row.release.torch}+{row.build.label}" for row in group)
            yield f"{', '.join(builds)}: {why}"
    if not all(row.is_well_known for row in result.rows):
        yield "~ that there is such a build is not sure."


def _why(row: Row) -> str:
    return row.why or ""


def machine_line(machine: Machine) -> str:
    """The machine by which something was judged."""
    subject = "The machine that you described" if machine.is_described else "This machine"
    names = ", ".join(dict.fromkeys(gpu.name or "?" for gpu in machine.gpus))
    if machine.driver is None:
        absent = "no driver was stated (--driver)" if machine.is_described else "no NVIDIA driver answers here"
        return f"{subject}: {machine.platform}; {absent}{f'; GPU: {names}' if names else ''}."
    return f"{subject}: {machine.platform}; driver {machine.driver}; GPU: {names or 'none listed'}."
