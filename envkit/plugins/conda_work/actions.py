"""What the hooks do, on conda's side: its settings, its errors, its records."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from conda import CondaError, __version__
from conda.base.constants import OK_MARK, X_MARK
from conda.base.context import context
from conda.core.path_actions import Action
from conda.exceptions import CondaValueError, EnvironmentIsFrozenError

from envkit.plugins.conda_work.command import NOT_FOUND, NoEnvkitError, become, find_envkit
from envkit.plugins.conda_work.record import read_managed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from conda.models.environment import Environment


def run_envkit(arguments: Sequence[str]) -> int:
    """``conda envkit ARGUMENTS``."""
    try:
        return become(_find(), arguments)
    except NoEnvkitError as error:
        failure = CondaError(str(error))
        failure.return_code = NOT_FOUND
        raise failure from error


def check(prefix: str, *, verbose: bool) -> None:
    """Print what envkit says of an environment of its own; of others nothing."""
    from envkit.plugins.conda_work.diagnosis import check_lines

    managed = read_managed(prefix)
    if managed is not None:
        _print(check_lines(managed, _find, (OK_MARK, X_MARK), verbose=verbose))


def fix(prefix: str, confirm: Callable[[str], None]) -> int:
    """Have envkit write its hooks and guard again, when it finds them damaged and the user agrees."""
    from envkit.plugins.conda_work.diagnosis import mend

    return 0 if read_managed(prefix) is None else mend(prefix, _find, confirm, _print)


def export(environments: Sequence[Environment]) -> str:
    """A lock of one environment for one or more platforms: its own, or one of conda's records."""
    from envkit.plugins.conda_work.lock_text import NotExportableError, conda_only, managed_lock, render_lock
    from envkit.plugins.conda_work.records import entries_of

    first = environments[0]
    try:
        managed = read_managed(first.prefix) if first.prefix else None
        if managed is not None:
            return managed_lock(managed, [environment.platform for environment in environments])
        conda_only([item for environment in environments for item in environment.external_packages.get("pip", ())])
        platforms = {environment.platform: entries_of(environment.explicit_packages) for environment in environments}
        return render_lock(first.name or "exported", f"conda {__version__}", platforms)
    except NotExportableError as error:
        raise CondaValueError(f"No lock of envkit for {first.prefix}: {error}") from error


def hint_for(error: Exception) -> str | None:
    """What to do instead, when conda refuses because an environment of envkit is frozen."""
    from envkit.plugins.conda_work.rules import frozen_hint

    if not isinstance(error, EnvironmentIsFrozenError):
        return None
    managed = read_managed(context.target_prefix)
    return None if managed is None else frozen_hint(managed, managed.word(context.envs_dirs))


def veto(link: Iterable[Any]) -> None:
    """Stop conda when it has solved for a second torch in an environment of envkit."""
    error = error_against(context.target_prefix, link)
    if error is not None:
        raise error


class OneTorch(Action):
    """The same veto, where conda does not solve: files and addresses of packages, explicit lists."""

    def verify(self) -> Exception | None:
        """The error that stops the transaction, before anything is written."""
        error = error_against(str(self.target_prefix), self.link_precs or ())
        self._verified = error is None
        return error

    def execute(self) -> None:
        """Nothing."""

    def reverse(self) -> None:
        """Nothing."""

    def cleanup(self) -> None:
        """Nothing."""


def error_against(prefix: str, link: Iterable[Any]) -> CondaError | None:
    """Why conda must not put these records into a prefix; None when it may, or when that cannot be told."""
    try:
        from envkit.plugins.conda_work.rules import torch_veto

        managed = read_managed(prefix)
        if managed is None:
            return None
        text = torch_veto(managed, managed.word(context.envs_dirs), [record.name for record in link])
    except Exception:  # envkit's own failure must not stop conda
        logging.getLogger(__name__).debug("envkit's veto failed", exc_info=True)
        return None
    return None if text is None else CondaError(text)


def _find() -> str:
    return find_envkit(context.plugins.envkit_command, context.envs_dirs)


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)  # noqa: T201 - conda's checks print
