"""Exported variables as code: of a shell, that it is told to evaluate, or as the lines of a ``.env`` file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from envkit.activation.quoting import quote_bat, quote_csh, quote_fish, quote_posix, quote_powershell
from envkit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_PLAIN = re.compile(r"[^\s#'\"`$\\][^\s'\"`$\\]*|")
_UNQUOTED = re.compile(r"[^\s#'\"](?:.*[^\s])?")
_COMMENT = re.compile(r"\s#")


@dataclass(frozen=True, slots=True)
class _Language:
    """A family of shells.

    Attributes:
        shells: their names.
        export: a statement that sets the variable of the first argument to the second.
        unset: one that unsets a variable.
        refused: characters that no value can have there.
    """

    shells: tuple[str, ...]
    export: Callable[[str, str], str]
    unset: Callable[[str], str]
    refused: str = ""


_LANGUAGES = (
    _Language(
        ("sh", "bash", "zsh", "dash", "ksh"),
        lambda name, value: f"export {name}={quote_posix(value)};",
        lambda name: f"unset -v {name};",
    ),
    _Language(
        ("fish",),
        lambda name, value: f"set -gx {name} {quote_fish(value)};",
        lambda name: f"set -e {name};",
    ),
    _Language(
        ("tcsh", "csh"),
        lambda name, value: f"setenv {name} {quote_csh(value)};",
        lambda name: f"unsetenv {name};",
        "\n",
    ),
    _Language(
        ("powershell", "pwsh"),
        lambda name, value: f"$env:{name} = {quote_powershell(value)}",
        lambda name: f"Remove-Item Env:{name} -ErrorAction SilentlyContinue",
    ),
    _Language(
        ("cmd",),
        lambda name, value: f'@set "{name}={quote_bat(value)[1:-1]}"',
        lambda name: f'@set "{name}="',
        '\n\r"',
    ),
)
SHELL_NAMES = tuple(shell for language in _LANGUAGES for shell in language.shells)
"""The shells that ``exports`` knows."""


def exports(shell: str, values: Mapping[str, str], unset: tuple[str, ...] = ()) -> str:
    """Code, a statement per line, that sets ``values`` and unsets ``unset`` in a shell of ``SHELL_NAMES``.

    What is no name of a variable to shells (bash exports its functions so) is left out.

    Raises:
        UsageError: a value has a character that the shell cannot be told.
    """
    language = next(language for language in _LANGUAGES if shell in language.shells)
    lines = [language.unset(name) for name in unset if _NAME.fullmatch(name)]
    for name, value in values.items():
        if any(character in value for character in language.refused):
            raise _cannot(name, f"{shell} cannot be told a value with a line break or, in cmd, a quote.")
        if _NAME.fullmatch(name):
            lines.append(language.export(name, value))
    return "".join(f"{line}\n" for line in lines)


def dotenv(values: Mapping[str, str]) -> str:
    """The lines of a ``.env`` file that python-dotenv, VS Code and docker read alike; nothing in them is expanded.

    A plain value stands without quotes, which docker would take for part of it. python-dotenv and VS Code differ in
    what a backslash and a quote mean in quotes, so that such values stand without them too, or cannot be written.
    Sources: python-dotenv 1.2, ``parser.py`` and ``variables.py``; microsoft/vscode-python,
    ``src/client/common/variables/environment.ts``.

    Raises:
        UsageError: a value has no form in which they all read the same.
    """
    return "".join(f"{name}={_dotenv_value(name, value)}\n" for name, value in values.items() if _NAME.fullmatch(name))


def _dotenv_value(name: str, value: str) -> str:
    if any(character in value for character in "\n\r"):
        raise _cannot(name, "It has a line break, which not all that read such files take.")
    if "${" in value or "\\$" in value:
        raise _cannot(name, "python-dotenv and VS Code would put another value in the place of `${...}`.")
    if _PLAIN.fullmatch(value):
        return value
    if "\\" not in value and '"' not in value:
        return f'"{value}"'
    if "\\" not in value and "'" not in value:
        return f"'{value}'"
    if _UNQUOTED.fullmatch(value) and not _COMMENT.search(value):
        return value
    raise _cannot(name, "What reads such files does not agree on quotes and backslashes in a value.")


def _cannot(name: str, why: str) -> UsageError:
    return UsageError(f"The value of {name} cannot be written in that form.", why=why)
