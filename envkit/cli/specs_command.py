"""``envkit specs``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from envkit.cli.options import json_option, machine_options
from envkit.cli.render import emit

if TYPE_CHECKING:
    from envkit.operations.specs import SpecEntry


@dataclass(frozen=True, slots=True)
class _Specs:
    specs: tuple[SpecEntry, ...]

    def to_json(self) -> dict[str, Any]:
        return {"specs": [item.to_json() for item in self.specs]}


@click.command("specs")
@click.option("--fits", is_flag=True, help="Only those that fit this machine, or of which that cannot be told.")
@machine_options
@json_option
def command(*, fits: bool, as_json: bool, driver: str | None, gpus: tuple[str, ...], platform: str | None) -> int:
    """Show the specs that ship with envkit: `envkit create NAME` makes the environment of one.

    With --fits each is judged by this machine's driver and GPUs, or by those of --driver and --gpu; --json tells those
    that do not fit as well, and why.
    """
    from envkit.cli.specs_text import fitting_lines, specs_lines  # noqa: PLC0415 - start-up counts
    from envkit.operations.machine import machine_here_or  # noqa: PLC0415
    from envkit.operations.specs import list_specs  # noqa: PLC0415

    is_judged = fits or driver is not None or bool(gpus) or platform is not None
    machine = machine_here_or(driver, gpus, platform) if is_judged else None
    result = _Specs(list_specs(machine))
    show = specs_lines if machine is None else lambda specs: fitting_lines(specs, machine)
    return emit(result, lambda: show(result.specs), as_json=as_json)
