"""The specs that ship, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from envkit.cli.fit_words import reserve
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
    """Those that fit or of which that cannot be told, each with its reserve in a few words, and how many do not.

    Without a driver no CUDA build can be judged: then those for the CPU, and how to ask for another machine.
    """
    shown = [item for item in specs if item.fits or (item.fits is None and machine.driver is not None)]
    rows = [
        (
            item.name,
            item.environment or "",
            item.cuda or "cpu",
            item.python,
            "yes" if item.fits else "?",
            reserve(item.telling),
        )
        for item in shown
    ]
    lines = table(("NAME", "ENVIRONMENT", "CUDA", "PYTHON", "FITS", "BUT"), rows)
    lines += ["", machine_line(machine)]
    untold = sum(item.fits is None for item in specs) if machine.driver is None else 0
    if untold:
        lines.append(f"Of {untold} specs with a CUDA build it cannot be told without a driver. For another machine:")
        lines.append("envkit specs --fits --driver V --gpu NAME")
    unfit = sum(item.fits is False for item in specs)
    if unfit:
        lines.append(f"{unfit} of {len(specs)} do not fit: `envkit preflight SPEC` or --json says why.")
    return lines
