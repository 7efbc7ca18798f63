"""The checks, each in an environment of its own: ``nox``, or one of them: ``nox -s lint``."""

from __future__ import annotations

import nox

nox.options.sessions = ["lint", "types", "docs", "build", "tests"]
nox.options.error_on_external_run = True
nox.options.error_on_missing_interpreters = True


def _install(session: nox.Session, group: str) -> None:
    session.run("python", "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1")  # --group
    session.run("python", "-m", "pip", "install", "--quiet", "-e", ".", "--group", group)


@nox.session
def lint(session: nox.Session) -> None:
    _install(session, "lint")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session
def types(session: nox.Session) -> None:
    _install(session, "lint")
    session.run("mypy")


@nox.session
def docs(session: nox.Session) -> None:
    """What the documents say is true."""
    _install(session, "dev")
    session.run("pytest", "tests/docs", *session.posargs)


@nox.session
def build(session: nox.Session) -> None:
    """Build sdist and wheel, compare their content, use them elsewhere."""
    _install(session, "dev")
    session.run("pytest", "tests/packaging", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    _install(session, "dev")
    session.run("pytest", "-n", "2", "--dist", "loadgroup", "--cov", *session.posargs)
