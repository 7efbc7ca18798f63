"""The files that envkit keeps inside an environment, and the lock that goes with it."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from envkit import fs, resources
from envkit.activation import GUARD_NAME
from envkit.activation.cleanup_hooks import CLEANUP_NAME
from envkit.errors import UPDATE, InvalidFileError
from envkit.installers.conda_meta import record_paths
from envkit.installers.guard import PIP_SETTINGS, Guarded, install_guard, is_own_pip_settings
from envkit.installers.refusals import own_refusals
from envkit.model.lock import Drift, Lock, parse_lock
from envkit.model.lock_text import render_lock
from envkit.operations.drift import drift_of
from envkit.operations.environments import word_for
from envkit.operations.places import is_elsewhere

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.model.environment import Environment
    from envkit.model.progress import Progress

_TOLD = 5
_HOOKS = ("sh", "fish", "csh", "ps1", "bat")
OWN_FILES = {
    "pyvenv.cfg",
    "CACHEDIR.TAG",
    ".gitignore",
    ".lock",
    "lib64",
    "requirements-lock.txt",
    "check_env.py",
    "conda-meta/history",
    "conda-meta/created_at",
    ".envkit/",
    *(f"etc/conda/{direction}.d/envkit-cuda.{end}" for direction in ("activate", "deactivate") for end in _HOOKS),
    *(f"etc/conda/{direction}.d/{GUARD_NAME}.{end}" for direction in ("activate", "deactivate") for end in _HOOKS),
    *(f"etc/conda/activate.d/{CLEANUP_NAME}.{end}" for end in _HOOKS),
    *(f"bin/{name}" for name in ("python", "python3", "pydoc.bat", "deactivate.bat", "activate_this.py")),
    *(f"bin/python3.{minor}" for minor in range(6, 20)),
    *(f"bin/activate{suffix}" for suffix in ("", ".bat", ".csh", ".fish", ".nu", ".ps1", ".xsh")),
    *(f"bin/{name}" for name in ("Activate.ps1", "deactivate.csh", "deactivate.nu")),
    *(("Scripts/",) if os.name == "nt" else ()),
}
"""What the venv and envkit themselves put into a prefix, pip's settings aside; folders end with a slash."""


def own_files(prefix: Path) -> set[str]:
    """What in ``prefix`` is no file of the user's: paths relative to it, folders with a slash at the end."""
    found = OWN_FILES | ({PIP_SETTINGS} if is_own_pip_settings(prefix) else set())
    of_conda = [*own_refusals(prefix), *record_paths(prefix)]  # not its `state` and `pinned`: what a user has set
    return found | {path.relative_to(prefix).as_posix() for path in of_conda}


def guarded_by(prefix: Path, lock: Lock, platform: str) -> Guarded:
    """What the guard of the environment at ``prefix`` has to know."""
    word = shlex.quote(str(prefix) if is_elsewhere(prefix) else prefix.name)
    return Guarded(prefix, lock.installer, word, lock.platforms[platform].packages)


def write_own_files(prefix: Path, lock: Lock, platform: str, progress: Progress, *, guard: bool) -> None:
    """Write the environment's own lock and guard, and what people look for: requirements, a check that runs alone."""
    folder = prefix / ".envkit"
    folder.mkdir(parents=True, exist_ok=True)
    write_lists(prefix, lock, platform)
    fs.write_bytes(prefix / "check_env.py", resources.check_env_script().read_bytes(), mode=0o755)
    if guard:
        install_guard(guarded_by(prefix, lock, platform), progress)


def write_lists(prefix: Path, lock: Lock, platform: str) -> None:
    """Write the environment's own lock, and the same list for people and for its installer."""
    fs.write_text(prefix / ".envkit" / "lock.yaml", render_lock(lock))
    fs.write_text(prefix / "requirements-lock.txt", requirements_text(lock, platform))


def portable_lock(environment: Environment, lock: Lock, platform: str) -> Lock:
    """The environment's lock for a snapshot: with the drift, and without what is on this machine alone."""
    beside = tuple(Drift(item.name, None, item.version) for item in lock.additions.editables)
    drift = drift_of(environment.prefix, lock, platform) + beside
    return replace(lock, drift=drift, additions=replace(lock.additions, editables=()))


def requirements_text(lock: Lock, platform: str) -> str:
    """The lock as a list that its installer reads, and where each source's packages come from.

    For pip ``name==version``, for ``conda create --file`` ``name=version=build``.
    """
    packages = sorted(lock.platforms[platform].packages, key=lambda item: item.name)
    base = sorted(lock.platforms[platform].base, key=lambda item: item.name)
    of_conda = [f"{item.name}={item.version}={item.build}" for item in base]
    lines = [f"# Made from the lock of {lock.spec} by envkit. Python {lock.python}, {platform}."]
    if lock.installer == "conda":
        for channel in dict.fromkeys(item.channel for item in base):
            lines += [f"# from {channel}: {', '.join(item.name for item in base if item.channel == channel)}"]
        return "\n".join([*lines, *of_conda]) + "\n"
    if of_conda:
        lines.append(f"# from conda: {', '.join(of_conda)}")
    for source in dict.fromkeys(item.source for item in packages if item.source):
        names = ", ".join(item.name for item in packages if item.source == source)
        lines.append(f"# from {source}: {names}")
    lines += [f"{item.name}=={item.version}" for item in packages]
    return "\n".join(lines) + "\n"


def own_lock(environment: Environment) -> Lock:
    """The environment's own lock.

    Raises:
        InvalidFileError: it is missing or damaged.
    """
    path = environment.envkit_dir / "lock.yaml"
    again = f"`envkit restore {word_for(environment)} --replace` makes it again from its newest snapshot."
    try:
        if path.exists() and not path.is_file():
            raise IsADirectoryError(path)
        return parse_lock(path.read_text(encoding="utf-8"), str(path))
    except InvalidFileError as error:
        if error.hint != UPDATE:
            error.hint = again
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidFileError(str(path), "the environment's own lock cannot be read.", hint=again) from error


def lock_for(environment: Environment, platform: str) -> Lock:
    """The environment's own lock, which holds something for ``platform``.

    Raises:
        InvalidFileError: it is missing or damaged, or holds nothing for it.
    """
    lock = own_lock(environment)
    if platform in lock.platforms:
        return lock
    raise InvalidFileError(
        str(environment.envkit_dir / "lock.yaml"),
        f"the environment's own lock holds nothing for {platform}.",
        hint=f"`envkit restore {word_for(environment)} --replace` makes it again from its newest snapshot.",
    )


def drift_text(prefix: Path, lock: Lock, platform: str, *, with_added: bool) -> str | None:
    """The first packages that are not as locked, for an error; None when there are none.

    Args:
        prefix: the environment's folder.
        lock: its lock.
        platform: conda's name of this platform.
        with_added: whether those count that were installed beside the locked ones.
    """
    drift = [item for item in drift_of(prefix, lock, platform) if with_added or item.locked is not None]
    return ", ".join(map(str, drift[:_TOLD])) or None
