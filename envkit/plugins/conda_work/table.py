"""What envkit answers to each of conda's hooks; conda asks for most of them on every command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conda.plugins import types

from envkit.plugins.conda_work.specifier import LockSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from conda.models.environment import Environment
    from conda.models.records import PackageRecord

_LOCK = "envkit-lock"


def settings() -> Iterator[types.CondaSetting]:
    """Where the command is."""
    from conda.common.configuration import PrimitiveParameter

    yield types.CondaSetting(
        name="envkit_command",
        description="Path of the command envkit, where it is neither beside conda nor on PATH.",
        parameter=PrimitiveParameter("", element_type=str),
    )


def subcommands() -> Iterator[types.CondaSubcommand]:
    """``conda envkit``, which takes what the command takes."""
    yield types.CondaSubcommand(
        name="envkit", summary="Create, verify and restore CUDA + PyTorch environments.", action=_run_envkit
    )


def health_checks() -> Iterator[types.CondaHealthCheck]:
    """One check, for environments of envkit only."""
    yield types.CondaHealthCheck(
        name="envkit-environment",
        action=_check,
        fixer=_fix,
        summary="Compare an environment of envkit with its lock",
        fix="Write envkit's hooks and guard again",
    )


def exporters() -> Iterator[types.CondaEnvironmentExporter]:
    """Locks out of environments."""
    yield types.CondaEnvironmentExporter(
        name=_LOCK,
        aliases=(),
        default_filenames=("envkit.lock.yaml", "*.lock.yaml"),
        multiplatform_export=_export,
        description="envkit's lock: exact files with their hashes",
        environment_format=types.EnvironmentFormat.lockfile,
    )


def specifiers() -> Iterator[types.CondaEnvironmentSpecifier]:
    """Environments out of locks, known by their content: a pattern of names would claim other programs' files."""
    yield types.CondaEnvironmentSpecifier(
        name=_LOCK,
        environment_spec=LockSpec,
        description="envkit's lock: exact files with their hashes",
        environment_format=types.EnvironmentFormat.lockfile,
    )


def post_solves() -> Iterator[types.CondaPostSolve]:
    """The veto."""
    yield types.CondaPostSolve(name="envkit-one-torch", action=_veto)


def pre_transaction_actions() -> Iterator[types.CondaPreTransactionAction]:
    """The veto once more, for what conda installs without a solver."""
    from envkit.plugins.conda_work.actions import OneTorch

    yield types.CondaPreTransactionAction(name="envkit-one-torch", action=OneTorch)


def error_hints(error: Exception) -> Iterator[types.CondaErrorHint]:
    """For environments that are frozen because they are envkit's."""
    from envkit.plugins.conda_work.actions import hint_for

    text = hint_for(error)
    if text is not None:
        yield types.CondaErrorHint(text=text, hint_code="envkit_add")


def _run_envkit(arguments: tuple[str, ...]) -> int:
    from envkit.plugins.conda_work.actions import run_envkit

    return run_envkit(arguments)


def _check(prefix: str, verbose: bool) -> None:  # noqa: FBT001 - conda's signature
    from envkit.plugins.conda_work.actions import check

    check(prefix, verbose=verbose)


def _fix(prefix: str, _arguments: object, confirm: Callable[[str], None]) -> int:
    from envkit.plugins.conda_work.actions import fix

    return fix(prefix, confirm)


def _export(environments: Iterable[Environment]) -> str:
    from envkit.plugins.conda_work.actions import export

    return export(list(environments))


def _veto(_repodata: str, _unlink: tuple[PackageRecord, ...], link: tuple[PackageRecord, ...]) -> None:
    from envkit.plugins.conda_work.actions import veto

    veto(link)
