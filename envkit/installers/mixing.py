"""What the other installer has put into a conda prefix, past every refusal: by names, without reading the packages.

mamba, pixi and py-rattler look at no refusal, and both conda and pip have an option that passes over it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

from envkit.errors import InvalidFileError
from envkit.installers.conda_meta import files_of_record, is_conda_prefix, record_paths
from envkit.installers.installed import BUILD_TOOLS, conda_packages, pip_packages
from envkit.model.mixed import Mixed

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

_DIST_INFO = re.compile(r"site-packages/([^/]+?)-[^-/]+(?:-py[0-9.]+)?\.(?:dist|egg)-info(?:/|$)")
CONDA_NAMES = {"torch": "pytorch"}
"""What projects are called in conda's channels."""
_PROJECTS = {conda: project for project, conda in CONDA_NAMES.items()}


def find_mixed(
    prefix: Path, installer: str | None, *, base: Mapping[str, str], editables: Collection[str] = ()
) -> tuple[Mixed, ...]:
    """The packages of a conda prefix that its installer did not put there; none in a virtual environment.

    pip, setuptools and wheel are anybody's.

    Args:
        prefix: the environment's folder.
        installer: "pip" or "conda"; None where nobody has settled that: then only packages of both are told.
        base: by name, version and build of the conda packages that belong to it; with installer pip and none that are
            known, conda's packages are not told.
        editables: projects that belong to it.

    Raises:
        OSError: the folder of packages cannot be listed.
    """
    if not is_conda_prefix(prefix):
        return ()
    conda = conda_packages(prefix)
    pip = {name: text for name, text in pip_packages(prefix).items() if name not in BUILD_TOOLS}
    found = []
    owners = conda_owners(prefix) if pip.keys() - set(editables) else {}
    for name, version in pip.items():
        owner = owners.get(name)
        if owner is not None and owner in conda:
            found.append(Mixed(name, f"{owner} {conda[owner]}", f"{name} {version}"))
        elif installer == "conda" and name not in editables:
            found.append(Mixed(name, None, f"{name} {version}"))
    if installer == "pip" and base:
        of_both = {item.conda for item in found}
        foreign = [f"{name} {text}" for name, text in conda.items() if base.get(name) != text]
        found += [Mixed(text.split(" ")[0], text, None) for text in foreign if text not in of_both]
    return tuple(sorted(found, key=lambda item: item.name))


def conda_owners(prefix: Path) -> dict[str, str]:
    """By project, the conda package that brings it; damaged records tell nothing.

    That is one whose record lists a dist-info of the project, or a Python package of the project's name: conda's tzdata
    is another thing than the project of that name.
    """
    owners: dict[str, str] = {}
    for path in record_paths(prefix):
        try:
            package, files = files_of_record(path)
        except InvalidFileError:  # told by the check of the files
            continue
        for file in files:
            if "site-packages/" not in file.path:
                continue
            owners.setdefault(_PROJECTS.get(package, canonicalize_name(package)), package)
            match = _DIST_INFO.search(file.path)
            if match is not None:
                owners[canonicalize_name(match[1])] = package
    return owners
