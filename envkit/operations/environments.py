"""Finding environments: those in envkit's own folder, and those made elsewhere with ``--prefix``."""

from __future__ import annotations

import difflib
import errno
import os
import shlex
import stat
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from envkit import fs, paths
from envkit.backends import conda
from envkit.errors import BusyError, EnvkitError, ExitCode, InvalidFileError, NotFoundError, UsageError
from envkit.model.environment import PYTHON, RECORD, Environment, parse_record, unreadable
from envkit.operations import journal
from envkit.operations.locking import prefix_lock
from envkit.operations.places import is_elsewhere, place_options
from envkit.operations.prefix_lists import PrefixList
from envkit.operations.recovery import describe, gives_back, has_begun, recover

if TYPE_CHECKING:
    from collections.abc import Iterable

    from envkit.model.progress import Progress


_PUT_BACK_LOCK_S = 2.0
_MARKS = (("conda-meta/history", "conda"), ("pyvenv.cfg", "virtual"))
_NAMED = 12  # that a hint lists
_ELSEWHERE = PrefixList("prefixes")


def all_environments() -> tuple[Environment, ...]:
    """Every environment that envkit knows of on this machine, by name; complete or not."""
    folder = paths.envs_dir()
    names: set[str] = set()
    pending: set[str] = set()
    links: list[Path] = []
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in entries:
            of_journal = journal.prefix_of(entry.name)
            if of_journal is not None:
                pending.add(of_journal)
            elif entry.is_symlink():
                links.append(Path(os.path.realpath(entry.path)))
            elif not entry.name.startswith("."):
                names.add(entry.name)
    found = [_recorded(folder / name) for name in names - pending]  # 500 of them are no rarity: no look for journals
    known = (
        *links,
        *registered_prefixes(),
        *conda.registered(),
    )  # what conda has renamed or copied is in its list alone
    elsewhere = [prefix for prefix in known if prefix.parent != folder]
    found += [read_environment(prefix) for prefix in (*(folder / name for name in pending), *_once(elsewhere))]
    return tuple(sorted((item for item in found if item is not None), key=lambda item: (item.name, str(item.prefix))))


def _once(prefixes: Iterable[Path]) -> list[Path]:
    """Each folder once, whatever links lead to it."""
    return list({os.path.realpath(prefix): prefix for prefix in prefixes}.values())


def read_environment(prefix: Path) -> Environment | None:
    """The environment at ``prefix`` with its state, or None where there is none."""
    try:
        pending = journal.read(prefix)
    except (InvalidFileError, BusyError) as error:
        return unreadable(prefix, "incomplete", f"{error.message} {error.hint or ''}".strip())
    if pending is None or not has_begun(pending):
        return _recorded(prefix)
    found = _recorded(prefix) if pending.operation in {"add", "damaged"} else None
    if found is not None:
        return replace(found, state="incomplete", problem=describe(pending))
    return unreadable(prefix, "incomplete", describe(pending))


def _recorded(prefix: Path) -> Environment | None:
    """The environment at ``prefix`` by its record alone."""
    path = os.path.join(prefix, RECORD)  # noqa: PTH118 - fast
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - a pipe would make `envkit list` wait for ever
            return unreadable(prefix, "broken", "Its record is no file.")
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - fast
            text = file.read()
    except OSError as error:
        if error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL, errno.ELOOP}:
            return None
        return unreadable(prefix, "broken", f"Its record cannot be read: {error.strerror}.")
    try:
        environment = parse_record(text, prefix)
    except InvalidFileError as error:
        return unreadable(prefix, "broken", f"{error.message} {error.hint or ''}".strip())
    problem = _problem_of(environment)
    # conda writes the new place into what it copies, envkit's record too, when it renames or clones; not the name
    is_elsewhere = environment.recorded_prefix != str(prefix)
    name = prefix.name if environment.backend == "conda" or (problem and is_elsewhere) else environment.name
    if problem is None:
        return environment if name == environment.name else replace(environment, name=name)
    return replace(environment, name=name, state="broken", problem=problem)


def _problem_of(environment: Environment) -> str | None:
    """Why a recorded environment cannot be used, as far as a few looks at its folder tell."""
    prefix, recorded = os.fspath(environment.prefix), environment.recorded_prefix
    if recorded != prefix and os.path.realpath(recorded) != os.path.realpath(prefix):
        return (
            f"It was made at {recorded} and has been moved or copied, and its programs hold that path. "
            "Move it back, or make it again here."
        )
    if not os.path.exists(os.path.join(prefix, PYTHON)):  # noqa: PTH110,PTH118 - fast
        return f"Its Python is gone: {PYTHON} is missing, or leads to an interpreter that has been removed."
    if not os.path.exists(os.path.join(prefix, ".envkit/lock.yaml")):  # noqa: PTH110,PTH118 - fast
        return "Its own lock is gone, so that what belongs into it is not known."
    if environment.backend == "conda" and not os.path.isfile(os.path.join(prefix, "conda-meta/history")):  # noqa: PTH113,PTH118 - fast
        return "conda takes it for no environment any more: conda-meta/history is gone."
    if os.path.lexists(os.path.join(prefix, ".envkit/add/plan.json")) and journal.read(environment.prefix) is None:  # noqa: PTH118 - fast
        return "An addition of packages to it was cut off, and cannot be undone."
    return None


def find_environment(env: str) -> Environment:
    """The environment that ``ENV`` on a command line means: a name, or a path when it holds a separator.

    Raises:
        NotFoundError: there is none; names the nearest.
    """
    if is_path(env):
        found = read_environment(prefix_at(env))
        if found is None:
            none = NotFoundError(f"There is no environment at {env}.", hint="`envkit list` shows all there are.")
            raise _not_ours([prefix_at(env)]) or none
        return found
    found = read_environment(prefix_at(str(paths.envs_dir() / env))) if env and not env.startswith(".") else None
    if found is not None:
        return found
    everything = all_environments()
    named = [item for item in everything if item.name == env]
    if len(named) > 1:
        places = ", ".join(str(item.prefix) for item in named)
        raise NotFoundError(f"{env} is the name of several environments: {places}.", hint="Give the path of one.")
    if named:
        return named[0]
    none = NotFoundError(f"There is no environment {env!r}.", hint=nearest(env, (item.name for item in everything)))
    named_so = [prefix for prefix in conda.registered() if prefix.name == env]
    with suppress(UsageError):  # the current folder has been removed
        named_so.append(prefix_from(env))
    raise _not_ours(named_so) or none


def _not_ours(prefixes: Iterable[Path]) -> NotFoundError | None:
    """What is to be said where one of the prefixes that a user may mean is an environment, but not one of envkit's."""
    for prefix in prefixes:
        kind = next((kind for mark, kind in _MARKS if os.path.isfile(os.path.join(prefix, mark))), None)  # noqa: PTH113,PTH118 - no errors
        if kind is not None:
            return NotFoundError(
                f"{prefix} is a {kind} environment that envkit did not make; this command is for envkit's own.",
                hint="`envkit hooks` lets its activation switch the CUDA toolkit. `envkit list` shows envkit's own.",
            )
    return None


def usable_environment(env: str, progress: Progress | None = None) -> Environment:
    """``find_environment``, but complete.

    Args:
        env: name or path.
        progress: told when an environment whose replacement was cut off is put back; None where that is not to be
            done, since the caller holds the prefix's lock.

    Raises:
        EnvkitError: its creation was cut off or is under way, or it is broken; says what to do.
    """
    environment = find_environment(env)
    if environment.state == "incomplete" and progress is not None:
        put_back(environment.prefix, progress)
        environment = find_environment(env)
    if environment.state == "complete":
        return environment
    raise EnvironmentStateError(
        f"{environment.name} is {environment.state}.",
        why=environment.problem,
        hint="Wait until that is done."
        if is_under_way(environment.prefix)
        else "Run the `envkit create` or `envkit restore` that was to make it again; "
        f"`envkit remove {word_for(environment)}` takes it away."
        if environment.state == "incomplete"
        else f"Make it again: `envkit restore {word_for(environment)} --replace`, or "
        f"`envkit create SPEC {place_options(environment.prefix)} --replace`.",
    )


def put_back(prefix: Path, progress: Progress, *, is_locked: bool = False) -> None:
    """Bring back an environment whose replacement was cut off, if nobody is at it.

    Args:
        prefix: the folder.
        progress: told about it.
        is_locked: whether the caller holds the prefix's lock.
    """
    pending = journal.read(prefix)
    if pending is None or not gives_back(pending) or pending.owner.liveness() in {"alive", "elsewhere"}:
        return
    lock = nullcontext() if is_locked else prefix_lock(prefix, "recover", progress, timeout_s=_PUT_BACK_LOCK_S)
    with suppress(BusyError), lock:  # somebody is at it after all
        recover(prefix, progress)


def is_under_way(prefix: Path) -> bool:
    """Whether a process of this machine is changing the environment at ``prefix`` right now."""
    pending = journal.read(prefix)
    return pending is not None and pending.owner.liveness() == "alive"


def word_for(environment: Environment) -> str:
    """What a user types for an environment: its name, or its path where that is not in envkit's own folder."""
    prefix = environment.prefix
    return shlex.quote(str(prefix) if is_elsewhere(prefix) else environment.name)


class EnvironmentStateError(EnvkitError):
    """An environment is incomplete or broken, so that it cannot be used."""

    exit_code = ExitCode.VERIFICATION_FAILED


def nearest(word: str, known: Iterable[str], what: str = "environment") -> str:
    """A hint with the name that was probably meant, or all there are."""
    names = list(dict.fromkeys(known))
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    if close:
        return f"Did you mean {close[0]}?"
    if not names:
        return f"There is no {what} yet."
    shown, others = ", ".join(names[:_NAMED]), len(names) - _NAMED
    return f"There are: {shown}{f' and {others} more' if others > 0 else ''}."


def is_path(env: str) -> bool:
    """Whether ``ENV`` is a path: it holds a separator."""
    return "/" in env or (os.name == "nt" and "\\" in env)


def prefix_from(text: str) -> Path:
    """The absolute path that a user means; symbolic links stay as they are.

    Raises:
        UsageError: it is empty, or relative to a current folder that has been removed.
    """
    if not text:
        raise UsageError("A path is empty.", hint="Is a variable in the command not set?")
    try:
        return Path(os.path.abspath(os.path.expanduser(text)))  # noqa: PTH100,PTH111 - resolve() would follow links
    except FileNotFoundError as error:
        raise UsageError("The current folder has been removed.", hint="Go to another folder with `cd`.") from error


def prefix_at(text: str) -> Path:
    """The prefix that a user means; where its last part is a symbolic link, the folder that this leads to.

    Raises:
        UsageError: as ``prefix_from``.
    """
    path = prefix_from(text)
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def write_record(environment: Environment) -> None:
    """Write the record of an environment into it."""
    environment.envkit_dir.mkdir(exist_ok=True)  # not its parents: an environment that was removed stays removed
    fs.write_json(environment.prefix / RECORD, environment.to_record())


def registered_prefixes() -> list[Path]:
    """Environments outside envkit's folder, whether or not they still exist; none where the list cannot be read."""
    try:
        return _ELSEWHERE.read()
    except OSError:
        return []


def register(prefix: Path) -> None:
    """Remember an environment outside envkit's folder."""
    if prefix.parent != paths.envs_dir():
        _ELSEWHERE.add(prefix)


def forget(prefix: Path) -> None:
    """Forget an environment outside envkit's folder."""
    if prefix.parent != paths.envs_dir():
        _ELSEWHERE.drop(prefix)
