"""The hooks of prefixes that envkit did not make: put in, shown, and taken out without a trace."""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
from dataclasses import replace
from typing import TYPE_CHECKING

from envkit import fs
from envkit.activation import (
    attach_hooks,
    attachment_states,
    detach_hooks,
    hook_states,
    install_hooks,
    slot_of,
)
from envkit.activation.cleanup_hooks import CLEANUP_NAME, install_cleanup_hooks
from envkit.errors import UPDATE, InvalidFileError, NotFoundError, UsageError
from envkit.model.hooks_record import FOLDERS, HOOKS_RECORD, HooksRecord, parse_hooks_record
from envkit.model.texts import check_path
from envkit.operations.hooked_prefixes import forget_hooked, note_hooked
from envkit.operations.hooks_result import HooksResult
from envkit.operations.host_compiler import choose_host_compiler, host_compiler_for
from envkit.operations.locking import LOCK_TIMEOUT_S, prefix_lock
from envkit.operations.toolkit_versions import ways_to_get
from envkit.operations.toolkits import TOOLKIT_DIR, toolkit_for, toolkit_inside
from envkit.operations.torch_build import build_cudas
from envkit.operations.unmanaged import check_writable, is_conda_itself
from envkit.probes.toolkits import can_switch, find_toolkits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from envkit.model.progress import Progress
    from envkit.model.toolkit import Toolkit

_SCRIPTS = ("bin/*activate*", "Scripts/*activate*")
"""A virtual environment's own; conda's, which may be links to those of another prefix, stay as they are."""
_TOUCHED = (".envkit/*", "etc/conda/*activate.d/envkit-*")


def recorded_hooks(prefix: Path) -> HooksRecord | None:
    """The record of the hooks in a prefix that envkit did not make, or None where it has none.

    Raises:
        InvalidFileError: the record is damaged.
    """
    path = prefix / HOOKS_RECORD
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        hint = f"Move it away; `envkit hooks install {shlex.quote(str(prefix))}` writes a new one."
        raise InvalidFileError(str(path), f"the record cannot be read: {error.strerror}.", hint=hint) from error
    return parse_hooks_record(text, str(path))


def show_unmanaged(prefix: Path) -> HooksResult:
    """The hooks of a prefix that envkit did not make, as they are.

    Raises:
        InvalidFileError: their record is damaged.
    """
    record = recorded_hooks(prefix)
    return _result(prefix, None if record is None else record.toolkit)


def install_unmanaged(
    prefix: Path, asked: str | None, progress: Progress, *, lock_timeout_s: float = LOCK_TIMEOUT_S
) -> HooksResult:
    """Make the activation of a prefix that envkit did not make switch to a toolkit.

    Without ``asked`` that is the one it switched to before, its own (cuda-nvcc of a channel), or that of its torch's
    build CUDA.

    Raises:
        NotFoundError: there is no such toolkit on this machine.
        UsageError: nothing tells which toolkit is meant, or a name cannot be in PATH.
        EnvkitError: it must not be written to, as ``check_writable`` says; nothing was changed then.
    """
    if asked == "none":
        return remove_unmanaged(prefix, progress, lock_timeout_s=lock_timeout_s)
    if asked is not None:
        toolkit = toolkit_for(None, asked, folder=TOOLKIT_DIR)
    else:
        toolkit = _earlier(prefix, progress) or toolkit_inside(prefix) or _of_torch(prefix, progress)
    if toolkit is None:  # `toolkit_for` gives one for anything but "none"
        raise UsageError(f"--toolkit {asked} names no toolkit.")
    if is_conda_itself(prefix):
        progress.note(f"{prefix} is conda's own environment: where conda activates it, each new shell switches.")
    return put_hooks(prefix, toolkit, progress, lock_timeout_s=lock_timeout_s)


def put_hooks(
    prefix: Path, toolkit: Toolkit, progress: Progress, *, lock_timeout_s: float = LOCK_TIMEOUT_S
) -> HooksResult:
    """Write the hooks for ``toolkit`` into a prefix that envkit did not make; all of them, or nothing is changed.

    The record comes first, so that what a kill leaves can be taken out.

    Raises:
        EnvkitError: as ``install_unmanaged``.
    """
    check_path(str(prefix))
    with prefix_lock(prefix, "hooks", progress, timeout_s=lock_timeout_s):
        earlier = _record_or_nothing(prefix, progress)
        _check(prefix)
        made = () if earlier is None else earlier.folders
        made = tuple(name for name in FOLDERS if name in made or not os.path.lexists(prefix / name))
        cleanup = any((prefix / "etc/conda/activate.d").glob(f"{CLEANUP_NAME}.*"))
        record = HooksRecord(toolkit, made, cleanup or (earlier is not None and earlier.has_cleanup))
        with _all_or_nothing(prefix):
            _write(prefix, record)
            word = shlex.quote(str(prefix))
            host = host_compiler_for(prefix, toolkit, progress, wanted=True, word=word)
            install_hooks(prefix, slot=slot_of(prefix), toolkit=toolkit, host_compiler=host)
            if slot_of(prefix) == "VENV":
                attach_hooks(prefix)
        note_hooked(prefix, progress)
    return _result(prefix, toolkit)


def remove_unmanaged(prefix: Path, progress: Progress, *, lock_timeout_s: float = LOCK_TIMEOUT_S) -> HooksResult:
    """Take the hooks out of a prefix that envkit did not make: each file and folder is what it was before them.

    Without a record, or with a damaged one, empty folders may stay.

    Raises:
        EnvkitError: it must not be written to, as ``check_writable`` says.
    """
    with prefix_lock(prefix, "hooks", progress, timeout_s=lock_timeout_s):
        record = _record_or_nothing(prefix, progress)
        _check(prefix)
        had_hooks = record is not None or bool(_result(prefix, None).hooks)
        with _all_or_nothing(prefix):
            detach_hooks(prefix)
            for hook in hook_states(prefix, slot=slot_of(prefix), toolkit=None):
                hook.file.unlink()
            if record is not None and record.has_cleanup:
                install_cleanup_hooks(prefix)
            _remove_empty(prefix, () if record is None else record.folders)
            (prefix / HOOKS_RECORD).unlink(missing_ok=True)
        _remove_empty(prefix, (".envkit",))
        forget_hooked(prefix)
    return replace(_result(prefix, None), had_hooks=had_hooks)


def forget_cleanup(prefix: Path) -> bool:
    """Note that the hook of ``envkit hooks clean-all`` is not to come back after others; gives whether it was to."""
    with contextlib.suppress(InvalidFileError):
        record = recorded_hooks(prefix)
        if record is not None and record.has_cleanup:
            _write(prefix, replace(record, has_cleanup=False))
            return True
    return False


def _write(prefix: Path, record: HooksRecord) -> None:
    (prefix / HOOKS_RECORD).parent.mkdir(exist_ok=True)
    fs.write_json(prefix / HOOKS_RECORD, record.to_json())


def _record_or_nothing(prefix: Path, progress: Progress) -> HooksRecord | None:
    """The record; a damaged one is told, and counts as none. That of a newer envkit is an error."""
    try:
        return recorded_hooks(prefix)
    except InvalidFileError as error:
        if error.hint == UPDATE:
            raise
        progress.note(f"{error.message} Empty folders below {prefix / 'etc'} may stay when the hooks are removed.")
        return None


def _check(prefix: Path) -> None:
    """Whether all that is going to be written may be: no file has been touched yet."""
    scripts = [path for pattern in _written(prefix) for path in prefix.glob(pattern)]
    check_writable(prefix, (prefix / HOOKS_RECORD, *(prefix / name for name in FOLDERS), *scripts))


def _earlier(prefix: Path, progress: Progress) -> Toolkit | None:
    record = _record_or_nothing(prefix, progress)
    if record is None:
        return None
    toolkit = record.toolkit
    if not toolkit.path.is_dir():
        again = (
            "" if toolkit.release is None else f"`envkit cuda install {toolkit.release}` installs one without root. "
        )
        raise NotFoundError(
            f"CUDA {toolkit.version or '?'} in {toolkit.path}, which {prefix} switches to, is gone.",
            hint=f"{again}Or name one that is here: --toolkit V or --toolkit DIR.",
        )
    return toolkit


def _of_torch(prefix: Path, progress: Progress) -> Toolkit:
    """The toolkit of the CUDA that the torch in a prefix is built for."""
    builds, way = build_cudas(prefix), "Name one: --toolkit V or --toolkit DIR."
    if len(builds) != 1 or builds == ("cpu",):
        why = "It has no torch, and none of CUDA's libraries, that would tell."
        if builds:
            why = "Its torch is built without CUDA." if len(builds) == 1 else f"Its files say {' and '.join(builds)}."
        found = ", ".join(f"{item.version or '?'} in {item.path}" for item in find_toolkits() if can_switch(item))
        here = (
            f"Found: {found}." if found else "No toolkit was found; `envkit cuda install V` installs one without root."
        )
        raise UsageError(f"Which toolkit is {prefix} to switch to?", why=why, hint=f"{way} {here}")
    toolkit = toolkit_for(builds[0], None)
    if toolkit is None:
        raise NotFoundError(
            f"There is no CUDA toolkit {builds[0]} on this machine.",
            why=f"It is what {prefix} is built for.",
            hint=f"{ways_to_get(builds[0], TOOLKIT_DIR)} Or name another release: --toolkit V.",
        )
    progress.note(f"{prefix} is built for CUDA {builds[0]}: it switches to {toolkit.path}.")
    return toolkit


def _result(prefix: Path, toolkit: Toolkit | None) -> HooksResult:
    host = choose_host_compiler(prefix, toolkit, wanted=True).compiler
    states = hook_states(prefix, slot=slot_of(prefix), toolkit=toolkit, host_compiler=host)
    if slot_of(prefix) == "VENV":
        scripts = attachment_states(prefix)
        states += tuple(item for item in scripts if toolkit is not None or item.state != "missing")
    return HooksResult(prefix, None, toolkit, states)


@contextlib.contextmanager
def _all_or_nothing(prefix: Path) -> Iterator[None]:
    """Put back every file and folder that the block may touch when it fails."""
    folders = [prefix / name for name in (".envkit", *FOLDERS)]
    there = {folder for folder in folders if os.path.lexists(folder)}
    before = {path: (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) for path in _touched(prefix)}
    try:
        yield
    except BaseException:
        for path in _touched(prefix):
            if path not in before:  # first, so that a full disk has room for the rest
                path.unlink()
        for folder in folders:
            if folder in there and not os.path.lexists(folder):
                folder.mkdir()
        for path, (data, mode) in before.items():
            if not path.exists() or path.read_bytes() != data:
                fs.write_bytes(path, data, mode=mode)
        for folder in reversed(folders):
            if folder not in there and folder.is_dir():
                folder.rmdir()
        raise


def _written(prefix: Path) -> tuple[str, ...]:
    return (*_SCRIPTS, *_TOUCHED) if slot_of(prefix) == "VENV" else _TOUCHED


def _touched(prefix: Path) -> set[Path]:
    """The real files, behind links, that putting in and taking out may change."""
    found = (path.resolve() for pattern in _written(prefix) for path in prefix.glob(pattern))
    return {path for path in found if path.is_file()}


def _remove_empty(prefix: Path, folders: tuple[str, ...]) -> None:
    for name in sorted(folders, reverse=True):
        with contextlib.suppress(OSError):  # it holds what is not ours
            (prefix / name).rmdir()
