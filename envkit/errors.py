"""Exit codes and the tree of errors that envkit raises for a user's situation.

Each error says what happened (its message), why, and what to do. Anything that is not an ``EnvkitError`` is a bug and
keeps its traceback.
"""

from __future__ import annotations

import errno
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_STORAGE_PROBLEMS = {
    errno.ENOSPC: "The disk is full.",
    errno.EDQUOT: "Your disk quota is used up.",
    errno.EROFS: "The file system is read-only.",
    errno.EACCES: "You have no permission for it.",
    errno.EPERM: "The operation is not permitted there.",
    errno.EBUSY: "It is in use, or a file system is mounted there.",
    errno.ENOTDIR: "A part of the path is a file, not a folder.",
    errno.EEXIST: "A file is in the way.",
    errno.EISDIR: "A folder is where a file should be.",
    errno.ENOTEMPTY: "A folder there is not empty.",
    errno.ENAMETOOLONG: "The path is too long for the file system.",
    errno.ELOOP: "Symbolic links in the path lead in a circle.",
    errno.EIO: "The disk reported an error.",
    errno.ESTALE: "The network file system lost the file.",
}
_OTHER_PLACE = "ENVKIT_HOME for all of envkit's files, or `--prefix DIR` of create and restore."
_NOT_ALLOWED = {errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE}


class ExitCode(IntEnum):
    """Exit codes of the ``envkit`` command: documented in docs/exit-codes.md, never renumbered."""

    OK = 0
    UNEXPECTED = 1
    USAGE = 2
    UNFIT_MACHINE = 3
    INVALID_FILE = 4
    EXTERNAL = 5
    VERIFICATION_FAILED = 6
    INSTALLER_RULE = 7
    BUSY = 8
    NOT_FOUND = 9
    NOT_VERIFIABLE = 10
    EXISTS = 11
    STORAGE = 12
    RUN_ENVKIT = 125
    RUN_NOT_EXECUTABLE = 126
    RUN_NOT_FOUND = 127
    INTERRUPTED = 130


class EnvkitError(Exception):
    """Something the user can understand and act on.

    Attributes:
        message: what happened.
        why: the reason, or None where the message says it.
        hint: what to do next, or None where nothing sensible can be advised.
    """

    exit_code = ExitCode.UNEXPECTED

    def __init__(self, message: str, *, why: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.why = why
        self.hint = hint

    @property
    def kind(self) -> str:
        """The name of the error for programs, the ``type`` of a JSON error: ``NotFound``, ``InvalidFile``, ..."""
        return type(self).__name__.removesuffix("Error") if type(self) is not EnvkitError else "Unexpected"


UPDATE = "Update envkit."
"""The hint for files that a newer envkit has written."""


class UsageError(EnvkitError):
    """The command was used wrongly: an option's value, a combination of options, a name that breaks the rules."""

    exit_code = ExitCode.USAGE


class UnfitMachineError(EnvkitError):
    """This machine does not fit: no such Python, no lock for this platform, driver or glibc too old."""

    exit_code = ExitCode.UNFIT_MACHINE


class InvalidFileError(EnvkitError):
    """A spec, lock, snapshot or other given file is invalid.

    Attributes:
        path: the file as the user named it.
        line: 1-based line of the first problem, or None.
    """

    exit_code = ExitCode.INVALID_FILE

    def __init__(
        self, path: str, problem: str, *, line: int | None = None, why: str | None = None, hint: str | None = None
    ) -> None:
        self.path = path
        self.line = line
        place = path if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {problem}", why=why, hint=hint)


class StaleLockError(EnvkitError):
    """A lock is older than its spec."""

    exit_code = ExitCode.INVALID_FILE


class DownloadError(EnvkitError):
    """A file could not be had from where it lies: out of reach, incomplete, or with other content."""

    exit_code = ExitCode.EXTERNAL


class UnsatisfiableError(EnvkitError):
    """No set of packages satisfies what a spec asks for.

    Attributes:
        reason: what the solver says, all of it; ``why`` has its first lines.
    """

    exit_code = ExitCode.INVALID_FILE

    def __init__(self, message: str, *, reason: str, why: str | None = None, hint: str | None = None) -> None:
        self.reason = reason
        super().__init__(message, why=why, hint=hint)


class ProgramError(EnvkitError):
    """An outside program failed, could not be started, or ran out of time.

    Attributes:
        argv: the command that was run.
        returncode: its exit status; None when it never ran or was stopped at its time limit.
        stdout, stderr: what it wrote.
    """

    exit_code = ExitCode.EXTERNAL

    def __init__(
        self,
        message: str,
        *,
        argv: tuple[str, ...],
        returncode: int | None,
        stdout: str = "",
        stderr: str = "",
        why: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.argv = argv
        self.returncode = returncode
        self.stdout = stdout
        self.stderr = stderr
        super().__init__(message, why=why, hint=hint)


class VerificationFailedError(EnvkitError):
    """An environment does not compute as it should."""

    exit_code = ExitCode.VERIFICATION_FAILED


class NotVerifiableError(EnvkitError):
    """An environment cannot be verified here: no GPU, or a hidden one."""

    exit_code = ExitCode.NOT_VERIFIABLE


class InstallerMixedError(EnvkitError):
    """The other installer was asked to put packages into an environment."""

    exit_code = ExitCode.INSTALLER_RULE

    def __init__(self, environment: str, recorded: str, asked: str, *, needed: str, hint: str) -> None:
        self.environment, self.recorded, self.asked = environment, recorded, asked
        super().__init__(
            f"Environment {environment} was built with {recorded}; refusing to use {asked} in it for {needed}.",
            why="Packages from two installers cannot be restored from one lockfile.",
            hint=hint,
        )


class InstallerRuleError(EnvkitError):
    """An environment holds packages that its installer did not put there."""

    exit_code = ExitCode.INSTALLER_RULE


class BusyError(EnvkitError):
    """Another envkit works on the same environment, or cannot be told to have died."""

    exit_code = ExitCode.BUSY


class NotFoundError(EnvkitError):
    """There is no such spec, environment, snapshot or toolkit."""

    exit_code = ExitCode.NOT_FOUND


class ExistsError(EnvkitError):
    """Something with other content is already at that place."""

    exit_code = ExitCode.EXISTS


class StorageError(EnvkitError):
    """The disk is full, read-only, or does not permit the change."""

    exit_code = ExitCode.STORAGE

    @classmethod
    def from_os_error(cls, error: OSError) -> StorageError | None:
        """The storage error that ``error`` means, or None when it means something else."""
        if error.errno is None or error.errno not in _STORAGE_PROBLEMS:
            return None
        path = error.filename if error.filename is not None else "a file"
        if error.errno == errno.ENAMETOOLONG:  # it may only have been looked at
            return cls(f"Cannot use {path!s}.", why=_STORAGE_PROBLEMS[error.errno], hint="Take a shorter path.")
        if error.errno in _NOT_ALLOWED:  # it may have been read
            return cls(
                f"Cannot use {path!s}.",
                why=_STORAGE_PROBLEMS[error.errno],
                hint=f"Look at its permissions (`ls -ld`), or choose another place: {_OTHER_PLACE}",
            )
        return cls.cannot_write(path, why=_STORAGE_PROBLEMS[error.errno])

    @classmethod
    def cannot_write(cls, path: str | bytes | int | Path, *, why: str) -> StorageError:
        """A storage error about ``path`` with the reason ``why``."""
        return cls(
            f"Cannot write {path!s}.",
            why=why,
            hint=f"Free space or choose another place: {_OTHER_PLACE}",
        )


class StoppedError(EnvkitError):
    """The user (Ctrl-C), or the system (SIGTERM), stopped envkit."""

    exit_code = ExitCode.INTERRUPTED
