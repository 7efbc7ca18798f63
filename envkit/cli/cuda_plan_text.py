"""A plan as lines that a shell, or PowerShell, can read: comments and commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from envkit.model.toolkit_plan import Route
    from envkit.operations.cuda_plan import PlanResult


def plan_lines(result: PlanResult) -> list[str]:
    """All ways, each with a heading."""
    lines = [
        f"# CUDA {result.release} for {result.title}. Each numbered way is complete by itself: run the lines of one.",
        "# No way installs or changes the NVIDIA driver.",
    ]
    need = result.driver
    if need is not None:
        released = f"; {result.release} was released with {need.toolkit}" if need.toolkit else ""
        lines.append(f"# To run what is compiled, the driver must be {need.minimum} or newer ({need.known}){released}.")
    if result.system == "wsl":
        lines.append("# In WSL the driver is Windows' own: install none here.")
    lines += [f"# {note}" for note in result.notes]
    if not result.routes:
        lines += ["", f"# No way is known for CUDA {result.version} here."]
    for number, route in enumerate(result.routes, start=1):
        lines += ["", *_route_lines(number, route)]
    return lines


def _route_lines(number: int, route: Route) -> list[str]:
    rights = " (needs administrator's rights)" if route.needs_root else ""
    lines = [f"# {number}. {route.title}{rights}"]
    source = f", {route.source}" if route.source else ""
    lines += [f"#    known: {route.known}{source}"]
    lines += [f"#    {note}" for note in route.notes]
    return [*lines, *route.commands]
