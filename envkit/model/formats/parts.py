"""What a file of another tool holds for a platform, checked as if it stood in a lock."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from envkit.errors import ExitCode, InvalidFileError
from envkit.model.addresses import has_credentials
from envkit.model.conda_record import CondaRecord, conda_record
from envkit.model.formats.addresses import is_secret, package_address
from envkit.model.locked import LockedPackage, locked_package
from envkit.model.yamltext import YamlDocument

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from envkit.model.yamltext import Path

_UNKNOWN_SHA256 = "0" * 64
_OF_A_DEFAULT_INDEX = re.compile(r"/packages/[0-9a-f]{2}/[0-9a-f]{2}/[0-9a-f]{60}/[^/]+", re.ASCII)
"""Where PyPI and its mirrors keep a file: by a hash of it. No other index does."""
_TORCH_HOST = re.compile(r"https://download[a-z0-9-]*\.pytorch\.org(?=/whl/)", re.ASCII)
"""PyTorch's index names its files at several hosts (https://download.pytorch.org/whl/cu128/torch/)."""
_NAME_IN_SPEC = re.compile(r"(?:[^:\s]+::)?([A-Za-z0-9_][A-Za-z0-9._-]*)", re.ASCII)
BASE_ROOTS = frozenset({"python", "pip", "setuptools", "wheel", "python_abi"})
"""Python, and what installs packages with it; conda-forge's pip needs the other two."""

BESIDE_PYTHON = frozenset(
    "_libgcc_mutex _openmp_mutex _x86_64-microarch-level bzip2 ca-certificates expat icu "  # noqa: SIM905 - 38 words
    "ld_impl_linux-64 "
    "ld_impl_linux-aarch64 libcxx libexpat libffi libgcc libgcc-ng libgomp liblzma libmpdec libnsl libsqlite libstdcxx "
    "libstdcxx-ng libuuid libxcrypt libzlib ncurses openssl readline sqlite tk tzdata ucrt vc vc14_runtime vcomp14 "
    "vs2015_runtime xz zlib zstd".split()
)
"""What Python itself brings from conda-forge and conda's default channels, on any platform: files without
dependencies list it all (https://github.com/conda-forge/python-feedstock)."""


class MixedFileError(InvalidFileError):
    """A file takes packages of conda's and of pip's."""

    exit_code = ExitCode.INSTALLER_RULE

    def __init__(self, path: str, conda: Iterable[str], pip: Iterable[str], *, line: int | None = None) -> None:
        self.conda, self.pip = sorted(conda), sorted(pip)
        super().__init__(
            path,
            f"it mixes installers: {_named(self.conda)} from conda and {_named(self.pip)} from pip.",
            line=line,
            why="One environment has one installer: mixing the two is what breaks such environments most often. "
            "Beside pip's packages conda may only bring Python, pip and what they need.",
            hint="Write a spec that names all packages for one of them: docs/spec-and-lock.md shows how; then "
            "`envkit create FILE.yaml`.",
        )


def _named(names: list[str], told: int = 4) -> str:
    return ", ".join(names[:told]) + (f" and {len(names) - told} more" if len(names) > told else "")


@dataclass(frozen=True, slots=True)
class Parts:
    """The packages for one platform.

    Attributes:
        conda: records; ``sha256`` is empty and ``size`` None where the file does not state them.
        pip: wheels.
    """

    conda: tuple[CondaRecord, ...] = ()
    pip: tuple[LockedPackage, ...] = ()


@dataclass(frozen=True, slots=True)
class ForeignLock:
    """What a file of another tool pins.

    Attributes:
        format: what it is, for people: "conda-lock.yml".
        platforms: by conda's name; those that envkit does not know are left out.
        notes: what in it does not count, for the user.
    """

    format: str
    platforms: Mapping[str, Parts]
    notes: tuple[str, ...] = ()


def names_needed(record: CondaRecord) -> set[str]:
    """Names of the packages that a record's MatchSpecs are for."""
    found = (_NAME_IN_SPEC.match(text) for text in record.depends)
    return {match[1] for match in found if match is not None}


def check_named_once(source: str, items: Iterable[CondaRecord | LockedPackage]) -> None:
    """Refuse a file that names a package twice.

    Raises:
        InvalidFileError: so.
    """
    seen: set[str] = set()
    for item in items:
        if item.name in seen:
            raise InvalidFileError(source, f"{item.name} is listed twice.")
        seen.add(item.name)


def beyond_base(records: Iterable[CondaRecord]) -> set[str]:
    """Names of the packages that are neither Python or pip, nor anything that these need."""
    needed = {record.name: names_needed(record) for record in records}
    reached: set[str] = set()
    waiting = set(BASE_ROOTS & needed.keys())
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting |= (needed[name] & needed.keys()) - reached
    return needed.keys() - reached


def check_unmixed(document: YamlDocument, parts: Parts) -> None:
    """Refuse what two installers would have to install.

    Raises:
        MixedFileError: there are pip packages, and conda packages that are more than the Python for them.
    """
    more = beyond_base(parts.conda) if parts.pip else set()
    if more:
        raise MixedFileError(document.source, more, (item.name for item in parts.pip))


def conda_part(document: YamlDocument, path: Path, url: str, stated: Mapping[str, Any]) -> CondaRecord:
    """The record of a conda package at ``path`` of a file.

    Args:
        document: the file.
        path: where the package stands in it.
        url: its address.
        stated: fields of a record that the file states; the rest comes from the address.

    Raises:
        InvalidFileError: it is no package of a channel, or a field is none.
    """
    if is_secret(url):
        raise _secret(document, path)
    found = package_address(url)
    if found is None:
        raise document.error(
            path,
            f"{url!r} is no conda package of a channel.",
            why="envkit takes packages that a channel serves: https://HOST/CHANNEL/SUBDIR/NAME-VERSION-BUILD.conda.",
            hint="A package that was built here has to be put into a channel first.",
        )
    digits = re.search(r"\d+$", found.build)
    entry: dict[str, Any] = {
        "name": found.name,
        "version": found.version,
        "build": found.build,
        "channel": found.channel,
        "subdir": found.subdir,
        "file": found.file,
        "build_number": int(digits[0][:9]) if digits is not None else None,
        # as py-rattler guesses it: https://github.com/conda/rattler, crates/rattler_lock/src/utils/derived_fields.rs
        "noarch": ("python" if "py" in found.build else "generic") if found.subdir == "noarch" else None,
        **{key: value for key, value in stated.items() if value is not None},
    }
    digest = entry.get("sha256")
    record = conda_record(_entry(document, path, entry | {"sha256": digest or _UNKNOWN_SHA256}), ())
    return record if digest else replace(record, sha256="")


def pip_part(
    document: YamlDocument, path: Path, url: str, stated: Mapping[str, Any], *, index: str | None = ""
) -> LockedPackage:
    """The entry of a pip package at ``path`` of a file.

    Args:
        document: the file.
        path: where the package stands in it.
        url: of the wheel.
        stated: name, version and sha256 as the file has them.
        index: address of the index as the file states it; None for the default index, empty where it says nothing.

    Raises:
        InvalidFileError: it is no file of an index, or has no hash.
    """
    parts, name = urlsplit(url), stated.get("name")
    if parts.scheme not in {"http", "https", "file"}:
        raise document.error(
            path,
            f"{name}: {url!r} is no file of an index.",
            why="A folder, or a commit of a repository, holds something else tomorrow: it cannot be locked.",
            hint="Leave it out and add it afterwards: `envkit add ENV -e FOLDER`.",
        )
    if has_credentials(url):
        raise _secret(document, path)
    if stated.get("sha256") is None:
        raise document.error(
            path,
            f"{name}: the file states no sha256 for it.",
            why="A file that nothing vouches for is not installed.",
            hint="Make the file again with the tool that wrote it; newer ones state hashes.",
        )
    file = unquote(parts.path.rpartition("/")[2])
    source = source_of_url(url) if index == "" else index
    return locked_package(_entry(document, path, {**stated, "file": file, "source": source}), ())


def is_default_layout(url: str) -> bool:
    """Whether a file lies as those of the default index and its mirrors do."""
    return _OF_A_DEFAULT_INDEX.search(urlsplit(url).path) is not None


def is_torch_host(url: str) -> bool:
    """Whether a file lies at PyTorch's own index."""
    return _TORCH_HOST.match(url) is not None


def source_of_url(url: str) -> str | None:
    """The index that serves a file, by the file's address; None for the default index and its mirrors."""
    if is_default_layout(url):
        return None
    return _TORCH_HOST.sub("https://download.pytorch.org", url).rpartition("/")[0]


def _entry(document: YamlDocument, path: Path, entry: Mapping[str, Any]) -> YamlDocument:
    """An entry by itself, for the reader of locks; errors still name the line where it stands."""
    kept = {key: value for key, value in entry.items() if value is not None}
    return YamlDocument(kept, document.source, {(): document.line(path) or 1})


def _secret(document: YamlDocument, path: Path) -> InvalidFileError:
    return document.error(
        path,
        "the address of a package holds a user name, password or token.",
        why="Such files are shared; what stands in them is no secret.",
        hint="Take it out of the file; keep credentials in .condarc, netrc or a keyring.",
    )
