"""What ``envkit doctor`` says of the CUDA toolkit that an environment's activation switches to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from envkit.model.finding import Finding
from envkit.model.toolkit import usual_folders
from envkit.operations.environments import word_for

if TYPE_CHECKING:
    from envkit.model.environment import Environment


def of_toolkit(environment: Environment) -> list[Finding]:
    """Whether the toolkit is still there, as the hooks see it: they take the first folder that has a ``bin``."""
    toolkit = environment.toolkit
    if toolkit is None or environment.state != "complete" or _has_bin(str(toolkit.path)):
        return []
    name, version = environment.name, toolkit.version or "?"
    fix = [f"Another toolkit: `envkit hooks install {word_for(environment)} --toolkit V|DIR`."]
    taken = next((folder for folder in usual_folders(toolkit.version, toolkit.release) if _has_bin(folder)), None)
    if taken is not None:
        return [
            Finding(
                "toolkit-moved",
                "note",
                f"The CUDA toolkit of {name} is not in its folder any more; activation takes {taken}.",
                fix=(f"`envkit hooks install {word_for(environment)} --toolkit {taken}` records that.",),
                evidence=(str(toolkit.path),),
            )
        ]
    if toolkit.release is not None:
        fix.append(f"Without root: `envkit cuda install {toolkit.release}`, then the same with its folder.")
    return [
        Finding(
            "toolkit-gone",
            "error",
            f"The CUDA toolkit of {name} is gone: CUDA {version} in {toolkit.path}.",
            why="Activation says so and switches nothing, so that another nvcc, or none, is in force.",
            fix=tuple(fix),
            evidence=(str(toolkit.path),),
        )
    ]


def _has_bin(folder: str) -> bool:
    return os.path.isdir(os.path.join(folder, "bin"))  # noqa: PTH112,PTH118 - no error in a closed folder
