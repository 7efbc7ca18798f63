"""The specs that ship, for people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from envkit.cli.matrix_text import machine_line
from envkit.cli.render import table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from envkit.operations.machine import Machine
    from envkit.operations.specs import SpecEntry


def specs_lines(specs: Sequence[SpecEntry]) -> list[str]:
    """The table of specs."""
    rows = [
        (item.name, item.environment or "", item.cuda or "cpu", item.python, ", ".join(item.locked), item.summary or "")
        for item in specs
    ]
    return table(("NAME", "ENVIRONMENT", "CUDA", "PYTHON", "LOCKED FOR", "SUMMARY"), rows)


def fitting_lines(specs: Sequence[SpecEntry], machine: Machine) -> list[str]:
    """Those that fit or of which that cannot be told, each with its reserve in a few words, and how many do not."""
    shown = [item for item in specs if item.fits is not False]
    rows = [
        (
            item.name,
            item.environment or "",
            item.cuda or "cpu",
            item.python,
            "yes" if item.fits else "?",
            _few_words(item, machine),
        )
        for item in shown
    ]
    lines = table(("NAME", "ENVIRONMENT", "CUDA", "PYTHON", "FITS", "BUT"), rows)
    lines += ["", machine_line(machine)]
    if machine.driver is None:
        lines.append("For another machine: `envkit preflight SPEC --driver V --gpu NAME`.")
    unfit = len(specs) - len(shown)
    if unfit:
        lines.append(f"{unfit} of {len(specs)} do not fit: `envkit preflight SPEC` or --json says why.")
    return lines


def _few_words(item: SpecEntry, machine: Machine) -> str:
    """The first sentence of the reason; none where there is no driver, which one line says for all."""
    if item.why is None or machine.driver is None:
        return ""
    return re.split(r"(?<=[.:;,]) ", item.why)[0].rstrip(".:;,")
