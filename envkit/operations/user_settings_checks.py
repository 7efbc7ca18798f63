"""What of the user's own settings would lead packages to or from another place than the environment; and conda."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from envkit.backends.conda import find_conda
from envkit.installers.pip_places import place_settings
from envkit.model.fit import FitCheck
from envkit.operations.leftover_checks import IMPORT_NAMES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from envkit.backends.conda import CondaProgram
    from envkit.model.lock import Lock
    from envkit.model.spec import Spec
    from envkit.operations.planned_place import PlannedPlace

_SITE = "https://docs.python.org/3/library/site.html"
_PIP = "https://pip.pypa.io/en/stable/cli/pip_install/"


def user_site_check(python: str, place: PlannedPlace, lock: Lock | None, environ: Mapping[str, str]) -> FitCheck | None:
    """Whether packages in the home folder would come before those of the environment; None where there are none.

    Args:
        python: version of the environment's Python, "3.9".
        place: a virtual environment does not look there.
        lock: whose packages count; without one those around torch.
        environ: variables.

    Raises:
        OSError: the folder cannot be listed.
    """
    from envkit.installers.installed import dist_infos  # noqa: PLC0415 - without a spec it need not be loaded
    from envkit.installers.user_site import user_site_of  # noqa: PLC0415

    folder = user_site_of(python, environ)
    if not folder.is_dir():
        return None
    locked = {item.name for platform in lock.platforms.values() for item in platform.packages} if lock else set()
    wanted = {*locked, *IMPORT_NAMES}
    there = [f"{name} {version}" for name, version, _ in sorted(dist_infos(folder)) if name in wanted]
    found = f"{', '.join(there) or 'nothing of the environment'} in {folder}"
    if not there or environ.get("PYTHONNOUSERSITE") or place.backend == "venv":
        return FitCheck("user-site", "ok", found, source=_SITE)
    why = (
        "Python of a conda environment takes the packages in your home folder first, unless the environment is active."
    )
    hint = "Remove them (`python -m pip uninstall`), set PYTHONNOUSERSITE=1, or take --backend venv."
    return FitCheck("user-site", "warn", found, "none of the environment's packages", why, hint, _SITE)


def pip_settings_check(environ: Mapping[str, str]) -> FitCheck:
    """Whether pip's configuration installs elsewhere than into the environment that pip runs in.

    Raises:
        InvalidFileError: a configuration file cannot be read.
    """
    settings = place_settings(environ)
    if not settings:
        return FitCheck("pip-settings", "ok", "nothing that leads elsewhere", source=_PIP)
    found = "; ".join(map(str, settings))
    harmless = [setting for setting in settings if setting.name == "require-virtualenv"]
    if len(harmless) == len(settings):
        hint = "pip refuses to install outside of virtual environments; in conda's it refuses, too."
        return FitCheck("pip-settings", "ok", found, hint=hint, source=_PIP)
    why = "`pip install` in an environment then installs somewhere else, or refuses. envkit's own calls do not read it."
    hint = "Remove it (`pip config unset`, or unset the variable)."
    return FitCheck("pip-settings", "warn", found, "none", why, hint, _PIP)


def conda_check(spec: Spec | None, environ: Mapping[str, str]) -> FitCheck:
    """Which conda is here, and what ``--backend auto`` takes for that reason."""
    program = find_conda(environ)
    if program is None:
        found = "neither conda, mamba nor micromamba"
    else:
        version = _version(program)
        found = f"{program.name} {version} ({program.path})" if version else f"{program.name} ({program.path})"
    if spec is not None and spec.installer == "conda":
        way = "a conda prefix, since the spec's installer is conda"
    elif program is not None:
        way = f"a conda prefix, since there is {program.name}; --backend venv does without"
    else:
        way = "a virtual environment where a Python of that version is here, else a conda prefix"
    return FitCheck("conda", "ok", found, hint=f"--backend auto makes {way}.", source="this system")


def _version(program: CondaProgram) -> str | None:
    """The version of conda or mamba by its own package's record; nothing is run."""
    if program.root is None:
        return None
    pattern = re.compile(rf"{re.escape(program.name)}-(\d[^-]*)-[^-]+\.json")
    try:
        names = [path for path in (program.root / "conda-meta").iterdir() if pattern.fullmatch(path.name)]
        record = json.loads(names[0].read_text(encoding="utf-8", errors="replace")) if names else {}
    except (OSError, ValueError):
        return None
    version = record.get("version") if isinstance(record, dict) else None
    return version if isinstance(version, str) else None
