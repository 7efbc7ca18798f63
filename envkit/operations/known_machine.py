"""What is told of a machine besides its checks: the newest CUDA for its driver; what was not stated of another one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from envkit.compat.card_checks import CARD
from envkit.compat.driver_branches import newest_branch
from envkit.compat.gpus import near_names
from envkit.compat.releases import releases
from envkit.compat.tables import driver_need, version_key

if TYPE_CHECKING:
    from envkit.model.fit import FitCheck
    from envkit.operations.machine import Machine


def newest_cuda(machine: Machine) -> str | None:
    """The newest build CUDA of any torch that the driver runs, whatever the cards are; None: none, or not known."""
    driver = machine.driver
    if driver is None:
        return None
    builds = {build.cuda for release in releases() for build in release.builds(machine.platform)} - {None}
    needs = {cuda: driver_need(cuda, machine.driver_platform) for cuda in builds if cuda is not None}
    run = [cuda for cuda, need in needs.items() if need is not None and driver.parts >= version_key(need.minimum)]
    return max(run, key=version_key, default=None)


def dropped_cards(machine: Machine) -> tuple[str, ...]:
    """For each card that the driver is too new for: that its last branch is an older one."""
    driver = machine.driver
    limits = [(card, newest_branch(card.capability)) for card in machine.cards]
    return tuple(
        f"The newest driver for {card.name} is of branch {limit.branch} ({limit.known}); {driver} does not serve it."
        for card, limit in limits
        if limit is not None and driver is not None and driver.parts[0] > int(limit.branch)
    )


def as_described(checks: list[FitCheck], machine: Machine) -> list[FitCheck]:
    """The same in the words of somebody who describes a machine: what was not stated, and names that are near."""
    unknown = {card.title: card.name for card in machine.cards if card.capability is None and card.name is not None}
    found = []
    for check in checks:
        if check.status == "unknown" and check.id == "driver":
            found.append(replace(check, why="No driver was stated (--driver)."))
        elif check.status == "unknown" and check.id == CARD and check.found is None:
            found.append(replace(check, why="No GPU was stated (--gpu)."))
        elif check.status == "unknown" and check.found in unknown:
            near = near_names(unknown[check.found])
            told = f"Near it in the table: {', '.join(near)}. `nvidia-smi -L` there prints the whole name."
            hint = told if near else check.hint
            found.append(replace(check, hint=hint))
        else:
            found.append(check)
    return found
