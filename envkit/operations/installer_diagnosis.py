"""What ``envkit doctor`` says of packages of another installer, or of the user's home folder, in a conda prefix."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from envkit.errors import EnvkitError
from envkit.installers.content import check_content
from envkit.installers.mixing import find_mixed
from envkit.installers.user_site import hidden_packages
from envkit.model.finding import Finding
from envkit.operations.content import ContentCheck, environments_sharing
from envkit.operations.diagnosis import of_check
from envkit.operations.environments import word_for
from envkit.operations.one_installer import missing_files, mixed_packages
from envkit.operations.own_files import lock_for
from envkit.probes.host import current_platform

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from envkit.model.environment import Environment
    from envkit.model.mixed import Mixed

_LISTED = 20


def of_installers(environment: Environment) -> list[Finding]:
    """Whether only the environment's own installer has put packages into it."""
    try:
        platform = current_platform()
        found = mixed_packages(environment, lock_for(environment, platform), platform)
    except (EnvkitError, OSError):  # told by the check of the packages
        return []
    name, again = environment.name, f"Make it again: `envkit restore {word_for(environment)} --replace`."
    findings = packages_of_both(environment.prefix, name, found, again)
    foreign = [item for item in found if not item.is_of_both]
    if foreign:
        other = "pip" if environment.installer == "conda" else "conda"
        findings.append(
            Finding(
                "installer-mixed",
                "error",
                f"{name} belongs to {environment.installer}, and {other} has put packages into it.",
                why="No lock brings back what two installers made, and each writes over files of the other.",
                fix=(again, f"What you need of them: `envkit add {word_for(environment)} PACKAGE`."),
                evidence=tuple(map(str, foreign)),
            )
        )
    return findings


def packages_of_both(prefix: Path, name: str, found: Sequence[Mixed], again: str) -> list[Finding]:
    """The packages that conda and pip have both put into the environment ``name``, with the files that went."""
    findings = []
    for item in found:
        if not item.is_of_both or item.conda is None:
            continue
        gone = missing_files(prefix, item.conda.split(" ")[0])
        rest = [f"and {len(gone) - _LISTED} more files"] if len(gone) > _LISTED else []
        findings.append(
            Finding(
                "package-of-both",
                "error",
                f"{item.name} in {name} is there twice: {item.conda} of conda and {item.pip} of pip.",
                why="The second wrote over files of the first and removed others: which are whose is left to chance.",
                fix=(again,),
                evidence=(str(item), *(f"{path} (missing)" for path in gone[:_LISTED]), *rest),
            )
        )
    return findings


def of_user_site(environment: Environment) -> list[Finding]:
    """Whether packages in the user's home folder hide those of the environment."""
    try:
        folder, hidden = hidden_packages(environment.prefix)
    except OSError:
        return []
    if not hidden:
        return []
    names = ", ".join(item.name for item in hidden[:_LISTED])
    return [
        Finding(
            "user-site-hides",
            "warning",
            f"Packages in your home folder hide those of {environment.name}: {names}.",
            why=f"Python looks into {folder} first. envkit's guard switches that off while the environment is active, "
            "but not where its Python is started by its path.",
            fix=(
                "Set PYTHONNOUSERSITE=1 for whatever starts it by its path.",
                f"Or remove them from {folder}.",
            ),
            evidence=(str(folder), *map(str, hidden)),
        )
    ]


def of_unmanaged(environment: Environment) -> list[Finding]:
    """What is wrong in a conda prefix that envkit did not make: there is no lock to compare it with."""
    prefix, again = environment.prefix, "Make it again, by one installer alone."
    findings = [
        Finding(
            "not-managed",
            "note",
            f"{prefix} is a conda environment that envkit did not make.",
            why="Which packages belong into it is not known, so only their files are checked.",
        )
    ]
    try:
        findings += packages_of_both(prefix, environment.name, find_mixed(prefix, None, base={}), again)
        report = check_content(prefix)
    except OSError:
        return findings
    check = ContentCheck(report, (), environments_sharing(prefix, report.findings))
    return findings + [replace(found, fix=(again,)) for found in of_check(environment, check)]
