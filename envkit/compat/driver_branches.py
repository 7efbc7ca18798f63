"""The newest branch of drivers that old GPUs have."""

from __future__ import annotations

from dataclasses import dataclass

from envkit.compat.tables import driver_plans_table, version_key


@dataclass(frozen=True, slots=True)
class LastBranch:
    """The last driver branch that serves GPUs below a compute capability.

    Attributes:
        branch: "470".
        known: how well.
    """

    branch: str
    known: str


def newest_branch(capability: str | None) -> LastBranch | None:
    """The last branch for a GPU; None for one that current drivers serve, or of which nothing is known."""
    if capability is None:
        return None
    for row in driver_plans_table()["last_branches"]:  # the oldest GPUs first
        if version_key(capability) < version_key(row["below"]):
            return LastBranch(row["branch"], row["status"])
    return None
