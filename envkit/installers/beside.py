"""More packages for an environment: resolved beside what is locked there, which stays as it is.

What is locked is told to uv by name, version and extras alone: as files of a folder that looks like an index, and with
``dependency-metadata``. So neither the files nor their indexes are needed, and only new names are looked for.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass, replace
from email.parser import HeaderParser
from typing import TYPE_CHECKING

from packaging.requirements import InvalidRequirement, Requirement

from envkit.installers.indexes import existing
from envkit.installers.installed import distributions
from envkit.installers.resolve import resolve
from envkit.installers.routing import stand_in_hash
from envkit.model.spec import Source, Spec
from envkit.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from envkit.installers.indexes import PipConfig
    from envkit.model.locked import LockedPackage


@dataclass(frozen=True, slots=True)
class Fixed:
    """A package that is there, and stays.

    Attributes:
        name: canonical.
        version: as locked.
        requires: those of its requirements that count; what is locked already has what it needs, its extras aside.
    """

    name: str
    version: str
    requires: tuple[str, ...] = ()

    @property
    def file(self) -> str:
        """A wheel that fits everywhere, which is named and never read."""
        return f"{self.name.replace('-', '_')}-{self.version}-py3-none-any.whl"

    def metadata_toml(self) -> str:
        """uv's ``dependency-metadata`` of it."""
        lines = ["[[dependency-metadata]]", f"name = {json.dumps(self.name)}", f"version = {json.dumps(self.version)}"]
        return "\n".join([*lines, f"requires-dist = {json.dumps(self.requires)}", ""])


def resolve_beside(
    fixed: Sequence[Fixed],
    requirements: Iterable[str],
    *,
    label: str,
    python: str,
    platform: str,
    config: PipConfig,
    offline: bool,
) -> tuple[LockedPackage, ...]:
    """The files that ``requirements`` need beside the ``fixed`` packages, by name.

    Args:
        fixed: what is there.
        requirements: PEP 508, without addresses.
        label: what errors call the question.
        python: full version.
        platform: conda's name of it.
        config: the user's settings for the default index.
        offline: whether only this disk and uv's cache may be asked.

    Raises:
        ResolutionError: they do not fit, or there are none.
        DownloadError: an index is out of reach.
    """
    pins = tuple(f"{item.name}=={item.version}" for item in fixed)
    with scratch_folder() as folder:
        sources: tuple[Source, ...] = ()
        if offline:  # uv asks no index then, the one on loopback neither
            for item in fixed:
                _write_wheel(folder, item)
            config = replace(config, find_links=(*existing(config.find_links), str(folder)))
        else:
            sources = (Source(_pages(fixed, folder).as_uri(), tuple(item.name for item in fixed)),)
        spec = Spec(
            name=label,
            summary=None,
            python=python,
            installer="pip",
            cuda=None,
            packages=(*pins, *requirements),
            sources=sources,
            channels=(),
            toolkit=None,
            platforms=(platform,),
            sdist=(),
            library_path=False,
            host_compiler=True,
            sha256="",
            path=label,
        )
        metadata = "".join(item.metadata_toml() for item in fixed)
        found = resolve(spec, platform, config=config, metadata_toml=metadata, offline=offline)
    names = {item.name for item in fixed}
    return tuple(item for item in found if item.name not in names)


def _pages(fixed: Iterable[Fixed], folder: Path) -> Path:
    """A folder with a project page for each package, as an index on this disk has them."""
    for item in fixed:
        page = folder / item.name / "index.html"
        page.parent.mkdir()
        page.write_text(f'<a href="{item.file}#sha256={stand_in_hash(item.file)}">{item.file}</a>', encoding="utf-8")
    return folder


def _write_wheel(folder: Path, item: Fixed) -> None:
    """A wheel without content: uv looks into the files of a folder for their hashes."""
    info = f"{item.name.replace('-', '_')}-{item.version}.dist-info"
    texts = {
        "METADATA": f"Metadata-Version: 2.1\nName: {item.name}\nVersion: {item.version}\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: envkit\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "RECORD": "",
    }
    with zipfile.ZipFile(folder / item.file, "w") as archive:
        for name, text in texts.items():
            archive.writestr(f"{info}/{name}", text)


def extras_of(prefix: Path) -> dict[tuple[str, str], tuple[str, ...]]:
    """What the extras of each installed package require, by its name and version."""
    return {
        (name, version): tuple(item for item in requirements_in(folder) if "extra" in item.partition(";")[2])
        for name, version, folder in distributions(prefix)
    }


def requirements_in(dist_info: Path) -> tuple[str, ...]:
    """The requirements that an installed package states, as far as they can be read."""
    try:
        text = (dist_info / "METADATA").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    found = []
    for line in HeaderParser().parsestr(text).get_all("Requires-Dist") or ():
        try:
            Requirement(line)
        except InvalidRequirement:  # of a time before there were rules; nothing new can depend on it
            continue
        found.append(" ".join(line.split()))
    return tuple(found)
