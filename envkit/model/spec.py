"""Specs: hand-written YAML files that say what an environment shall hold (docs/spec-and-lock.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from packaging.utils import canonicalize_name

from envkit.model.addresses import index_address
from envkit.model.conda_record import channels
from envkit.model.digest import canonical_sha256
from envkit.model.fields import Fields, build_cuda, describe, is_number, number_error, toolkit_release
from envkit.model.names import VersionName
from envkit.model.spec_packages import check_packages
from envkit.model.yamltext import parse_yaml, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from envkit.model.yamltext import Path, YamlDocument

SCHEMA = 1
PLATFORMS = ("linux-64", "linux-aarch64", "osx-64", "osx-arm64", "win-64")
INSTALLERS = ("pip", "conda")
_COMMON = {
    "schema",
    "name",
    "summary",
    "python",
    "installer",
    "cuda",
    "packages",
    "toolkit",
    "platforms",
    "library_path",
    "host_compiler",
}
_KEYS = {"pip": _COMMON | {"sources", "sdist"}, "conda": _COMMON | {"channels"}}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Source:
    """A package index for certain packages, and for them alone.

    Attributes:
        url: its address without a slash at the end; https, http or file.
        packages: canonical names, or patterns with ``*``.
        platforms: conda's names of the platforms that it counts for; empty: for all. PyPI's own wheels of torch are
            CUDA builds on Linux and CPU builds on Windows, so that one of the two has to come from elsewhere.
    """

    url: str
    packages: tuple[str, ...]
    platforms: tuple[str, ...] = ()

    def claims(self, name: str) -> bool:
        """Whether the package ``name`` (canonical) comes from here."""
        return any(fnmatchcase(name, pattern) for pattern in self.packages)


@dataclass(frozen=True, slots=True)
class Spec:
    """What is wanted.

    Attributes:
        name: the spec's name, as in ``envkit create NAME``.
        python: version, "3.9" or "3.9.18".
        installer: "pip" or "conda".
        cuda: build CUDA such as "11.3", or None for a CPU build.
        packages: requirements (pip) or MatchSpecs (conda), as written.
        sources: for pip, in the order of the file; no package is claimed by two.
        channels: for conda.
        toolkit: release of the toolkit that activation switches to, or None: no switching.
        platforms: conda's names of the platforms that the lock shall serve.
        sdist: canonical names of packages that may come without a wheel.
        library_path: whether activation also puts the toolkit's libraries on LD_LIBRARY_PATH.
        host_compiler: whether activation names an older gcc where the system's own is too new for the toolkit.
        sha256: digest of the content; comments and the order of keys do not count.
        path: the file, as the user named it.
    """

    name: str
    summary: str | None
    python: str
    installer: str
    cuda: str | None
    packages: tuple[str, ...]
    sources: tuple[Source, ...]
    channels: tuple[str, ...]
    toolkit: str | None
    platforms: tuple[str, ...]
    sdist: tuple[str, ...]
    library_path: bool
    host_compiler: bool
    sha256: str
    path: str

    @property
    def environment_name(self) -> str | None:
        """The version name of the environment, or None when torch is not pinned in the spec."""
        torch = self.torch_version
        return None if torch is None else str(VersionName(torch.split("+")[0], self.cuda, self.python))

    @property
    def torch_version(self) -> str | None:
        """The version that the spec pins torch to, local label included; None where it does not."""
        for text in self.packages:
            found = re.match(r"(?:torch|pytorch)\s*={1,2}\s*([0-9][^\s,;=]*)", text)
            if found is not None:
                return found.group(1).removesuffix(".*")
        return None

    def on(self, platform: str) -> Spec:
        """The spec as it counts for one platform: with the sources for it alone."""
        kept = tuple(source for source in self.sources if not source.platforms or platform in source.platforms)
        return self if kept == self.sources else replace(self, sources=kept)

    def source_of(self, name: str) -> Source | None:
        """The source that claims a package, or None for the default index."""
        canonical = canonicalize_name(name)
        return next((source for source in self.sources if source.claims(canonical)), None)


def parse_spec(text: str, path: str) -> Spec:
    """Read a spec.

    Args:
        text: the file's content.
        path: the file as the user named it, for messages.

    Raises:
        InvalidFileError: anything in it is wrong; names file, line and what to write.
    """
    return spec_of(parse_yaml(text, path))


def spec_of(document: YamlDocument) -> Spec:
    """Read a spec from the YAML document that it is.

    Raises:
        InvalidFileError: anything in it is wrong; names file, line and what to write.
    """
    if not isinstance(document.data, dict):
        raise document.error((), f"a spec is a mapping, this file holds {describe(document.data)}.")
    _refuse_numbers(document, document.data, ())
    installer = _installer(document)
    fields = Fields(document, (), _KEYS[installer])
    fields.schema(SCHEMA)
    name = fields.text("name")
    if _NAME.fullmatch(name) is None:
        raise fields.error("name", f"name: {name!r} may hold letters, digits, '.', '_' and '-' only.")
    python, cuda = fields.version("python"), build_cuda(fields)
    packages = fields.texts("packages")
    if not packages:
        raise fields.error("packages", "packages: the list is empty.", hint="Name at least torch.")
    spec = Spec(
        name=name,
        summary=fields.note("summary"),
        python=python,
        installer=installer,
        cuda=cuda,
        packages=packages,
        sources=_sources(fields),
        channels=_channels(fields) if installer == "conda" else (),
        toolkit=toolkit_release(fields, cuda),
        platforms=_platforms(fields),
        sdist=tuple(canonicalize_name(item) for item in fields.texts("sdist")) if installer == "pip" else (),
        library_path=fields.flag("library_path"),
        host_compiler=fields.flag("host_compiler", default=True),
        sha256=canonical_sha256(plain(document.data)),
        path=document.source,
    )
    check_packages(spec, fields)
    return spec


def _refuse_numbers(document: YamlDocument, value: object, path: Path) -> None:
    """Look for unquoted versions before anything else: what YAML made of them hides every other mistake."""
    if isinstance(value, dict):
        for key, item in value.items():
            if (*path, key) != ("schema",):
                _refuse_numbers(document, item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_numbers(document, item, (*path, index))
    elif is_number(value):
        raise number_error(document, path)


def _installer(document: YamlDocument) -> str:
    data: dict[str, Any] = document.data
    value = data.get("installer")
    if value not in INSTALLERS:
        found = "the key 'installer' is missing" if "installer" not in data else f"installer: found {describe(value)}"
        raise document.error(("installer",), f"{found}.", hint="Write installer: pip or installer: conda.")
    other = {"pip": ("channels", "conda"), "conda": ("sources", "pip")}[str(value)]
    if other[0] in data:
        raise document.error(
            (other[0],),
            f"installer is {value}, but {other[0]!r} belongs to {other[1]}.",
            why="One environment has one installer: mixing the two is what breaks such environments most often.",
            hint=f"Remove {other[0]!r}, or make it a spec with installer: {other[1]}.",
        )
    packages = data.get("packages")
    for index, item in enumerate(packages if isinstance(packages, list) else ()):
        if isinstance(item, dict):
            raise document.error(
                ("packages", index),
                "packages: a list inside the list of packages names packages for a second installer.",
                why="One environment has one installer: mixing the two is what breaks such environments most often.",
                hint="Name all packages for the spec's own installer.",
            )
    return str(value)


def _platforms(fields: Fields) -> tuple[str, ...]:
    platforms = _known_platforms(fields)
    if not platforms:
        raise fields.error("platforms", "platforms: name at least one.", hint=f"Known: {', '.join(PLATFORMS)}.")
    return platforms


def _known_platforms(fields: Fields) -> tuple[str, ...]:
    platforms = fields.texts("platforms")
    for index, platform in enumerate(platforms):
        if platform not in PLATFORMS:
            raise fields.document.error(
                (*fields.path, "platforms", index),
                f"unknown platform {platform!r}.",
                hint=f"Known: {', '.join(PLATFORMS)}.",
            )
    return platforms


def _channels(fields: Fields) -> tuple[str, ...]:
    """The channels of a conda spec, in the order of their priority; the spec alone decides, never the machine."""
    named = channels(fields)
    if not named:
        raise fields.error(
            "channels",
            "channels: name at least one.",
            why="The channels of a machine's .condarc do not count, so that a spec gives the same everywhere.",
            hint="Write channels: [conda-forge].",
        )
    return named


def _sources(fields: Fields) -> tuple[Source, ...]:
    sources = []
    for path, _item in fields.items("sources") if "sources" in fields else ():
        entry = Fields(fields.document, path, {"url", "packages", "platforms"})
        url = index_address(entry, "url").rstrip("/")
        names = tuple(canonicalize_name(name) for name in entry.texts("packages"))
        if not names:
            raise entry.error("packages", "packages: name the packages that come from this source.")
        sources.append(Source(url, names, _known_platforms(entry)))
    _check_claimed_once(sources, fields)
    return tuple(sources)


def _check_claimed_once(sources: Iterable[Source], fields: Fields) -> None:
    seen: list[Source] = []
    for source in sources:
        for name in source.packages:
            others = (earlier for earlier in seen if earlier.claims(name) and _meet(earlier, source))
            other = next(others, None)
            if other is not None and other.url != source.url:
                raise fields.error(
                    "sources",
                    f"sources: {name} is claimed by {other.url} and by {source.url}.",
                    why="One package is never looked for in two indexes.",
                    hint="Name it under one of them.",
                )
        seen.append(source)


def _meet(one: Source, other: Source) -> bool:
    """Whether there is a platform that both sources count for."""
    return not one.platforms or not other.platforms or bool({*one.platforms} & {*other.platforms})
