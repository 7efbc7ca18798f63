"""For the worker: how far an installation is."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from envkit.installers.rattler.worker_net import Watch

_DRAWN_EVERY_S = 0.1
_MEGABYTE = 1_000_000


class IndexLine:
    """One line about the channels' indexes and the solve, where a terminal is."""

    def __init__(self, channels: Sequence[Mapping[str, Any]], *, draws: bool) -> None:
        self._names = ", ".join(str(channel["name"]) for channel in channels)
        self._draws = draws

    def draw(self, received: int) -> None:
        """So many bytes have come."""
        if self._draws:
            loaded = f", {received / 1e6:.0f} MB" if received >= _MEGABYTE else ""
            sys.stderr.write(f"\r\x1b[K  solving with {self._names}{loaded}")
            sys.stderr.flush()

    def end(self) -> None:
        """The line is done."""
        if self._draws:
            self._draws = False
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class Reporter:
    """Counts packages and bytes for the progress line, the watch, and the words about a failure."""

    def __init__(self, total: int, *, draws: bool) -> None:
        self.watch: Watch | None = None
        self.on_unpacked: Callable[[str], None] | None = None
        self._total, self._draws = total, draws
        self._names: dict[int, str] = {}
        self._flying: dict[int, int] = {}
        self._received: dict[str, int] = {}
        self._linked = 0
        self._drawn = 0.0

    def waiting(self) -> list[str]:
        """The packages that are being downloaded."""
        return [self._names.get(entry, "?") for entry in list(self._flying)]

    def received(self) -> dict[str, int]:
        """How many bytes came of each package, at the last try."""
        return self._received

    def end(self) -> None:
        """The line is done."""
        if self._draws:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def on_populate_cache_start(self, operation: int, package_name: str) -> int:
        """A package is looked for; its number is what the other calls name it by."""
        self._names[operation] = package_name
        return operation

    def on_populate_cache_complete(self, cache_entry: int) -> None:
        """It is in the cache."""
        self._flying.pop(cache_entry, None)
        if self.on_unpacked is not None:
            self.on_unpacked(self._names.get(cache_entry, "?"))

    def on_download_start(self, cache_entry: int) -> int:
        """It is asked for."""
        self._flying[cache_entry] = 0
        if self.watch is not None:
            self.watch.stir()  # maybe the next try, after a pause
        return cache_entry

    def on_download_progress(self, download_idx: int, progress: int, total: int | None) -> None:  # noqa: ARG002
        """So many bytes came."""
        if self.watch is not None:
            self.watch.bytes += max(0, progress - self._flying.get(download_idx, 0))
        self._flying[download_idx] = progress
        self._received[self._names.get(download_idx, "?")] = progress
        self._draw()

    def on_download_completed(self, download_idx: int) -> None:
        """All of it came."""
        self._flying.pop(download_idx, None)

    def on_link_complete(self, index: int) -> None:  # noqa: ARG002
        """It is in the prefix."""
        self._linked += 1
        self._draw()

    def _draw(self) -> None:
        if not self._draws or time.monotonic() - self._drawn < _DRAWN_EVERY_S:
            return
        self._drawn = time.monotonic()
        megabytes = sum(self._received.values()) / 1e6
        loaded = f", {megabytes:.0f} MB downloaded" if megabytes >= 1 else ""
        sys.stderr.write(f"\r\x1b[K  {self._linked}/{self._total} packages{loaded}")
        sys.stderr.flush()
