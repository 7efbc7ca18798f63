"""What ``envkit doctor`` tells of hooks: of environments, and of prefixes that envkit did not make."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from envkit.activation import hook_states, slot_of
from envkit.errors import EnvkitError
from envkit.model.finding import Finding
from envkit.operations.environments import word_for
from envkit.operations.hooks_unmanaged import show_unmanaged
from envkit.operations.host_compiler import choose_host_compiler
from envkit.operations.own_files import own_lock
from envkit.operations.toolkit_diagnosis import of_missing_toolkit

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from envkit.activation import HookState
    from envkit.model.environment import Environment
    from envkit.model.toolkit import Toolkit


def of_hooks(environment: Environment) -> list[Finding]:
    """Whether the hooks are those that this envkit would write."""
    try:
        lock, prefix, toolkit = own_lock(environment), environment.prefix, environment.toolkit
        host = choose_host_compiler(prefix, toolkit, wanted=lock.host_compiler).compiler
        states = hook_states(
            prefix, slot=slot_of(prefix), toolkit=toolkit, library_path=lock.library_path, host_compiler=host
        )
    except (EnvkitError, OSError):  # the lock is told elsewhere
        return []
    return _findings(states, toolkit, environment.name, word_for(environment))


def of_unmanaged_hooks(prefix: Path) -> list[Finding]:
    """The same of the hooks in a prefix that envkit did not make, and whether their toolkit is there."""
    try:
        shown = show_unmanaged(prefix)
    except EnvkitError as error:
        return [Finding("hooks-stale", "warning", error.message, why=error.why, fix=(error.hint or "",))]
    word = shlex.quote(str(prefix))
    gone = [] if shown.toolkit is None else of_missing_toolkit(shown.toolkit, str(prefix), word)
    return gone + _findings(shown.hooks, shown.toolkit, str(prefix), word)


def _findings(states: Iterable[HookState], toolkit: Toolkit | None, name: str, word: str) -> list[Finding]:
    found = []
    for state, why in (
        ("missing", "Activation does not switch the CUDA toolkit in these shells."),
        ("stale", "Another version of envkit wrote them, they were changed, or the gcc here is another now."),
    ):
        files = tuple(str(item.file) for item in states if item.state == state)
        if files:
            command = "install" if toolkit is not None else "remove"
            message = f"Hooks of {name} are {state}."
            fix = (f"`envkit hooks {command} {word}`",)
            found.append(Finding(f"hooks-{state}", "warning", message, why=why, fix=fix, evidence=files))
    return found
