"""Finding specs: those that ship, by name, and files of the user's own."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from envkit import paths, resources
from envkit.compat.tables import version_key
from envkit.errors import InvalidFileError, NotFoundError, UsageError
from envkit.model.lock import Lock, lock_of, parse_lock
from envkit.model.lock_text import outline
from envkit.model.progress import Silent
from envkit.model.spec import Spec, parse_spec, spec_of
from envkit.model.yamltext import parse_yaml
from envkit.operations.environments import is_path, nearest, prefix_from

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.fit import FitCheck
    from envkit.model.progress import Progress
    from envkit.operations.machine import Machine

_LOCK_SUFFIX = ".lock.yaml"
_FILE_ENDS = (".yaml", ".yml", ".txt", ".lock")
"""Of specs and locks, and of other tools' files."""
_MAXIMUM_BYTES = 32 << 20
_GIVEN_OPEN = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""Files that whoever started envkit has opened for it."""


@dataclass(frozen=True, slots=True)
class SpecFile:
    """A spec and the file it stands in.

    Attributes:
        spec: its content.
        path: the file.
        is_shipped: whether it came with envkit.
        is_foreign: whether it is another tool's file.
    """

    spec: Spec
    path: Path
    is_shipped: bool
    is_foreign: bool = False

    @property
    def lock_path(self) -> Path:
        """Where its lock lies: beside it, ``X.yaml`` and ``X.lock.yaml``."""
        return self.path.with_name(self.path.name.removesuffix(self.path.suffix) + _LOCK_SUFFIX)

    @property
    def private_lock_path(self) -> Path:
        """Where its lock lies when the folder beside it cannot be written."""
        return paths.locks_dir() / f"{self.spec.name}-{self.spec.sha256[:8]}{_LOCK_SUFFIX}"


@dataclass(frozen=True, slots=True)
class SpecEntry:
    """A line of ``envkit specs``.

    Attributes:
        fits: None where it cannot be told, or was not asked for.
        why: what speaks against it, what keeps it from being told, or what may not work.
        telling: the checks that say so.
    """

    name: str
    environment: str | None
    summary: str | None
    installer: str
    cuda: str | None
    python: str
    locked: tuple[str, ...]
    fits: bool | None
    why: str | None = None
    telling: tuple[FitCheck, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """An entry of ``specs`` (docs/json.md)."""
        return {
            "name": self.name,
            "environment": self.environment,
            "summary": self.summary,
            "installer": self.installer,
            "cuda": self.cuda,
            "python": self.python,
            "locked": list(self.locked),
            "fits": self.fits,
            "why": self.why,
        }


def read_given_file(path: Path, shown: str) -> str:
    """The text of a file that the user named.

    It is opened once and read to a limit: a shell gives ``<(command)`` as a pipe below /dev/fd, which says all once.

    Raises:
        NotFoundError: there is no such file.
        InvalidFileError: it cannot be read as UTF-8 text, or is no file: a named pipe, a device.
    """
    try:
        is_given_open = str(path).startswith(_GIVEN_OPEN)
        if not is_given_open and path.exists() and not path.is_file() and not path.is_dir():
            raise InvalidFileError(shown, "this is a named pipe or a device, no file.")
        with path.open("rb") as file:
            data = file.read(_MAXIMUM_BYTES + 1)
        if len(data) > _MAXIMUM_BYTES:
            raise InvalidFileError(shown, f"the file is larger than {_MAXIMUM_BYTES >> 20} MiB.")
        return data.decode("utf-8-sig")
    except FileNotFoundError:
        raise NotFoundError(f"There is no file {shown}.") from None
    except UnicodeDecodeError as error:
        raise InvalidFileError(shown, "the file is not UTF-8 text.") from error
    except OSError as error:
        raise InvalidFileError(shown, f"the file cannot be read: {error.strerror}.") from error


def find_spec(name_or_file: str) -> SpecFile:
    """The spec that ``NAME|FILE`` on a command line means.

    Raises:
        NotFoundError: there is none; names the nearest.
        InvalidFileError: it is wrong.
    """
    if names_file(name_or_file):
        found = read_spec_or_lock(prefix_from(name_or_file), name_or_file)
        if isinstance(found, Lock):
            raise UsageError(f"{name_or_file} is a lock, no spec.", hint="Name the spec that it was made from.")
        return found
    path = resources.lockfiles_dir() / f"{name_or_file}.yaml"
    if name_or_file.endswith(".lock") or not path.is_file():
        from envkit.operations.spec_hints import hint_for  # noqa: PLC0415 - the tables, which take a while to be read

        names = shipped_names()
        hint = hint_for(name_or_file, names) or nearest(name_or_file, names, "spec")
        if os.path.lexists(name_or_file):
            hint = f"For the file of that name write {shlex.quote(f'./{name_or_file}')}."
        raise NotFoundError(f"There is no spec {name_or_file!r}.", hint=hint)
    return SpecFile(parse_spec(path.read_text(encoding="utf-8"), path.name), path, is_shipped=True)


def names_file(text: str) -> bool:
    """Whether ``NAME|FILE`` is a file: it holds a separator, or ends as such files do."""
    return is_path(text) or text.endswith(_FILE_ENDS)


def read_lock(path: Path, shown: str) -> Lock:
    """The lock in a file."""
    return parse_lock(read_given_file(path, shown), shown)


def read_spec_or_lock(path: Path, shown: str, progress: Progress | None = None) -> SpecFile | Lock:
    """The spec or the lock in a file of the user's own, which is read once; what stands in it tells which it is.

    Other tools' files are taken as well: docs/formats.md.

    Raises:
        NotFoundError: there is no such file.
        InvalidFileError: it is neither.
    """
    from envkit.operations.foreign import read_foreign, read_foreign_text  # noqa: PLC0415 - start-up, and they import this

    text, progress = read_given_file(path, shown), progress if progress is not None else Silent()
    found = read_foreign_text(text, shown, progress)
    if found is not None:
        return found
    document = parse_yaml(text, shown)
    if _is_lock(document.data):
        return lock_of(document)
    foreign = read_foreign(document, progress)
    if isinstance(foreign, Lock):
        return foreign
    if foreign is not None:
        return SpecFile(foreign, path, is_shipped=False, is_foreign=True)
    return SpecFile(spec_of(document), path, is_shipped=False)


def _is_lock(content: object) -> bool:
    if not isinstance(content, dict):
        return False
    return "spec" in content or "spec_sha256" in content or isinstance(content.get("platforms"), dict)


def shipped_names() -> list[str]:
    """The names of the specs that ship."""
    files = resources.lockfiles_dir().glob("*.yaml")
    return sorted(file.stem for file in files if not file.name.endswith(_LOCK_SUFFIX))


def list_specs(machine: Machine | None = None) -> tuple[SpecEntry, ...]:
    """The specs that ship: newest torch first, then newest CUDA, pip before conda.

    Args:
        machine: judged by it whether each fits; None: not judged.
    """
    found = sorted((find_spec(name) for name in shipped_names()), key=_order, reverse=True)
    return tuple(_entry(item, machine) for item in found)


def _order(found: SpecFile) -> tuple[tuple[int, ...], tuple[int, ...], bool]:
    """The release without its build label: PyPI's own build is written without one."""
    torch = (found.spec.torch_version or "").partition("+")[0]
    return version_key(torch), version_key(found.spec.cuda or ""), found.spec.installer == "pip"


def _entry(found: SpecFile, machine: Machine | None) -> SpecEntry:
    spec = found.spec
    locked: tuple[str, ...] = ()
    if found.lock_path.is_file():
        digest, platforms = outline(found.lock_path.read_text(encoding="utf-8"))
        locked = platforms if digest == spec.sha256 else ()
    entry = SpecEntry(
        spec.name, spec.environment_name, spec.summary, spec.installer, spec.cuda, spec.python, locked, fits=None
    )
    if machine is None:
        return entry
    from envkit.operations.spec_fit import fit_of_spec  # noqa: PLC0415 - the tables, which take a while to be read

    fit = fit_of_spec(spec, machine)
    wanted = {False: ("fail",), None: ("unknown", "warn"), True: ("warn",)}[fit.fits]
    telling = tuple(check for check in fit.checks if check.status in wanted)
    return replace(entry, fits=fit.fits, why=fit.reason, telling=telling)
