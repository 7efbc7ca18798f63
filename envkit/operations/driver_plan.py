"""How a newer NVIDIA driver gets onto this system. Nothing is run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envkit.compat.driver_branches import newest_branch
from envkit.compat.tables import driver_plans_table, version_key

if TYPE_CHECKING:
    from envkit.operations.machine import Machine
    from envkit.probes.host import System
    from envkit.probes.nvidia_kernel import KernelReport


@dataclass(frozen=True, slots=True)
class DriverPlan:
    """The steps of an upgrade.

    Attributes:
        system: for people.
        commands: in their order; empty where it is done otherwise, or the system is not known.
        notes: what to do beside them, and what to know.
        known: how well the names in the commands are known.
        source: an address, or the name of what was read.
    """

    system: str
    commands: tuple[str, ...]
    notes: tuple[str, ...]
    known: str
    source: str | None

    def to_json(self) -> dict[str, Any]:
        """``driver_plan`` in ``envkit preflight --json``."""
        return {
            "system": self.system,
            "commands": list(self.commands),
            "notes": list(self.notes),
            "known": self.known,
            "source": self.source,
        }


def plan_driver(system: System, kernel: KernelReport, machine: Machine) -> DriverPlan:
    """The plan for a system.

    Args:
        system: which one.
        kernel: what is loaded there now.
        machine: its GPUs.
    """
    limits = {newest_branch(card.capability) for card in machine.cards}
    limit = min(
        (limit for limit in limits if limit is not None), key=lambda limit: version_key(limit.branch), default=None
    )
    names = ("wsl",) if system.is_wsl else (system.id, *system.like)
    rows = driver_plans_table()["systems"]
    row = next((row for name in names for row in rows if name in row["ids"]), None)
    title = f"{system.title}{' in WSL' if system.is_wsl else ''}"
    notes = _notes(system, kernel, machine)
    if row is None:
        told = "Use this system's own package of the driver, or NVIDIA's: https://www.nvidia.com/drivers."
        return DriverPlan(title, (), (told, *notes), "unknown", None)
    if limit is not None and row["commands"]:
        row = row.get("branches", {}).get(limit.branch) if len(limits) == 1 else None
        if row is None:
            told = f"Take a package of branch {limit.branch} or NVIDIA's: https://www.nvidia.com/drivers."
            return DriverPlan(title, (), (told, *notes), "unknown", None)
    sources = driver_plans_table()["sources"]
    source = sources[row["src"][0]]
    told = row["note"] if row["status"] != "unconfirmed" else f"That is how it usually goes. {row['note']}"
    commands = () if kernel.is_container else tuple(row["commands"])
    return DriverPlan(title, commands, (told, *notes), row["status"], source["url"] or source["name"])


def _notes(system: System, kernel: KernelReport, machine: Machine) -> tuple[str, ...]:
    notes = []
    for card in machine.cards:
        limit = newest_branch(card.capability)
        if limit is not None:
            notes.append(
                f"The newest driver for {card.name} is of branch {limit.branch} ({limit.known}); packages of newer "
                "ones do not serve it."
            )
    if system.id == "windows" or system.is_wsl:
        return tuple(notes)
    if kernel.module == "nouveau":
        notes.append("nouveau drives the card now. Packages of the driver turn it off; it goes with the next reboot.")
    notes.append(_secure_boot(kernel))
    notes.append("Reboot afterwards; until then nvidia-smi may say that driver and library do not match.")
    notes.append(
        "All of it needs root. On a cluster or a shared server ask its administrators, or take the other build."
    )
    return tuple(notes)


def _secure_boot(kernel: KernelReport) -> str:
    enrol = "a module built here has to be signed, and its key enrolled with `sudo mokutil --import` and a reboot"
    if kernel.secure_boot:
        return f"Secure Boot is on: {enrol}."
    if kernel.secure_boot is None:
        return f"Where Secure Boot is on (`mokutil --sb-state`), {enrol}."
    return "Secure Boot is off; nothing has to be signed."
