"""Locks: generated YAML files that say exactly which files give an environment (docs/spec-and-lock.md)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from envkit.model.additions import KEYS as _KEYS_OF_ADDITIONS
from envkit.model.additions import NOTHING_ADDED, Additions, parse_additions
from envkit.model.conda_record import CondaRecord, channels, conda_record
from envkit.model.digest import canonical_sha256
from envkit.model.fields import Fields, build_cuda, describe, toolkit_release
from envkit.model.locked import LockedPackage, locked_needs, locked_package
from envkit.model.names import VersionName
from envkit.model.spec import INSTALLERS, PLATFORMS
from envkit.model.yamltext import parse_yaml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from envkit.model.yamltext import Path, YamlDocument

SCHEMA = 1
CONDA_TORCH = "pytorch"
"""What torch is called in conda's channels."""
_KEYS = {
    "schema",
    "spec",
    "spec_sha256",
    "created_by",
    "installer",
    "python",
    "cuda",
    "toolkit",
    "channels",
    "library_path",
    "host_compiler",
    "platforms",
    "drift",
    *_KEYS_OF_ADDITIONS,
}
_PLATFORM_KEYS = {"needs", "packages", "base"}


@dataclass(frozen=True, slots=True)
class Drift:
    """A package whose installed version is not the locked one; None means absent.

    Attributes:
        name: of pip's or conda's package; a project may have another name in each.
        locked: the version in the lock; of conda's packages with the build, "1.26.4 py39_0".
        installed: likewise, in the environment.
        installer: whose package it is where that is not the environment's installer: "conda", "pip"; else None.
    """

    name: str
    locked: str | None
    installed: str | None
    installer: str | None = None

    def __str__(self) -> str:
        locked = f"locked {self.locked}" if self.locked is not None else "not in the lock"
        whose = f" of {self.installer}" if self.installer is not None else ""
        return f"{self.name} {self.installed or 'is missing'}{whose} ({locked})"

    def to_dict(self) -> dict[str, str | None]:
        """The entry in locks and in JSON output."""
        entry = {"name": self.name, "locked": self.locked, "installed": self.installed}
        return entry if self.installer is None else entry | {"installer": self.installer}


@dataclass(frozen=True, slots=True)
class LockedPlatform:
    """What one platform needs and gets.

    Attributes:
        needs: facts about the machine, each a mapping with its values and ``known``: driver, compute_capability, glibc.
        packages: pip's files; none with installer conda.
        base: conda's files: all there are with installer conda; Python and what it needs for pip in a conda prefix;
            none in venvs.
    """

    packages: tuple[LockedPackage, ...]
    needs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    base: tuple[CondaRecord, ...] = ()

    def record(self, name: str) -> CondaRecord | None:
        """The conda record of a package, or None."""
        return next((item for item in self.base if item.name == name), None)


@dataclass(frozen=True, slots=True)
class Lock:
    """What gives an environment, per platform.

    Attributes:
        spec: name of the spec it was made from.
        spec_sha256: digest of that spec's content, or None for a lock without one.
        created_by: envkit and resolver with their versions.
        installer: "pip" or "conda".
        python: "3.9".
        cuda: build CUDA, or None for a CPU build.
        toolkit: release that activation switches to, or None.
        library_path: whether activation sets LD_LIBRARY_PATH too.
        host_compiler: whether activation names an older gcc where the system's own is too new for the toolkit.
        platforms: by conda's platform name.
        channels: of the spec of a conda lock, by priority; none in a lock that was made of another tool's file.
        drift: in a snapshot's lock, what was installed otherwise.
        additions: in an environment's own lock, what was added to it.
        path: the file as the user named it, for messages.
    """

    spec: str
    spec_sha256: str | None
    created_by: str
    installer: str
    python: str
    cuda: str | None
    toolkit: str | None
    platforms: Mapping[str, LockedPlatform]
    channels: tuple[str, ...] = ()
    library_path: bool = False
    host_compiler: bool = True
    drift: tuple[Drift, ...] = ()
    additions: Additions = NOTHING_ADDED
    path: str = ""

    def environment_name(self, platform: str) -> str | None:
        """The version name of the environment on ``platform``, or None where torch is not in the lock."""
        version = self.torch_version(platform)
        return None if version is None else str(VersionName(version.split("+")[0], self.cuda, self.python))

    def torch_version(self, platform: str) -> str | None:
        """The version of torch on ``platform``, local label included, or None where it is not in the lock."""
        found = self.platforms.get(platform)
        if found is None:
            return None
        torch = self.package(platform, "torch") if self.installer == "pip" else found.record(CONDA_TORCH)
        return None if torch is None else torch.version

    def package(self, platform: str, name: str) -> LockedPackage | None:
        """The entry of a package, or None."""
        found = self.platforms.get(platform)
        return next((item for item in found.packages if item.name == name), None) if found else None

    def digest(self, platform: str) -> str:
        """sha256 of all that decides what is installed on ``platform``; needs and other platforms do not count."""
        found = self.platforms[platform]
        packages = sorted(
            [item.name, item.version, item.file, item.source or "", item.sha256 or ""] for item in found.packages
        )
        content = [self.installer, self.python, self.cuda, self.toolkit, self.library_path, packages]
        content.append(sorted(record.identity for record in found.base))
        return canonical_sha256(content if self.host_compiler else [*content, self.host_compiler])

    def same_files(self, other: Lock, platform: str) -> bool:
        """Whether ``other`` gives the same environment; what is settled at creation may be missing in one of them.

        That is a hash that the lock did not know, and the conda base of a pip environment.
        """
        mine, its = self.platforms.get(platform), other.platforms.get(platform)
        if mine is None or its is None or len(mine.packages) != len(its.packages):
            return False
        ordered = (sorted(found.packages, key=lambda item: item.name) for found in (mine, its))
        for one, two in zip(*ordered, strict=True):
            known = one.sha256 is not None and two.sha256 is not None
            if known and one.sha256 != two.sha256:
                return False
        has_base = self.installer == "conda" or (mine.base and its.base)
        one, two = (_settled_before(lock, platform, with_base=bool(has_base)) for lock in (self, other))
        return one.digest(platform) == two.digest(platform)

    def with_packages(self, platform: str, packages: tuple[LockedPackage, ...]) -> Lock:
        """This lock with other package entries for ``platform``, and that platform alone."""
        return replace(self, platforms={platform: replace(self.platforms[platform], packages=packages)})

    def with_base(self, platform: str, base: tuple[CondaRecord, ...]) -> Lock:
        """This lock with other conda records for ``platform``, and that platform alone."""
        return replace(self, platforms={platform: replace(self.platforms[platform], base=base)})


def _settled_before(lock: Lock, platform: str, *, with_base: bool) -> Lock:
    found = lock.platforms[platform]
    packages = tuple(replace(item, sha256=None) for item in found.packages)
    base = found.base if with_base else ()
    return replace(lock, platforms={platform: replace(found, packages=packages, base=base)})


def parse_lock(text: str, path: str) -> Lock:
    """Read a lock.

    Args:
        text: the file's content.
        path: the file as the user named it, for messages.

    Raises:
        InvalidFileError: anything in it is wrong.
    """
    return lock_of(parse_yaml(text, path))


def lock_of(document: YamlDocument) -> Lock:
    """Read a lock from the YAML document that it is.

    Raises:
        InvalidFileError: anything in it is wrong.
    """
    if not isinstance(document.data, dict):
        raise document.error((), f"a lock is a mapping, this file holds {describe(document.data)}.")
    fields = Fields(document, (), _KEYS)
    fields.schema(SCHEMA)
    installer = fields.text("installer")
    if installer not in INSTALLERS:
        raise fields.error("installer", f"installer: {installer!r} is neither pip nor conda.")
    platforms = fields.required("platforms")
    if not isinstance(platforms, dict) or not platforms:
        raise fields.error("platforms", "platforms: expected at least one platform.")
    parsed = {name: _platform(document, name, installer) for name in platforms}
    cuda = _cuda(fields, parsed)
    toolkit = toolkit_release(fields, cuda) if "toolkit" in fields else cuda
    return Lock(
        spec=fields.text("spec"),
        spec_sha256=fields.optional_text("spec_sha256"),
        created_by=fields.optional_text("created_by") or "",
        installer=installer,
        python=fields.version("python"),
        cuda=cuda,
        toolkit=toolkit,
        platforms=parsed,
        channels=channels(fields),
        library_path=fields.flag("library_path"),
        host_compiler=fields.flag("host_compiler", default=True),
        drift=tuple(_drift(document, item_path) for item_path, _ in fields.items("drift")),
        additions=parse_additions(document, fields),
        path=document.source,
    )


def _cuda(fields: Fields, platforms: Mapping[str, LockedPlatform]) -> str | None:
    """The build CUDA: as stated, or from torch's own label."""
    if "cuda" in fields:
        return build_cuda(fields)
    for platform in platforms.values():
        for package in platform.packages:
            label = package.version.partition("+")[2]
            if package.name == "torch" and label.startswith("cu") and label[2:].isdigit():
                return f"{label[2:-1]}.{label[-1]}"
    return None


def _platform(document: YamlDocument, name: str, installer: str) -> LockedPlatform:
    path: Path = ("platforms", name)
    if name not in PLATFORMS:
        raise document.error(path, f"unknown platform {name!r}.", hint=f"Known: {', '.join(PLATFORMS)}.")
    fields = Fields(document, path, _PLATFORM_KEYS)
    packages, base = _packages(document, fields, installer, name)
    needs = locked_needs(document, (*path, "needs")) if "needs" in fields else {}
    if not (packages if installer == "pip" else base):
        raise document.error(
            path,
            f"the lock holds no packages for {name}.",
            why="It would give an empty environment.",
            hint="Make the lock again with `envkit lock`.",
        )
    return LockedPlatform(packages=packages, needs=needs, base=base)


def _packages(
    document: YamlDocument, fields: Fields, installer: str, platform: str
) -> tuple[tuple[LockedPackage, ...], tuple[CondaRecord, ...]]:
    """pip's files and conda's; with installer conda these stand under ``packages``, else under ``base``."""
    of_packages, of_base = ([path for path, _ in fields.items(key)] for key in ("packages", "base"))
    if installer == "conda":
        of_packages, of_base = [], [*of_packages, *of_base]
    packages = tuple(locked_package(document, path) for path in of_packages)
    base = tuple(conda_record(document, path) for path in of_base)
    for paths, names in ((of_packages, [item.name for item in packages]), (of_base, [item.name for item in base])):
        for index, name in enumerate(names):
            if name in names[:index]:
                raise document.error(paths[index], f"{name} is locked twice.")
    for path, record in zip(of_base, base, strict=True):
        if record.subdir not in {platform, "noarch"}:
            raise document.error(path, f"{record.file} is for {record.subdir}, not {platform}.")
    return packages, base


def _drift(document: YamlDocument, path: Path) -> Drift:
    fields = Fields(document, path, {"name", "locked", "installed", "installer"})
    values = (fields.optional_text(key) for key in ("locked", "installed", "installer"))
    return Drift(fields.text("name"), *values)
