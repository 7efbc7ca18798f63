"""Journals: a file beside a prefix that says what is done to it, so that a killed change is recognised and undone.

A journal lies beside its prefix, ``.NAME.envkit-journal.json``, and is written before anything else is touched. Only
one can be there: where locks do not work, or two users have two lock folders, it is the journal that excludes the
second. While its writer lives, the file's modification time is renewed: the heartbeat that other machines can see.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from envkit import fs
from envkit.errors import BusyError, InvalidFileError, StorageError
from envkit.operations import clock, heartbeat
from envkit.owner import Owner

SCHEMA = 1
_CLAIM_S = 0.2
_ended: set[str] = set()
"""Tokens of journals that this process has ended: an interrupt in between makes it do so once more."""
_PREFIX, _SUFFIX = ".", ".envkit-journal.json"
MARKER = ".envkit/creating"
"""In a prefix that is being made: the token of the journal, so that nobody else's folder is taken for it."""
COMING = ".envkit/coming"
"""In such a prefix: names that packages bring into the prefix itself, a line each."""

Operation = Literal["create", "replace", "discard", "remove", "add", "damaged"]
"""``discard``: the new environment stands, only what it replaced is still to be deleted. ``damaged``: the journal
cannot be read."""


@dataclass(frozen=True, slots=True)
class Journal:
    """A change that is under way, or was cut off.

    Attributes:
        prefix: the folder that is changed.
        operation: what is done to it.
        owner: the process that does it.
        started_at: UTC.
        token: 8 hexadecimal digits, drawn for this change; in the names of what lies beside the prefix meanwhile.
        was_there: whether the prefix was an empty folder before, which has to stay.
        made_folders: parents of the prefix that were made for it, innermost first.
    """

    prefix: Path
    operation: Operation
    owner: Owner
    started_at: str
    token: str
    was_there: bool = False
    made_folders: tuple[Path, ...] = ()

    @property
    def path(self) -> Path:
        """The journal's own file."""
        return journal_path(self.prefix)

    @property
    def old(self) -> Path:
        """Where the environment that is replaced waits while the new one is made."""
        return aside(self.prefix, "old", self.token)

    @property
    def gone(self) -> Path:
        """Where the prefix is deleted, out of the way."""
        return aside(self.prefix, "gone", self.token)

    def last_sign_of_life(self) -> int | None:
        """When the writer last renewed the journal, in ns of its file system's clock; None when it is gone."""
        try:
            with self.path.open("rb") as file:  # opening makes a network file system ask its server
                return os.fstat(file.fileno()).st_mtime_ns
        except OSError:
            return None


def aside(prefix: Path, kind: Literal["old", "gone"], token: str = "") -> Path:
    """Where a prefix waits (``old``) or is deleted (``gone``); without a token how the names of such folders begin."""
    return prefix.with_name(f".{prefix.name}.envkit-{kind}-{token}")


def journal_path(prefix: Path) -> Path:
    """Where the journal of ``prefix`` lies."""
    return prefix.parent / f"{_PREFIX}{prefix.name}{_SUFFIX}"


def prefix_of(journal: str) -> str | None:
    """The name of the prefix that a file name is the journal of, or None."""
    if journal.startswith(_PREFIX) and journal.endswith(_SUFFIX):
        return journal[len(_PREFIX) : -len(_SUFFIX)]
    return None


def begin(prefix: Path, operation: Operation, *, made_folders: tuple[Path, ...] = ()) -> Journal:
    """Write the journal of a change that starts now.

    Raises:
        BusyError: there is a journal already: another change has begun.
    """
    was_there = operation == "create" and prefix.is_dir()
    journal = Journal(
        prefix,
        operation,
        Owner.here(),
        clock.now(),
        secrets.token_hex(4),
        was_there=was_there,
        made_folders=made_folders,
    )
    try:
        fs.write_new(journal.path, _text(journal).encode())
    except FileExistsError:
        other = read(prefix)
        if other == journal:  # a network file system whose answer was lost has made it, and says so the second time
            _start_heart(journal)
            return journal
        if other is None and journal.path.exists():
            raise StorageError.cannot_write(journal.path, why="Something that is no file is in the way.") from None
        raise BusyError(
            f"{prefix} is being changed{f' by {other.owner}' if other is not None else ''}.",
            hint="Wait until it is done, or stop it.",
        ) from None
    _start_heart(journal)
    return journal


def enter(journal: Journal, operation: Operation) -> Journal:
    """Write down that a change has come to another phase.

    Raises:
        BusyError: the journal is not ours any more.
    """
    check_ours(journal)
    changed = replace(journal, operation=operation)
    fs.write_text(journal.path, _text(changed))
    return changed


def end(journal: Journal) -> None:
    """The change is done, or undone.

    Raises:
        BusyError: the journal is not ours any more.
    """
    heartbeat.stop(journal.token)
    if not has_ended(journal):
        check_ours(journal)
        _ended.add(journal.token)
        journal.path.unlink(missing_ok=True)
    if is_marked(journal):
        with contextlib.suppress(OSError):
            (journal.prefix / MARKER).unlink()
    fs.sync_folder(journal.path.parent)


def read(prefix: Path) -> Journal | None:
    """The journal of ``prefix``, or None when nothing is under way.

    Raises:
        InvalidFileError: a newer envkit has written it.
        BusyError: it is there and cannot be read now, as happens on network file systems: it is no damaged one.
    """
    path = journal_path(prefix)
    if not os.path.isfile(path):  # noqa: PTH113 - false also for a name that no file system takes
        return None
    content: object = None
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:  # ended at this very moment
        return None
    except OSError as error:
        raise BusyError(
            f"{prefix} is being changed, or was when something was cut off; by whom cannot be read.",
            why=f"{error.strerror}: {path}",
            hint="Run again; if it stays so, have its permissions and the disk looked at.",
        ) from error
    except (ValueError, RecursionError):
        pass
    facts: dict[str, Any] = content if isinstance(content, dict) else {}
    schema, operation, token = facts.get("schema"), facts.get("operation"), facts.get("token")
    if type(schema) is int and schema > SCHEMA:
        raise InvalidFileError(
            str(path), f"the journal has schema {schema}, this envkit reads up to {SCHEMA}.", hint="Update envkit."
        )
    if operation not in get_args(Operation) or not isinstance(token, str) or not _is_token(token):
        operation, token = "damaged", ""
    folders = facts.get("made_folders")
    made = tuple(Path(item) for item in folders if isinstance(item, str)) if isinstance(folders, list) else ()
    return Journal(
        prefix,
        cast("Operation", operation),
        Owner.from_json(facts),
        str(facts.get("started_at") or "an unknown time"),
        token,
        was_there=facts.get("was_there") is True,
        made_folders=tuple(folder for folder in made if folder in prefix.parents),
    )


def is_marked(journal: Journal) -> bool:
    """Whether what is at the prefix carries the token of this very change."""
    try:
        return (journal.prefix / MARKER).read_text(encoding="ascii").strip() == journal.token
    except (OSError, ValueError):
        return False


def _is_token(text: str) -> bool:
    return len(text) == 8 and set(text) <= set("0123456789abcdef")  # noqa: PLR2004 - as many as are drawn


def _text(journal: Journal) -> str:
    content = {
        "schema": SCHEMA,
        "operation": journal.operation,
        **journal.owner.to_json(),
        "started_at": journal.started_at,
        "heartbeat_s": heartbeat.EVERY_S,
        "token": journal.token,
        "was_there": journal.was_there,
        "made_folders": [str(folder) for folder in journal.made_folders],
    }
    return json.dumps(content, indent=2, ensure_ascii=True) + "\n"


def claim(journal: Journal) -> Journal | None:
    """Take over the journal of a dead process, before it is undone; None when another one was quicker.

    Whoever wrote last has it; that is looked at again after a moment, so that two that claim at once do not both have
    it. Their locks may lie in two folders, or not work.
    """
    there = read(journal.prefix)
    if there != journal:
        return None
    ours = replace(journal, owner=Owner.here())
    if ours.operation == "damaged":
        ours = replace(ours, token=secrets.token_hex(4))
    try:
        fs.write_text(journal.path, _text(ours))
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            return journal  # what follows makes room
        raise
    _start_heart(ours)
    time.sleep(_CLAIM_S)
    if read(journal.prefix) == ours:
        return ours
    heartbeat.stop(ours.token)
    return None


def is_ours(journal: Journal) -> bool:
    """Whether the journal is still there as this process knows it, whatever its phase."""
    there = read(journal.prefix)
    return there is not None and (there.token, there.owner) == (journal.token, journal.owner)


def has_ended(journal: Journal) -> bool:
    """Whether this process has ended it already."""
    return journal.token in _ended


def check_ours(journal: Journal) -> None:
    """Make sure that nobody has taken the journal over.

    Raises:
        BusyError: somebody has.
    """
    if not is_ours(journal):
        raise BusyError(
            f"Another envkit has taken over {journal.prefix} meanwhile.",
            why="It was told to, by --break-lock, or this process was stopped for a long time.",
            hint=f"`envkit list` shows what is there now, `envkit verify {journal.prefix}` whether it works.",
        )


def _start_heart(journal: Journal) -> None:
    heartbeat.start(journal.token, journal.path, lambda: is_ours(journal))
