"""What an operation tells about its progress, and to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class Progress(Protocol):
    """Somebody who is told how far an operation is; never on stdout."""

    def step(self, text: str) -> None:
        """A step begins; the one before has ended."""

    def note(self, text: str) -> None:
        """Something the user should know: a choice that was made, a fact that was taken on trust."""

    def screen(self) -> Callable[[bytes], None] | None:
        """Where a program may draw its own progress bars, or None when there is no terminal."""

    def close(self) -> None:
        """The operation has ended, well or not."""


class Silent:
    """Tells nobody."""

    def step(self, text: str) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""

    def screen(self) -> None:
        """No terminal."""

    def close(self) -> None:
        """Nothing."""


class Noted(Silent):
    """Keeps the notes, to be told with the answer.

    Attributes:
        notes: in their order.
    """

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        """One more."""
        self.notes.append(text)
