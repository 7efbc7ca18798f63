"""From a spec to the exact files of one platform, by ``uv pip compile`` in a folder of its own."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from packaging.utils import canonicalize_name

from envkit import process
from envkit.errors import DownloadError
from envkit.installers.indexes import (
    existing,
    for_uv,
    local_path,
    read_pip_config,
    uv_index_arguments,
    uv_index_environment,
)
from envkit.installers.resolution_errors import ResolutionError, no_wheel_error, uv_failure
from envkit.installers.routing import Router, default_packages, stand_in_hash
from envkit.installers.tags import UV_PLATFORMS, best_wheel
from envkit.installers.toml import parse_toml
from envkit.installers.uv import uv_environment, uv_program
from envkit.installers.uv_settings import UvSettings, write_connection_settings
from envkit.model.addresses import redacted
from envkit.model.locked import LockedPackage
from envkit.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from envkit.installers.indexes import PipConfig
    from envkit.model.spec import Spec

_TIMEOUT_S = 900.0


def resolve(
    spec: Spec,
    platform: str,
    *,
    config: PipConfig | None = None,
    preferred: Iterable[LockedPackage] = (),
    upgrade: bool = False,
    upgrade_packages: Sequence[str] = (),
    metadata_toml: str = "",
    offline: bool = False,
) -> tuple[LockedPackage, ...]:
    """The files that give ``spec`` on ``platform``, in the order of their names.

    Args:
        spec: a spec for pip.
        platform: conda's name; need not be this machine's.
        config: the user's pip configuration; read when not given.
        preferred: pins of an earlier lock, kept as far as the spec allows.
        upgrade: disregard ``preferred``, and ask the indexes afresh.
        upgrade_packages: the same for these names.
        metadata_toml: ``[[dependency-metadata]]`` tables for uv, for files whose content cannot be read.
        offline: only this disk and uv's cache are asked; not for a spec with sources.

    Raises:
        ResolutionError: the spec cannot be satisfied, or only by a package that has no wheel.
        InvalidFileError: a package could come from two places.
        DownloadError: an index is out of reach.
        ProgramError: uv failed otherwise.
    """
    config = for_uv(config if config is not None else read_pip_config())
    if offline:
        config = replace(config, extra_index_urls=())
    pins, names = tuple(preferred), tuple(upgrade_packages)
    question = _Question(spec.on(platform), platform, config, pins, upgrade, names, metadata_toml, offline)
    try:
        return question.packages()
    except ResolutionError:
        second = question.with_more_freedom()
        if second is None:
            raise
        return second.packages()


@dataclass(frozen=True, slots=True)
class _Question:
    """One question to uv.

    Attributes:
        past_extra: packages for which the user's further indexes are passed over: these often carry a few versions of
            well-known packages, and uv would rather go back years with all others than look further.
        build: packages that are taken as sdists.
    """

    spec: Spec
    platform: str
    config: PipConfig
    preferred: tuple[LockedPackage, ...]
    upgrade: bool
    upgrade_packages: tuple[str, ...]
    metadata_toml: str
    offline: bool
    past_extra: frozenset[str] = field(default_factory=default_packages)
    build: tuple[str, ...] = ()

    def with_more_freedom(self) -> _Question | None:
        """The question once more, or None when nothing can be added.

        Sdists are added that the spec allows, and what further indexes of the user have of well-known packages.
        """
        if not self.config.extra_index_urls and not self.spec.sdist:
            return None
        return replace(self, past_extra=frozenset(), build=self.spec.sdist)

    def packages(self) -> tuple[LockedPackage, ...]:
        """The answer."""
        spec, config = self.spec, self.config
        needs_router = bool(spec.sources or (config.extra_index_urls and not config.no_index))
        with scratch_folder() as folder:
            if not needs_router:
                return self._locked(self._compile(folder, None), None)
            with Router(spec, self.platform, config, self.past_extra) as router:
                try:
                    entries = self._compile(folder, router)
                except (ResolutionError, DownloadError):
                    router.check()  # what this finds is why uv found nothing
                    raise
                router.check()
            return self._locked(entries, router)

    def _compile(self, folder: Path, router: Router | None) -> list[Mapping[str, Any]]:
        (folder / "requirements.in").write_text("\n".join(self.spec.packages) + "\n", encoding="utf-8")
        output = folder / "pylock.toml"
        if self.preferred and not self.upgrade:
            output.write_text(_preferences(self.preferred), encoding="utf-8")
        done = process.run(
            [uv_program(), *self._arguments(folder, router)],
            timeout_s=_TIMEOUT_S,
            env=_environment(self.config, router),
            cwd=folder,
            check=False,
        )
        if done.returncode != 0:
            raise uv_failure(done, self.spec, self.platform)
        entries: list[Mapping[str, Any]] = parse_toml(output.read_text(encoding="utf-8")).get("packages", [])
        return entries

    def _arguments(self, folder: Path, router: Router | None) -> list[str]:
        spec = self.spec
        arguments = ["pip", "compile", "requirements.in", "-o", "pylock.toml", "--no-header", "--quiet"]
        arguments += [
            *write_connection_settings(folder, more=self.metadata_toml),
            "--python",
            sys.executable,
            "--python-version",
            spec.python,
        ]
        arguments += ["--python-platform", UV_PLATFORMS[self.platform], "--index-strategy", "first-index"]
        arguments += ["--only-binary", ":all:"]
        arguments += [part for name in self.build for part in ("--no-binary", name)]
        arguments += ["--upgrade"] if self.upgrade else []
        arguments += ["--offline"] if self.offline else []
        arguments += [part for name in self.upgrade_packages for part in ("--upgrade-package", name)]
        links = _without_claimed(existing(self.config.find_links), spec, folder)
        own = replace(self.config, extra_index_urls=(), find_links=links)
        if router is not None and own.no_index:  # the sources that the spec names still count, and nothing else
            arguments += ["--default-index", router.url]
            own = replace(own, no_index=False, index_url=None)
        elif router is not None:
            arguments += ["--index", router.url]
        return [*arguments, *uv_index_arguments(own, UvSettings())]

    def _locked(self, entries: Iterable[Mapping[str, Any]], router: Router | None) -> tuple[LockedPackage, ...]:
        packages = [self._locked_package(entry, router) for entry in entries]
        return tuple(sorted(packages, key=lambda package: package.name))

    def _locked_package(self, entry: Mapping[str, Any], router: Router | None) -> LockedPackage:
        name, spec = canonicalize_name(entry["name"]), self.spec
        wheels = {_file_name(wheel): wheel for wheel in entry.get("wheels", ())}
        file = best_wheel(wheels, self.platform, spec.python)
        found = wheels[file] if file is not None else entry.get("sdist")
        if found is None or (file is None and name not in spec.sdist):
            raise no_wheel_error(f"{name} {entry['version']}", spec, self.platform)
        source = spec.source_of(name)
        if source is not None and (router is None or found.get("url") not in router.offered.get(name, ())):
            raise ResolutionError(
                spec.path,
                f"{name} was found at {redacted(str(found.get('url') or found.get('path')))}, not on {source.url}.",
                why="A package that a source claims comes from there alone.",
                hint="Take it out of the pages and folders that find-links names.",
            )
        file = file or _file_name(found)
        sha256 = found["hashes"].get("sha256")
        return LockedPackage(
            name=name,
            version=str(entry["version"]),
            file=file,
            sha256=None if sha256 == stand_in_hash(file) else sha256,
            size=found.get("size"),
            source=source.url if source is not None else None,
        )


def _environment(config: PipConfig, router: Router | None) -> dict[str, str | None]:
    environment = uv_environment() | uv_index_environment(
        replace(config, extra_index_urls=(), find_links=()), UvSettings()
    )
    if router is not None:
        direct = [os.environ.get(name) for name in ("NO_PROXY", "no_proxy")]
        environment |= dict.fromkeys(("NO_PROXY", "no_proxy"), ",".join(filter(None, [*direct, "127.0.0.1"])))
    return environment


def _preferences(packages: Iterable[LockedPackage]) -> str:
    entries = "".join(f'[[packages]]\nname = "{item.name}"\nversion = "{item.version}"\n' for item in packages)
    return f'lock-version = "1.0"\ncreated-by = "envkit"\n{entries}'


def _file_name(file: Mapping[str, Any]) -> str:
    place = file.get("url") or file.get("path") or ""
    return str(file.get("name") or unquote(urlsplit(place).path.rpartition("/")[2]))


def _without_claimed(links: Collection[str], spec: Spec, folder: Path) -> tuple[str, ...]:
    """find-links without the files of packages that a source claims: these come from their source alone."""
    kept = []
    for number, link in enumerate(links):
        path = local_path(link)
        if path is None or not path.is_dir() or not spec.sources:
            kept.append(link)
            continue
        others = folder / f"links{number}"
        others.mkdir()
        for file in path.iterdir():
            if file.suffix in {".whl", ".gz", ".zip"} and spec.source_of(_project(file.name)) is None:
                _link(file, others / file.name)
        kept.append(str(others))
    return tuple(kept)


def _project(file: str) -> str:
    return file.partition("-")[0] if file.endswith(".whl") else file.rpartition("-")[0]


def _link(file: Path, place: Path) -> None:
    try:
        place.symlink_to(file.absolute())
    except OSError:  # Windows without the right to
        shutil.copy2(file, place)
