"""envkit's plugin for conda: its hooks, by name (entry point group ``conda``).

conda imports this module on every command but ``shell.*``, so it holds markers only; the work lies in ``conda_work``
and loads when conda asks. Neither imports the rest of envkit, which need not be in conda's environment: the package
``conda-envkit`` brings these two alone (docs/conda.md). What fails in here counts as nothing: conda goes on without it.

Source of the hooks: https://docs.conda.io/projects/conda/en/stable/dev-guide/plugins/index.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conda.plugins import hookimpl

if TYPE_CHECKING:
    from collections.abc import Iterable


def _work(hook: str, *arguments: object) -> list[Any]:
    try:
        from envkit.plugins.conda_work import table

        return list(getattr(table, hook)(*arguments))
    except Exception:  # conda reads the answers of all plugins in one go: an error here would stop it
        import logging

        logging.getLogger(__name__).debug("the hook %s of envkit failed", hook, exc_info=True)
        return []


@hookimpl
def conda_settings() -> Iterable[Any]:
    """``plugins: envkit_command``."""
    return _work("settings")


@hookimpl
def conda_subcommands() -> Iterable[Any]:
    """``conda envkit ...``."""
    return _work("subcommands")


@hookimpl
def conda_health_checks() -> Iterable[Any]:
    """What ``conda doctor`` says of envkit's environments."""
    return _work("health_checks")


@hookimpl
def conda_environment_exporters() -> Iterable[Any]:
    """``conda export --format envkit-lock``."""
    return _work("exporters")


@hookimpl
def conda_environment_specifiers() -> Iterable[Any]:
    """``conda env create --file X.lock.yaml``."""
    return _work("specifiers")


@hookimpl
def conda_error_hints(error: Exception) -> Iterable[Any]:
    """What to do when conda refuses to change one of envkit's environments."""
    return _work("error_hints", error)


@hookimpl
def conda_post_solves() -> Iterable[Any]:
    """Keeps a second torch out of an environment that gets its packages by pip."""
    return _work("post_solves")


@hookimpl
def conda_pre_transaction_actions() -> Iterable[Any]:
    """The same where conda does not solve."""
    return _work("pre_transaction_actions")
