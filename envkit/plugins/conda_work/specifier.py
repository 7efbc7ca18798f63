"""``conda env create --file X.lock.yaml``: a lock of envkit as one of conda's kinds of environment files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conda.plugins.types import EnvironmentSpecBase

if TYPE_CHECKING:
    from conda.models.environment import Environment

    from envkit.plugins.conda_work.lock_file import CondaLock


class LockSpec(EnvironmentSpecBase):
    """A lock; conda makes one of these for every environment file it is given, so it reads when it is asked."""

    def __init__(self, filename: str | None = None, **_: object) -> None:
        self.filename = filename
        self._lock: CondaLock | None = None

    def can_handle(self) -> bool:
        """Whether the file is a lock of envkit, by its content."""
        from envkit.plugins.conda_work.lock_file import LockProblemError, looks_like_lock

        if not looks_like_lock(self._text()):
            raise LockProblemError(f"{self.filename} is no lock of envkit.")
        return True

    @property
    def env(self) -> Environment:
        """The environment for the platform that conda works for."""
        from conda.base.context import context

        return self.env_for(context.subdir)

    @property
    def available_platforms(self) -> tuple[str, ...]:
        """The platforms that the lock holds."""
        return tuple(self._read().platforms)

    def env_for(self, platform: str) -> Environment:
        """The environment for one of them."""
        from conda.base.context import context
        from conda.exceptions import CondaValueError, DryRunExit
        from conda.models.environment import Environment

        from envkit.plugins.conda_work.lock_file import LockProblemError
        from envkit.plugins.conda_work.records import records_of

        try:
            records = records_of(self._read(), platform)
        except LockProblemError as error:
            raise CondaValueError(str(error)) from error
        if context.dry_run:
            raise DryRunExit  # as conda does for explicit lists: what installs them knows no dry run
        return Environment(platform=platform, explicit_packages=records)

    def _text(self) -> str:
        from conda.env.env import load_file

        text: str = load_file(self.filename)
        return text

    def _read(self) -> CondaLock:
        from conda.common.serialize import yaml
        from conda.exceptions import CondaValueError

        from envkit.plugins.conda_work.lock_file import LockProblemError, read_lock

        if self._lock is None:
            try:
                self._lock = read_lock(yaml.loads(self._text()), str(self.filename))
            except LockProblemError as error:
                raise CondaValueError(str(error)) from error
            except yaml.YAMLError as error:
                raise CondaValueError(f"{self.filename} is no YAML: {error}") from error
        return self._lock
