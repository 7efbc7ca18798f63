"""Recovery: what a change that was cut off has left, and putting it right."""

from __future__ import annotations

import contextlib
import errno
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from envkit import fs
from envkit.errors import ExistsError
from envkit.model.environment import RECORD
from envkit.operations import journal as journals
from envkit.operations.add_undo import has_plan, undo_add
from envkit.operations.conda_list import keep_conda_list
from envkit.operations.journal import MARKER, Journal
from envkit.operations.waiting import wait_for_the_end

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.progress import Progress

_OTHERS_S = 60.0
"""As long as another one is waited for that puts the same thing right."""
KEPT = "replaced-files"
"""Folder in an environment for the user's own files of the one that it has replaced (kept_files.py)."""
_OURS = {
    KEPT,
    "__clobbers__",
    *(".envkit", ".gitignore", ".lock", "CACHEDIR.TAG", "check_env.py", "pip.conf", "pip.ini", "pyvenv.cfg"),
    *("Include", "Lib", "Scripts", "bin", "etc", "include", "lib", "lib64", "man", "requirements-lock.txt", "share"),
    *("DLLs", "Library", "Tools", "bin64", "compiler_compat", "conda-meta", "doc", "docs", "fonts", "gcc", "lib32"),
    *("libexec", "libs", "mkspecs", "nvvm", "phrasebooks", "pkgs", "plugins", "python.app", "qml", "resources", "rsc"),
    *("sbin", "src", "ssl", "sysroot", "targets", "tcl", "tests", "translations", "var", "x86_64-conda-linux-gnu"),
    *("LICENSE_PYTHON.txt", "python.exe", "python.pdb", "pythonw.exe", "x86_64-conda_cos6-linux-gnu", "extras"),
}
"""What a creation puts into a prefix, as far as it can be told beforehand; wheels may bring other names, in theory.
Such files are kept then, as if they were the user's."""
_OF_RATTLER = re.compile(r"symtest_[0-9a-f-]{36}")
"""A link by which py-rattler tries whether links can be made."""
_DOING = {
    "create": "creation",
    "replace": "replacement",
    "remove": "removal",
    "add": "addition of packages",
    "damaged": "creation",
}


def has_begun(journal: Journal) -> bool:
    """Whether the prefix is not, or not yet again, what it was before, or not yet what it is to be.

    A journal is written first and removed last, so that it may be there while nothing is wrong with the environment.
    """
    if journal.operation == "replace":
        return journal.old.exists()
    if journal.operation == "remove":
        return journal.gone.exists() or journal.was_there
    if journal.operation in {"create", "damaged"}:
        return not has_record(journal.prefix) or has_plan(journal.prefix)
    return journal.operation == "add" and has_plan(journal.prefix)


def has_record(prefix: Path) -> bool:
    """Whether an environment stands at ``prefix``: the record is the last thing that is written into it."""
    return (prefix / RECORD).is_file()


def gives_back(journal: Journal) -> bool:
    """Whether undoing it brings a complete environment back, so that a command that wants to use it may do so."""
    return has_begun(journal) and (journal.operation in {"replace", "add"} or has_plan(journal.prefix))


def describe(journal: Journal) -> str:
    """What is going on, for `envkit list` and for errors."""
    doing, who = _DOING.get(journal.operation, "change"), f"{journal.owner}, since {journal.started_at}"
    liveness = journal.owner.liveness()
    if journal.operation == "damaged":
        return "A change of it was cut off, and the journal of that cannot be read."
    if liveness == "alive":
        return f"Its {doing} is under way ({who})."
    if liveness == "dead":
        back = " The old environment comes back with the next envkit command on it." if gives_back(journal) else ""
        return f"Its {doing} was cut off ({who}).{back}"
    return f"Its {doing} has not ended ({who}); whether that still runs cannot be told from here."


def recover(
    prefix: Path, progress: Progress, *, timeout_s: float = 0.0, break_lock: bool = False, is_going: bool = False
) -> Journal | None:
    """Undo a change of ``prefix`` that was cut off, or finish it; gives its journal, or None when there was none.

    The caller holds the prefix's lock.

    Args:
        prefix: the folder.
        progress: told what is waited for and what was done.
        timeout_s: how long a process that is still at it is waited for.
        break_lock: whether a change of another machine, of which cannot be told whether it still goes on, is taken for
            dead when it shows no sign of life.
        is_going: whether what is there is about to be removed or replaced, as for ``undo``.

    Raises:
        BusyError: the change still goes on, or cannot be told to have ended.
        ExistsError: what lies in the way is not envkit's.
    """
    journal = journals.read(prefix)
    if journal is None:
        for folder in _siblings(prefix, "gone"):  # of a removal that had no room for a journal
            keep_conda_list(prefix)
            fs.remove_tree(folder)
        return None
    if not journal.owner.is_this_process():
        journal = wait_for_the_end(journal, progress, timeout_s, break_lock=break_lock)
    if journal is None:
        return None
    begun, owner = has_begun(journal), journal.owner
    if not owner.is_this_process():
        claimed = journals.claim(journal)
        if claimed is None:  # another one puts it right
            timeout_s = max(timeout_s, _OTHERS_S)
            return recover(prefix, progress, timeout_s=timeout_s, break_lock=break_lock, is_going=is_going)
        journal = replace(claimed, operation=journal.operation)
    kept = undo(journal, is_going=is_going)
    if begun and not has_plan(prefix):
        progress.note(f"Put right what an interrupted envkit has left at {prefix} ({owner}).")
    if kept is not None:
        progress.note(f"Files that are not envkit's were in it; they lie in {kept} now.")
    return journal


def undo(journal: Journal, *, is_going: bool = False) -> Path | None:
    """Put things back as they were before a creation, a replacement or an addition, or finish a removal.

    Whatever moment this is itself killed at, it can be done again.

    Args:
        journal: of the change.
        is_going: whether what is there is about to be removed or replaced, so that an addition may stay half done.

    Returns:
        The folder with files that were found in a half made environment and are not envkit's; None without such.

    Raises:
        InvalidFileError: what an addition wrote down is damaged.
        ExistsError: a folder that is not envkit's is in the way.
        BusyError: another envkit has taken it over, by --break-lock.
        OSError: something could not be removed or renamed; the journal stays.
    """
    if journals.has_ended(journal):  # an interrupt came right then
        return None
    journals.check_ours(journal)
    prefix, operation, kept = journal.prefix, journal.operation, None
    if operation == "damaged":
        _settle_without_facts(journal, is_going=is_going)
    elif operation == "create" and not has_record(prefix):
        kept = _clear(journal)
    elif operation == "replace" and journal.old.exists():
        if not _is_ours(journal):
            raise ExistsError(
                f"{prefix} holds something that is not envkit's.",
                why=f"The environment that was there waits in {journal.old}.",
                hint=f"Move {prefix} away and run again; the environment is put back then.",
            )
        kept = _clear(journal)
        journal.old.rename(prefix)
    elif operation == "discard":
        fs.remove_tree(journal.old)
    elif operation == "add":
        undo_add(prefix, is_going=is_going)
    elif operation == "remove" and not journal.gone.exists() and journal.was_there:
        fs.empty_folder(prefix, first=".envkit")  # a mount point: the folder itself cannot go
    keep_conda_list(prefix)
    fs.remove_tree(journal.gone)
    journals.end(journal)
    for folder in () if has_record(prefix) else journal.made_folders:
        with contextlib.suppress(OSError):  # not ours alone any more
            folder.rmdir()
    return kept


def _clear(journal: Journal) -> Path | None:
    """Take away what a creation has made, unless somebody else has put his own folder there since.

    What somebody has put into it stays in a folder that was the user's before, and else goes to a folder beside it,
    which is given.
    """
    prefix, kept = journal.prefix, None
    if not prefix.exists() or not _is_ours(journal):
        return None
    fs.remove_tree(journal.gone)
    foreign = {path.name for path in prefix.iterdir() if not _OF_RATTLER.fullmatch(path.name)} - _OURS - _coming(prefix)
    if journal.was_there:
        fs.empty_folder(prefix, last=".envkit", but=foreign)
        return None
    if foreign:
        kept = prefix.with_name(f"{prefix.name}.kept-{journal.token}")
        kept.mkdir(exist_ok=True)
        for name in foreign:
            (prefix / name).rename(kept / name)
    try:
        prefix.rename(journal.gone)
    except OSError as error:
        if error.errno not in {errno.EBUSY, errno.EXDEV}:
            raise
        fs.remove_tree(prefix)
    return kept


def _coming(prefix: Path) -> set[str]:
    """The names that packages were about to bring into a half made prefix."""
    try:
        return set((prefix / journals.COMING).read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError):
        return set()


def _is_ours(journal: Journal) -> bool:
    """Whether what is at the prefix was made by this very change: it carries its token, or nothing is in it yet."""
    prefix, marker = journal.prefix, journal.prefix / MARKER
    if not prefix.exists() or journals.is_marked(journal):
        return True
    if marker.exists() or not prefix.is_dir():
        return False
    inside = [path for path in prefix.iterdir() if path != marker.parent]
    return not inside and all(path.name.startswith(fs.TEMPORARY) for path in marker.parent.glob("*"))


def _settle_without_facts(journal: Journal, *, is_going: bool) -> None:
    """A journal that cannot be read: an environment with a record stands, else what was set aside comes back.

    Never is a folder deleted that may be somebody's: without its token nothing tells that envkit has made it.
    """
    prefix = journal.prefix
    if has_plan(prefix):
        undo_add(prefix, is_going=is_going)
    olds = _siblings(prefix, "old")
    if not has_record(prefix) and len(olds) == 1 and has_record(olds[0]):
        if (prefix / MARKER).is_file():
            fs.remove_tree(prefix)
        if not prefix.exists():
            olds[0].rename(prefix)
    elif not has_record(prefix) and (prefix / MARKER).is_file():
        fs.remove_tree(prefix)
    for folder in (
        *_siblings(prefix, "gone"),
        *(_siblings(prefix, "old") if has_record(prefix) else ()),
    ):
        fs.remove_tree(folder)


def _siblings(prefix: Path, kind: Literal["old", "gone"]) -> list[Path]:
    if not prefix.parent.is_dir():
        return []
    start = journals.aside(prefix, kind).name
    return [path for path in prefix.parent.iterdir() if path.name.startswith(start) and path.is_dir()]
