"""What ``envkit doctor`` says of the CUDA toolkit that an environment's activation switches to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from envkit.errors import InvalidFileError
from envkit.model.finding import Finding
from envkit.model.toolkit import usual_folders
from envkit.operations.environments import word_for
from envkit.operations.toolkit_versions import ways_to_get
from envkit.probes.added_toolkits import read_added
from envkit.settings import read_settings

if TYPE_CHECKING:
    from envkit.model.environment import Environment
    from envkit.model.toolkit import Toolkit


def of_toolkit(environment: Environment) -> list[Finding]:
    """Whether the toolkit is still there, as the hooks see it: they take the first folder that has a ``bin``."""
    if environment.toolkit is None or environment.state != "complete":
        return []
    return of_missing_toolkit(environment.toolkit, environment.name, word_for(environment))


def of_missing_toolkit(toolkit: Toolkit, name: str, word: str) -> list[Finding]:
    """The same of any prefix; ``word`` is what a user types for it."""
    if _has_bin(str(toolkit.path)):
        return []
    version = toolkit.version or "?"
    fix = [f"Another toolkit: `envkit hooks install {word} --toolkit V|DIR`."]
    taken = next((folder for folder in usual_folders(toolkit.version, toolkit.release) if _has_bin(folder)), None)
    if taken is not None:
        return [
            Finding(
                "toolkit-moved",
                "note",
                f"The CUDA toolkit of {name} is not in its folder any more; activation takes {taken}.",
                fix=(f"`envkit hooks install {word} --toolkit {taken}` records that.",),
                evidence=(str(toolkit.path),),
            )
        ]
    if toolkit.release is not None:
        fix.append(ways_to_get(toolkit.release, "its folder to the command above"))
    fix.append(f"`envkit hooks remove {word}` ends the switching.")
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


def of_users_files() -> list[Finding]:
    """Whether the configuration and the list of toolkits that were added can be read: no search for one works else."""
    readers = {"config-invalid": read_settings, "toolkits-invalid": read_added}
    found = []
    for name, read in readers.items():
        try:
            read()
        except InvalidFileError as error:  # noqa: PERF203 - two rounds
            fix = error.hint or "Correct the file, or move it away."
            why = "Whatever looks for a CUDA toolkit ends with this error."
            found.append(Finding(name, "error", error.message, why=why, fix=(fix,), evidence=(error.path,)))
    return found


def _has_bin(folder: str) -> bool:
    return os.path.isdir(os.path.join(folder, "bin"))  # noqa: PTH112,PTH118 - no error in a closed folder
