"""Progress on stderr: on a terminal a bar of the steps and the installer's download bars; plain lines elsewhere."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING

import click

from envkit.cli.colours import paint

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from envkit.model.progress import Progress


def say(line: str) -> None:
    """A line on stderr; nobody may be reading there any more, and that is no reason to stop."""
    with contextlib.suppress(BrokenPipeError):
        click.echo(line, err=True)


class PlainProgress:
    """One line per step and note."""

    def step(self, text: str) -> None:
        """A line."""
        say(f"- {text}")

    def note(self, text: str) -> None:
        """A line."""
        say(f"  {text}")

    def screen(self) -> None:
        """No terminal, so no bars."""

    def close(self) -> None:
        """Nothing to end."""


class BarProgress:
    """A line per ended step with its time, and a bar for the one that runs; it makes room for programs that draw."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._bars: RichProgress | None = None
        self._task: TaskID | None = None
        self._since = time.monotonic()
        self._text = ""
        self._done = 0

    def step(self, text: str) -> None:
        """End the step before, begin this one."""
        self._end_step()
        self._text, self._since = text, time.monotonic()
        self._show()

    def note(self, text: str) -> None:
        """A line above the bar."""
        self._hide()
        say(f"  {text}")
        self._show()

    def screen(self) -> Callable[[bytes], None]:
        """The terminal itself, as long as the program runs; the bar is away then."""
        self._hide()
        say(f"  {self._text}")
        return self._draw

    def close(self) -> None:
        """End the last step."""
        self._end_step()
        self._hide()

    def _draw(self, data: bytes) -> None:
        sys.stderr.buffer.write(data)
        sys.stderr.flush()

    def _end_step(self) -> None:
        if self._text:
            self._hide()
            self._done += 1
            mark = paint("✓", "green")
            say(f"{mark} {self._text}  {time.monotonic() - self._since:.1f} s")
            self._text = ""

    def _show(self) -> None:
        if self._bars is None and self._text:
            from rich.console import Console  # noqa: PLC0415 - rich costs start-up time
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn  # noqa: PLC0415

            columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(24), MofNCompleteColumn())
            self._bars = Progress(*columns, console=Console(stderr=True), transient=True)
            total = max(self._steps, self._done + 1)
            self._task = self._bars.add_task(self._text, total=total, completed=self._done)
            self._bars.start()

    def _hide(self) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = None


def make_progress(steps: int) -> Progress:
    """Bars where stderr is a terminal that can draw, lines elsewhere."""
    can_draw = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return BarProgress(steps) if can_draw else PlainProgress()
