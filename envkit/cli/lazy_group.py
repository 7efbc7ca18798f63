"""Groups of commands whose modules are imported only when they are used."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Mapping


class LazyGroup(click.Group):
    """A click group that knows its commands by name and help line alone.

    Args:
        name: of the group; None: of the function.
        commands: each command and its help line.
        aliases: what people type instead of a command, for "did you mean".
        module: where a command lies, with its name for ``{}``; the module's ``command`` is it.
        **attrs: click's own.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        commands: Mapping[str, str] | None = None,
        aliases: Mapping[str, str] | None = None,
        module: str = "",
        **attrs: object,
    ) -> None:
        super().__init__(name, **attrs)  # type: ignore[arg-type]  # handed through as click gets them
        self.table = dict(commands or {})
        self._aliases = dict(aliases or {})
        self._module = module

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """All names, in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of that name, imported now; None where there is none."""
        if cmd_name not in self.table:
            return None
        command: click.Command = importlib.import_module(self._module.format(cmd_name)).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The table, without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.table.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, and a mistyped name is told the nearest one."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib  # noqa: PLC0415 - only for a mistyped command

            near = [self._aliases[args[0]]] if args[0] in self._aliases else []
            near = near or difflib.get_close_matches(args[0], self.table, n=1)
            if not near:
                raise
            message = f"{error.message.removesuffix('.')}. Did you mean {near[0]!r}?"
            raise click.UsageError(message, ctx=ctx) from error
