"""What the commands about hooks answer."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from envkit.operations.environments import word_for

if TYPE_CHECKING:
    from pathlib import Path

    from envkit.activation import HookState
    from envkit.model.environment import Environment
    from envkit.model.toolkit import Toolkit


@dataclass(frozen=True, slots=True)
class HooksResult:
    """The hooks of a prefix, one entry per file.

    Attributes:
        prefix: the folder.
        environment: the environment with its toolkit as it is now; None for a prefix that envkit did not make.
        toolkit: what activation switches to, or None.
        hooks: activate.d first; of a virtual environment that envkit did not make its activation scripts too.
        had_hooks: whether there was something to take out; only ``hooks remove`` says so.
    """

    prefix: Path
    environment: Environment | None
    toolkit: Toolkit | None
    hooks: tuple[HookState, ...]
    had_hooks: bool = False

    @property
    def is_gone(self) -> bool:
        """Whether the folder of the toolkit is not there any more."""
        return self.toolkit is not None and not os.path.isdir(self.toolkit.path)  # noqa: PTH112 - no error in a closed folder

    @property
    def word(self) -> str:
        """What is typed to name it in a command."""
        return shlex.quote(str(self.prefix)) if self.environment is None else word_for(self.environment)

    @property
    def name(self) -> str:
        """How messages call it."""
        return str(self.prefix) if self.environment is None else self.environment.name

    def to_json(self) -> dict[str, Any]:
        """The fields of ``envkit hooks ... --json`` (docs/json.md)."""
        path = None if self.toolkit is None else str(self.toolkit.path)
        return {
            "environment": None if self.environment is None else self.environment.to_json(),
            "prefix": str(self.prefix),
            "hooks": [
                {"shell": item.shell, "file": str(item.file), "toolkit": path, "state": item.state}
                for item in self.hooks
            ],
        }
