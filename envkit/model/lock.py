"""Locks: generated YAML files that say exactly which files give an environment (docs/spec-and-lock.md)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from envkit.model.additions import KEYS as _KEYS_OF_ADDITIONS
from envkit.model.additions import NOTHING_ADDED, Additions, parse_additions
from envkit.model.addresses import index_address
from envkit.model.digest import canonical_sha256
from envkit.model.fields import Fields, build_cuda, describe, toolkit_release
from envkit.model.locked import check_known, locked_file, locked_needs
from envkit.model.names import VersionName
from envkit.model.spec import INSTALLERS, PLATFORMS
from envkit.model.yamltext import parse_yaml, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from envkit.model.yamltext import Path, YamlDocument

SCHEMA = 1
_KEYS = {
    "schema",
    "spec",
    "spec_sha256",
    "created_by",
    "installer",
    "python",
    "cuda",
    "toolkit",
    "library_path",
    "platforms",
    "drift",
    *_KEYS_OF_ADDITIONS,
}
_PACKAGE_KEYS = {"name", "version", "source", "file", "sha256", "size", "known"}
_PLATFORM_KEYS = {"needs", "packages", "base"}
_SHA256_DIGITS = 64


@dataclass(frozen=True, slots=True)
class LockedPackage:
    """One file of an environment.

    Attributes:
        name: the project's canonical name.
        version: its version, local label included.
        file: name of the wheel (or sdist).
        sha256: 64 hexadecimal digits, or None: the hash that the source states is taken at creation.
        size: in bytes, or None where it is not known.
        source: address of the index it comes from, or None for the user's default index.
        known: how well the hash is known where that is not from the index itself: "single", "confirmed".
    """

    name: str
    version: str
    file: str
    sha256: str | None
    size: int | None = None
    source: str | None = None
    known: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The entry as it stands in a lock file."""
        entry: dict[str, Any] = {"name": self.name, "version": self.version}
        if self.source is not None:
            entry["source"] = self.source
        entry |= {"file": self.file, "sha256": self.sha256}
        if self.size is not None:
            entry["size"] = self.size
        if self.known is not None:
            entry["known"] = self.known
        return entry


@dataclass(frozen=True, slots=True)
class Drift:
    """A package whose installed version is not the locked one; None means absent."""

    name: str
    locked: str | None
    installed: str | None

    def __str__(self) -> str:
        locked = f"locked {self.locked}" if self.locked is not None else "not in the lock"
        return f"{self.name} {self.installed or 'is missing'} ({locked})"


@dataclass(frozen=True, slots=True)
class LockedPlatform:
    """What one platform needs and gets.

    Attributes:
        needs: facts about the machine, each a mapping with its values and ``known``: driver, compute_capability, glibc.
        packages: the files of the installer, by name.
        base: conda records of a conda prefix; empty for venvs.
    """

    packages: tuple[LockedPackage, ...]
    needs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    base: tuple[Mapping[str, Any], ...] = ()


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
        platforms: by conda's platform name.
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
    library_path: bool = False
    drift: tuple[Drift, ...] = ()
    additions: Additions = NOTHING_ADDED
    path: str = ""

    def environment_name(self, platform: str) -> str | None:
        """The version name of the environment on ``platform``, or None where torch is not in the lock."""
        torch = self.package(platform, "torch")
        if torch is None:
            return None
        return str(VersionName(torch.version.split("+")[0], self.cuda, self.python))

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
        return canonical_sha256([*content, [dict(record) for record in found.base]])

    def same_files(self, other: Lock, platform: str) -> bool:
        """Whether ``other`` gives the same environment, a hash that was not known before it was made aside."""
        mine, its = self.platforms.get(platform), other.platforms.get(platform)
        if mine is None or its is None or len(mine.packages) != len(its.packages):
            return False
        ordered = (sorted(found.packages, key=lambda item: item.name) for found in (mine, its))
        for one, two in zip(*ordered, strict=True):
            known = one.sha256 is not None and two.sha256 is not None
            if known and one.sha256 != two.sha256:
                return False
        return self._without_hashes(platform).digest(platform) == other._without_hashes(platform).digest(platform)

    def _without_hashes(self, platform: str) -> Lock:
        found = self.platforms[platform]
        packages = tuple(replace(item, sha256=None) for item in found.packages)
        return replace(self, platforms={platform: replace(found, packages=packages)})

    def with_packages(self, platform: str, packages: tuple[LockedPackage, ...]) -> Lock:
        """This lock with other package entries for ``platform``, and that platform alone."""
        return replace(self, platforms={platform: replace(self.platforms[platform], packages=packages)})


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
        library_path=fields.flag("library_path"),
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
    packages = tuple(_package(document, item_path) for item_path, _ in fields.items("packages"))
    seen: set[str] = set()
    for index, package in enumerate(packages):
        if package.name in seen:
            raise document.error((*path, "packages", index), f"{package.name} is locked twice.")
        seen.add(package.name)
    needs = locked_needs(document, (*path, "needs")) if "needs" in fields else {}
    base = tuple(_record(document, item_path) for item_path, _ in fields.items("base"))
    if not packages and (installer == "pip" or not base):
        raise document.error(
            path,
            f"the lock holds no packages for {name}.",
            why="It would give an empty environment.",
            hint="Make the lock again with `envkit lock`.",
        )
    return LockedPlatform(packages=packages, needs=needs, base=base)


def _record(document: YamlDocument, path: Path) -> Mapping[str, Any]:
    """A conda record of the base, taken as it is."""
    record = document.at(path)
    if not isinstance(record, dict):
        raise document.error(path, f"base: expected a mapping, found {describe(record)}.")
    return {key: plain(value) for key, value in record.items()}


def _package(document: YamlDocument, path: Path) -> LockedPackage:
    fields = Fields(document, path, _PACKAGE_KEYS)
    name, version, file = locked_file(fields)
    package = LockedPackage(
        name=name,
        version=version,
        file=file,
        sha256=fields.optional_text("sha256"),
        size=fields.optional_integer("size"),
        source=index_address(fields, "source") if fields.optional_text("source") is not None else None,
        known=check_known(fields),
    )
    if package.sha256 is None:
        if not (package.source or "").startswith("https:"):
            raise fields.error(
                "sha256",
                f"{package.name}: a file without sha256 must come from a named https source.",
                why="Without a hash only the source's own statement, over a secured connection, says what the file is.",
                hint="Run `envkit lock` again, or write the hash.",
            )
    elif len(package.sha256) != _SHA256_DIGITS or set(package.sha256) - set("0123456789abcdef"):
        raise fields.error("sha256", f"sha256: {package.sha256!r} is not 64 hexadecimal digits in lower case.")
    return package


def _drift(document: YamlDocument, path: Path) -> Drift:
    fields = Fields(document, path, {"name", "locked", "installed"})
    return Drift(fields.text("name"), fields.optional_text("locked"), fields.optional_text("installed"))
