"""CUDA toolkits on this machine, found by looking at folders; nothing is run where a file tells the version."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from envkit.errors import UsageError
from envkit.model.texts import check_path
from envkit.model.toolkit import Toolkit, means
from envkit.probes.cudnn import find_cudnn
from envkit.probes.toolkit_files import environment_of, has_headers, has_nvcc, has_runtime, is_system
from envkit.probes.toolkit_places import USUAL_ROOTS, Search, places
from envkit.probes.toolkit_version import read_version, release_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Note:
    """Something odd about a place where a toolkit is, or should be.

    Attributes:
        path: the place.
        found_via: what led to it.
        message: what and why, a whole sentence.
    """

    path: Path
    found_via: str
    message: str

    def to_json(self) -> dict[str, str]:
        """The facts that ``--json`` shows."""
        return {"path": str(self.path), "found_via": self.found_via, "message": self.message}


@dataclass(frozen=True, slots=True)
class Found:
    """All toolkits, newest first, and what was odd on the way.

    Attributes:
        toolkits: each once, however many names and links lead to it.
        notes: in the order of the search.
    """

    toolkits: tuple[Toolkit, ...]
    notes: tuple[Note, ...]


class Looked(NamedTuple):
    """A look at one folder.

    Attributes:
        toolkit: in it, or None.
        why_not: why there is none, what can stand behind the folder's name; empty where there is one.
        problems: what was wrong with the files of a toolkit.
        is_broken: whether there is something that cannot be followed or opened.
    """

    toolkit: Toolkit | None
    why_not: str = ""
    problems: tuple[str, ...] = ()
    is_broken: bool = False


def find_toolkits(
    environ: Mapping[str, str] | None = None, roots: Sequence[str | Path] = USUAL_ROOTS
) -> tuple[Toolkit, ...]:
    """All toolkits of this machine, newest first, each once however many names and links lead to it.

    Of the toolkits in environments only those of the active ones are among them: see ``search_toolkits``.

    Args:
        environ: where ``CUDA_PATH``, ``PATH`` and their like are looked up, by default this process's environment.
        roots: folders that may hold ``cuda*`` folders.

    Raises:
        InvalidFileError: config.yaml, or the list of folders that were added, is damaged.
    """
    return search_toolkits(environ, roots).toolkits


def search_toolkits(
    environ: Mapping[str, str] | None = None,
    roots: Sequence[str | Path] = USUAL_ROOTS,
    prefixes: Iterable[Path] = (),
) -> Found:
    """The same, with what was odd, and with the toolkits among the packages of ``prefixes``."""
    given = os.environ if environ is None else environ
    found: dict[str, Toolkit] = {}
    notes: list[Note] = []
    for place in places(Search(given, tuple(map(Path, roots)), tuple(prefixes))):
        if place.problem is not None:
            notes.append(Note(place.path, place.found_via, f"{place.path} {place.problem}."))
            continue
        target = os.path.normcase(os.path.realpath(place.path))
        if target in found:
            continue
        looked = look_at(place.path, place.found_via)
        if looked.toolkit is not None:
            found[target] = looked.toolkit
            notes += [Note(place.path, place.found_via, problem) for problem in looked.problems]
        elif place.is_expected or looked.is_broken:
            notes.append(Note(place.path, place.found_via, f"{place.path} {looked.why_not}."))
    ordered = sorted(found.values(), key=lambda toolkit: _version_key(toolkit.version), reverse=True)
    return Found(tuple(ordered), tuple(dict.fromkeys(notes)))


def toolkit_at(path: str | Path, found_via: str) -> Toolkit | None:
    """The toolkit in the folder ``path``, or None when there is none: no nvcc, no headers, no runtime library.

    The path is made absolute and normalised, but links are kept: ``/usr/local/cuda-11.3`` stays what people call it.
    """
    return look_at(path, found_via).toolkit


def look_at(path: str | Path, found_via: str) -> Looked:
    """The same, with the reason where there is none."""
    folder = Path(os.path.abspath(path))  # noqa: PTH100 - Path.resolve would follow links
    try:
        os.stat(os.path.join(folder, "."))  # noqa: PTH116,PTH118 - Path drops the point, for which it has to be open
    except OSError as error:
        return _unreachable(folder, error)
    if is_system(folder):
        why = "is no toolkit of its own: its bin is the system's, and would bring all of the system's programs to the "
        return Looked(None, why + "front of PATH")
    is_compiler, is_header = has_nvcc(folder), has_headers(folder)
    if not (is_compiler or is_header or has_runtime(folder)):
        return Looked(None, "holds no CUDA toolkit: neither bin/nvcc, nor CUDA's headers, nor its runtime library")
    version, problems = read_version(folder)
    release = None if version is None else release_of(version)
    toolkit = Toolkit(
        version,
        release,
        folder,
        found_via,
        has_nvcc=is_compiler,
        has_headers=is_header,
        cudnn=find_cudnn(folder),
        environment=environment_of(folder),
    )
    return Looked(toolkit, problems=problems)


def can_switch(toolkit: Toolkit) -> bool:
    """Whether activation can switch to it: its ``bin`` has to go into PATH."""
    try:
        check_path(str(toolkit.path))
    except UsageError:
        return False
    return os.path.isdir(toolkit.path / "bin")  # noqa: PTH112 - no error in a closed folder


def choose_toolkit(wanted: str, toolkits: Sequence[Toolkit]) -> Toolkit | None:
    """The toolkit that an environment gets which names only a version: ``11.3``, or ``11.3.1``.

    Complete ones come before partial ones, those that can compile before those that cannot, then the first counts. One
    that is a part of an environment is not taken, since it goes when that environment goes, unless the user has added
    it. A full version is compared as far as that of the toolkit is known.
    """
    matching = [toolkit for toolkit in toolkits if toolkit.is_shared and _matches(toolkit.version, wanted)]
    return max(matching, key=lambda toolkit: (toolkit.is_complete, toolkit.has_nvcc), default=None)


def _matches(version: str | None, wanted: str) -> bool:
    if version is None or "." not in wanted:
        return False
    return means(wanted, version) or means(version, wanted)


def _unreachable(folder: Path, error: OSError) -> Looked:
    if isinstance(error, PermissionError):
        return Looked(None, "cannot be looked into: you have no permission for it", is_broken=True)
    if os.path.exists(folder):  # noqa: PTH110 - no error for a name that is too long
        return Looked(None, "is a file, and no folder")
    if not os.path.islink(folder):  # noqa: PTH114 - likewise
        return Looked(None, "is not there")
    if error.errno == errno.ELOOP:
        return Looked(None, "is a link that leads in a circle", is_broken=True)
    return Looked(None, f"is a link to {os.readlink(folder)}, which is not there", is_broken=True)  # noqa: PTH115


def _version_key(version: str | None) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")) if version is not None else ()
