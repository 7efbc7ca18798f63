"""The user site: packages in the user's home folder that Python finds before those of a conda environment.

https://docs.python.org/3/library/site.html#module-usercustomize
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from envkit.installers.conda_meta import is_conda_prefix
from envkit.installers.installed import dist_infos, installed_packages, site_packages

if TYPE_CHECKING:
    from collections.abc import Mapping

_SYSTEM_SITE = re.compile(r"^\s*include-system-site-packages\s*=\s*true\s*$", re.IGNORECASE | re.MULTILINE)


class Hidden(NamedTuple):
    """A package of an environment that one in the user site hides."""

    name: str
    version: str
    user_version: str

    def __str__(self) -> str:
        return f"{self.name} {self.user_version} hides {self.version}"


def hidden_packages(prefix: Path) -> tuple[Path | None, tuple[Hidden, ...]]:
    """The user site of a prefix's Python, and what it hides; None where there is no such folder, or it does not count.

    In a virtual environment it counts only where that lets the system's packages in.

    Raises:
        OSError: a folder of packages cannot be listed.
    """
    folder = _user_site(prefix)
    if folder is None or not folder.is_dir() or not _counts(prefix):
        return None, ()
    mine = installed_packages(prefix)
    found = {name: version for name, version, _ in dist_infos(folder) if name in mine}
    return folder, tuple(Hidden(name, mine[name], version) for name, version in sorted(found.items()))


def _counts(prefix: Path) -> bool:
    if is_conda_prefix(prefix):
        return True
    try:
        return _SYSTEM_SITE.search((prefix / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")) is not None
    except OSError:
        return False


def _user_site(prefix: Path) -> Path | None:
    site = site_packages(prefix)
    if os.name == "nt" or site is None:  # the folder's name has the version, which a prefix on Windows does not show
        return None
    return user_site_of(site.parent.name.removeprefix("python"))


def user_site_of(python: str, environ: Mapping[str, str] | None = None, *, windows: bool = os.name == "nt") -> Path:
    """The user site of Python "3.9"; it need not exist."""
    environ = os.environ if environ is None else environ
    base, minor = environ.get("PYTHONUSERBASE"), ".".join(python.split(".")[:2])
    if windows:
        roaming = Path(base or Path(environ.get("APPDATA") or Path.home(), "Python"))
        return roaming / f"Python{minor.replace('.', '')}" / "site-packages"
    return (Path(base) if base else Path.home() / ".local") / "lib" / f"python{minor}" / "site-packages"
