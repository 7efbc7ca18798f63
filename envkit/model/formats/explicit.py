"""conda's explicit lists: ``@EXPLICIT`` and one address of a package per line, with or without its hash.

Read and written as conda does: https://github.com/conda/conda, conda/misc.py; CEP 23.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from envkit import __version__
from envkit.errors import InvalidFileError
from envkit.model.formats.addresses import public_address
from envkit.model.formats.parts import (
    BASE_ROOTS,
    BESIDE_PYTHON,
    ForeignLock,
    MixedFileError,
    Parts,
    check_named_once,
    conda_part,
    names_needed,
    pip_part,
)
from envkit.model.spec import PLATFORMS
from envkit.model.yamltext import YamlDocument

if TYPE_CHECKING:
    from collections.abc import Iterable

    from envkit.model.conda_record import CondaRecord
    from envkit.model.locked import LockedPackage

MARKER = "@EXPLICIT"
_MARKER_LINE = re.compile(r"^\s*@EXPLICIT\s*$", re.MULTILINE)
_PIP_LINE = re.compile(r"#\s*pip\s+(?P<name>\S+)\s+@\s+(?P<url>\S+)")
"""What conda-lock and micromamba write and read for pip's packages; to conda it is a comment."""
_PLATFORM = re.compile(r"#\s*platform:\s*(\S+)\s*")
_HASH = re.compile(r"(?P<md5>[0-9a-f]{32})|(?:sha256:)?(?P<sha256>[0-9a-f]{64})")


def is_explicit(text: str) -> bool:
    """Whether a text is such a list: by its marker, whatever the file is called."""
    return _MARKER_LINE.search(text) is not None


def read_explicit(text: str, source: str, platform: str) -> ForeignLock:
    """The packages of a list.

    Args:
        text: the file's content.
        source: the file as the user named it.
        platform: this machine's, for a list that holds packages for any platform and does not say which.

    Raises:
        InvalidFileError: a line is no address of a package, or packages are for several platforms.
    """
    lines = [line.strip() for line in text.splitlines()]
    document = YamlDocument(lines, source, {(index,): index + 1 for index in range(len(lines))})
    records = [
        _record(document, index, line)
        for index, line in enumerate(lines)
        if line and not line.startswith("#") and line != MARKER
    ]
    wheels = [
        _wheel(document, index, match) for index, line in enumerate(lines) if (match := _PIP_LINE.fullmatch(line))
    ]
    if not records:
        raise InvalidFileError(source, "the list holds no packages.", why="It would give an empty environment.")
    check_named_once(source, records)
    check_named_once(source, wheels)
    stated = next((match[1] for line in lines if (match := _PLATFORM.fullmatch(line))), None)
    found = _platform_of(records, stated, source) or platform
    if found not in PLATFORMS:
        raise InvalidFileError(
            source, f"the list is for {found}, which envkit does not know.", hint=f"Known: {', '.join(PLATFORMS)}."
        )
    more = {record.name for record in records} - BASE_ROOTS - BESIDE_PYTHON
    if wheels and more:
        raise MixedFileError(source, more, (item.name for item in wheels))
    return ForeignLock("an @EXPLICIT list", {found: Parts(tuple(records), tuple(wheels))})


def _record(document: YamlDocument, index: int, line: str) -> CondaRecord:
    url, _, fragment = line.partition("#")
    stated: dict[str, Any] = {}
    if fragment:
        found = _HASH.fullmatch(fragment)
        if found is None:
            raise document.error((index,), f"{fragment!r} is neither an MD5 sum nor a sha256.")
        stated = found.groupdict()
    return conda_part(document, (index,), url, stated)


def _wheel(document: YamlDocument, index: int, match: re.Match[str]) -> LockedPackage:
    url, _, digest = match["url"].partition("#sha256=")
    file = unquote(urlsplit(url).path.rpartition("/")[2])
    stated = {"name": match["name"], "version": file.split("-")[1] if "-" in file else None, "sha256": digest or None}
    return pip_part(document, (index,), url, stated)


def _platform_of(records: Iterable[CondaRecord], stated: str | None, source: str) -> str | None:
    """The platform of the packages, else the one in the list's head; noarch ones go with any."""
    subdirs = sorted({record.subdir for record in records} - {"noarch"})
    if len(subdirs) > 1:
        raise InvalidFileError(source, f"the list mixes packages for {' and '.join(subdirs)}.")
    return subdirs[0] if subdirs else stated


def explicit_text(records: Iterable[CondaRecord], platform: str) -> str:
    """A list that conda, mamba and py-rattler read; what a package needs stands before it."""
    lines = [
        "# This file may be used to create an environment using:",
        "# $ conda create --name <env> --file <this file>",
        f"# platform: {platform}",
        f"# created-by: envkit {__version__}",
        MARKER,
    ]
    return "\n".join([*lines, *(_line(record) for record in needed_first(records))]) + "\n"


def _line(record: CondaRecord) -> str:
    digest = f"sha256:{record.sha256}" if record.sha256 else record.md5
    return public_address(record) + (f"#{digest}" if digest else "")


def needed_first(records: Iterable[CondaRecord]) -> list[CondaRecord]:
    """Records so that each stands after those it depends on, else by name; circles are cut somewhere."""
    by_name = {record.name: record for record in sorted(records, key=lambda item: item.name)}
    ordered: dict[str, CondaRecord] = {}
    for name in by_name:
        _visit(name, by_name, ordered)
    return list(ordered.values())


def _visit(name: str, by_name: dict[str, CondaRecord], ordered: dict[str, CondaRecord]) -> None:
    """Depth first, without recursion: chains of dependencies are long."""
    entered: set[str] = set()
    waiting = [(name, False)]
    while waiting:
        current, is_done = waiting.pop()
        if is_done:
            ordered[current] = by_name[current]
        elif current not in ordered and current not in entered:
            entered.add(current)
            waiting.append((current, True))
            needs = names_needed(by_name[current]) - ({"pip"} if current == "python" else set())  # conda adds it there
            waiting += [(item, False) for item in sorted(needs, reverse=True) if item in by_name]
